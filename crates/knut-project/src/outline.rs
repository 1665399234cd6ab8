//! What of a project decides what a run does.

use knut_model::{Outline, OutlineDataset, OutlineFlow, is_resettable};

use crate::project::Project;
use crate::sql::{EdgeSource, SqlContent, SqlDefinitions};

impl Project {
    /// The project's outline, for a [`RunPlan`](knut_model::RunPlan). It is incomplete if a
    /// statement could not be read.
    pub fn outline(&self) -> Outline {
        let definitions = self.sql_definitions();
        let mut reads: Vec<Vec<usize>> = vec![Vec::new(); definitions.flows.len()];
        for edge in &definitions.edges {
            if let EdgeSource::Dataset(dataset) = edge.from {
                reads[edge.flow].push(dataset);
            }
        }
        let datasets = definitions.datasets.iter().map(|dataset| OutlineDataset {
            name: dataset.name.clone(),
            kind: dataset.kind,
            is_resettable: dataset.statement.is_none_or(|at| may_reset(&definitions, at)),
        });
        let flows = definitions.flows.iter().zip(reads).map(|(flow, reads)| OutlineFlow {
            name: flow.name.clone(),
            target: flow.target_dataset,
            reads,
        });
        Outline {
            default_catalog: self.spec.catalog.clone(),
            default_database: self.spec.database.clone(),
            datasets: datasets.collect(),
            flows: flows.collect(),
            is_complete: definitions.is_complete(),
        }
    }
}

fn may_reset(definitions: &SqlDefinitions, at: crate::StatementIndex) -> bool {
    match &definitions.files[at.file].statements[at.statement].content {
        SqlContent::Dataset(dataset) => is_resettable(&dataset.properties),
        _ => true,
    }
}
