//! The graph of a Spark Declarative Pipeline as plain values: datasets, flows and what they read.
//!
//! Depend on this crate alone to author graphs: it has no gRPC, no async runtime and does no I/O.
//! `knut-client` registers a [`DataflowGraph`] on a Spark Connect server and runs it.
//!
//! ```
//! use knut_model::{DataflowGraph, Dataset, Flow, SourceRead};
//!
//! let graph = DataflowGraph::builder()
//!     .dataset(
//!         Dataset::temporary_view("raw_orders")
//!             .query(SourceRead::csv(["file:///data/orders"]).schema("id INT, amount DECIMAL(10,2)").streaming()),
//!     )
//!     .dataset(Dataset::streaming_table("orders").query("SELECT * FROM STREAM raw_orders"))
//!     .dataset(Dataset::materialized_view("totals").query("SELECT sum(amount) AS total FROM orders"))
//!     .flow(Flow::builder("corrections", "orders", "SELECT * FROM STREAM raw_corrections"))
//!     .build()?;
//! assert_eq!(graph.flows().len(), 4);
//! # Ok::<(), knut_model::GraphProblems>(())
//! ```

mod auto_cdc;
mod builder;
mod dataset;
mod flow;
mod graph;
mod identifier;
#[cfg(feature = "serde")]
pub mod json;
mod location;
mod picture;
mod run_plan;
mod selection;
mod topology;
mod validate;

pub use auto_cdc::{AutoCdc, AutoCdcProblem, CdcColumns, ScdType};
pub use builder::{DatasetBuilder, FlowBuilder, GraphBuilder};
pub use dataset::{Dataset, DatasetKind, SinkDetails, TableDetails};
pub use flow::{Flow, Query, SourceRead};
pub use graph::{DataflowGraph, SqlFile};
pub use identifier::{Identifier, IdentifierError, IdentifierKey, ResolvedIdentifier};
pub use location::SourceLocation;
pub use picture::{
    Change, FlowRead, Grouping, Mark, NodeKind, Picture, PictureDiff, PictureEdge, PictureNode, TooLarge,
};
pub use run_plan::{
    LeftOutReason, Outline, OutlineDataset, OutlineFlow, PlannedAction, PlannedDataset, PlannedFlow, RunPlan,
    SelectionProblem, is_resettable,
};
pub use selection::RefreshSelection;
pub use topology::{Cycle, CyclePath, NodeId, Topology};
pub use validate::{GraphProblem, GraphProblems};
