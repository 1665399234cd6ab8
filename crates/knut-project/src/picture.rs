//! A project as it is drawn.

use std::collections::{BTreeMap, BTreeSet};

use knut_model::{Identifier, NodeKind, Picture, PictureEdge, PictureNode, SourceLocation};

use crate::project::Project;
use crate::source_path::escaped;
use crate::sql::{Certainty, EdgeSource, SqlDefinitions, StatementIndex, words};

impl Project {
    /// The datasets of the project, the tables and files outside of it that they read, and who
    /// reads whom. Datasets are grouped by the file that defines them.
    pub fn picture(&self) -> Picture {
        let definitions = self.sql_definitions();
        let written = Written::of_project(self, &definitions);
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
            let mut node = PictureNode::new(name.clone(), NodeKind::Dataset(dataset.kind));
            node.group = Some(dataset.place.file.clone());
            node.schema = schema(&dataset.name);
            node.source_location =
                Some(SourceLocation { file: dataset.place.file.clone(), line: Some(dataset.place.place.line) });
            node.definition = Some(written.of(&definitions, index));
            picture.nodes.push(node);
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
                let mut node = PictureNode::new(from.clone(), NodeKind::External);
                if let EdgeSource::External { name, .. } = &edge.from {
                    node.schema = schema(name);
                }
                picture.nodes.push(node);
            }
            let flow = &definitions.flows[edge.flow];
            let to = flow.target_dataset.and_then(|index| names.get(&index).cloned());
            let to = to.unwrap_or_else(|| flow.target.to_string());
            if taken.insert(to.clone()) {
                let mut node = PictureNode::new(to.clone(), NodeKind::External);
                node.schema = schema(&flow.target);
                picture.nodes.push(node);
            }
            // Read twice, it counts as sure if one of the reads is.
            let inferred = edges.entry((from, to, edge.is_streaming)).or_insert(true);
            *inferred &= edge.certainty == Certainty::Inferred;
        }
        let edge = |((from, to, streaming), inferred)| PictureEdge { from, to, streaming, inferred, mark: None };
        picture.edges = edges.into_iter().map(edge).collect();
        picture
    }
}

/// The catalog and database in a name; `None` if it has neither.
fn schema(name: &Identifier) -> Option<String> {
    let (_, outer) = name.parts().split_last()?;
    Identifier::from_parts(outer).ok().map(|schema| schema.to_string())
}

/// How datasets are defined, as texts that are equal if only blanks, comments or places differ.
struct Written<'a> {
    project: &'a Project,
    /// The flows into each dataset, besides its own.
    flows: BTreeMap<usize, Vec<usize>>,
}

impl<'a> Written<'a> {
    fn of_project(project: &'a Project, definitions: &SqlDefinitions) -> Self {
        let mut flows: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
        for (index, flow) in definitions.flows.iter().enumerate() {
            if let Some(target) = flow.target_dataset {
                flows.entry(target).or_default().push(index);
            }
        }
        Self { project, flows }
    }

    fn of(&self, definitions: &SqlDefinitions, dataset: usize) -> String {
        let defined = &definitions.datasets[dataset];
        let mut text = match defined.statement {
            Some(at) => self.statement(definitions, at),
            None => self.source(defined.name.name()),
        };
        let flows = self.flows.get(&dataset).into_iter().flatten().map(|flow| &definitions.flows[*flow]);
        // Files and statements in another order define the same.
        let mut of_flows: Vec<String> = flows
            .map(|flow| {
                let own = defined.statement == Some(flow.statement);
                let statement = if own { String::new() } else { self.statement(definitions, flow.statement) };
                format!("\n{statement} {:?}", flow.sql_conf)
            })
            .collect();
        of_flows.sort();
        text.extend(of_flows);
        text
    }

    fn statement(&self, definitions: &SqlDefinitions, at: StatementIndex) -> String {
        let range = definitions.files[at.file].statements[at.statement].range.clone();
        self.project.sql_files.get(at.file).map(|file| words(&file.text, range)).unwrap_or_default()
    }

    /// A source without the project's own folder, which may lie elsewhere.
    fn source(&self, name: &str) -> String {
        let source = self.project.sources.iter().find(|source| source.name.name() == name);
        let text = source.map(|source| format!("{:?}", source.read)).unwrap_or_default();
        let root = self.project.root.to_string_lossy();
        text.replace(&format!("{:?}", escaped(&root)).trim_matches('"').to_owned(), "").replace(&*root, "")
    }
}

#[cfg(test)]
#[path = "picture_tests.rs"]
mod tests;
