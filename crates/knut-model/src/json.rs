//! Graphs as JSON, or as any other format that `serde` has: a form to keep, send and read again.
//!
//! [`DataflowGraph`] and its parts implement serde's traits with the feature `serde`. The form is
//! written down in the types of this module and not in those of the model, so that a change of the
//! model does not change it. The page `docs/graph-json.md` of the repository describes it.
//!
//! Reading a graph checks it as [`GraphBuilder::build`](crate::GraphBuilder::build) does, and tells
//! every problem. Who wants the problems as values reads a [`GraphDocument`] first.
//!
//! ```
//! use knut_model::DataflowGraph;
//! use knut_model::json::GraphDocument;
//!
//! let text = r#"{
//!   "format": 1,
//!   "datasets": [{ "kind": "materialized_view", "name": "totals" }],
//!   "flows": [{ "name": "totals", "target": "totals", "query": { "kind": "sql", "sql": "SELECT 1" } }]
//! }"#;
//! let graph: DataflowGraph = serde_json::from_str(text)?;
//! assert_eq!(graph.flows().len(), 1);
//!
//! let document: GraphDocument = serde_json::from_str(r#"{ "format": 1 }"#)?;
//! assert_eq!(document.graph().unwrap_err().problems().len(), 1);
//! # Ok::<(), serde_json::Error>(())
//! ```

mod document;
mod parts;
mod unique_map;

pub use document::{FORMAT, GraphDocument};

#[cfg(doc)]
use crate::DataflowGraph;

#[cfg(test)]
mod tests;
