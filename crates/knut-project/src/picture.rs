//! A project as it is drawn.

use std::collections::{BTreeMap, BTreeSet};

use knut_model::{NodeKind, Picture, PictureEdge, PictureNode, SourceLocation};

use crate::project::Project;
use crate::sql::{Certainty, EdgeSource};

impl Project {
    /// The datasets of the project, the tables and files outside of it that they read, and who
    /// reads whom. Datasets are grouped by the file that defines them.
    pub fn picture(&self) -> Picture {
        let definitions = self.sql_definitions();
        let mut picture = Picture::default();
        // A view and a table may have one name; a picture's nodes may not.
        let mut names: BTreeMap<usize, String> = BTreeMap::new();
        let mut taken: BTreeSet<String> = BTreeSet::new();
        for (index, dataset) in definitions.datasets.iter().enumerate() {
            let mut name = dataset.name.to_string();
            if !taken.insert(name.clone()) {
                name = format!("{name} ({} {}:{})", dataset.kind, dataset.place.file, dataset.place.place.line);
                taken.insert(name.clone());
            }
            picture.nodes.push(PictureNode {
                name: name.clone(),
                kind: NodeKind::Dataset(dataset.kind),
                group: Some(dataset.place.file.clone()),
                source_location: Some(SourceLocation {
                    file: dataset.place.file.clone(),
                    line: Some(dataset.place.place.line),
                }),
            });
            names.insert(index, name);
        }
        let mut edges: BTreeMap<(String, String, bool), bool> = BTreeMap::new();
        for edge in &definitions.edges {
            let from = match &edge.from {
                EdgeSource::Dataset(index) => names.get(index).cloned().unwrap_or_default(),
                EdgeSource::External { name, .. } => name.to_string(),
                EdgeSource::Files { format, path } => format!("{format}.`{path}`"),
            };
            if taken.insert(from.clone()) {
                let kind = NodeKind::External;
                picture.nodes.push(PictureNode { name: from.clone(), kind, group: None, source_location: None });
            }
            let flow = &definitions.flows[edge.flow];
            let to = flow.target_dataset.and_then(|index| names.get(&index).cloned());
            let to = to.unwrap_or_else(|| flow.target.to_string());
            if taken.insert(to.clone()) {
                let kind = NodeKind::External;
                picture.nodes.push(PictureNode { name: to.clone(), kind, group: None, source_location: None });
            }
            // Read twice, it counts as sure if one of the reads is.
            let inferred = edges.entry((from, to, edge.is_streaming)).or_insert(true);
            *inferred &= edge.certainty == Certainty::Inferred;
        }
        let edge = |((from, to, streaming), inferred)| PictureEdge { from, to, streaming, inferred };
        picture.edges = edges.into_iter().map(edge).collect();
        picture
    }
}
