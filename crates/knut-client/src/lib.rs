//! A client for Spark Declarative Pipelines over Spark Connect.
//!
//! Every operation is one command in a plan on the server-streaming `ExecutePlan` call: no JDBC, no
//! REST. [`PipelinesClient::define_graph`] registers a graph, [`PipelinesClient::run_updates`] runs
//! it and gives the stream of updates that a [`knut_viewer::ViewerState`] folds in.
//!
//! ```no_run
//! use futures::StreamExt;
//! use knut_client::{PipelinesClient, RunOptions};
//! use knut_model::{DataflowGraph, Dataset};
//! use knut_viewer::ViewerState;
//!
//! # async fn run() -> Result<(), Box<dyn std::error::Error>> {
//! let graph = DataflowGraph::builder()
//!     .dataset(Dataset::materialized_view("ten").query("SELECT id FROM range(10)"))
//!     .build()?;
//! let client = PipelinesClient::connect("sc://localhost:15002").await?;
//! let defined = client.define_graph(&graph).await?;
//! let mut updates = client.run_updates(defined, &RunOptions::new("file:///tmp/storage"));
//! let mut state = ViewerState::default();
//! while let Some(update) = updates.next().await {
//!     state.apply(update);
//! }
//! println!("{:?}", state.outcome());
//! # Ok(())
//! # }
//! ```
//!
//! Wire types stop inside this crate; its interface takes and gives model and viewer types.

#[cfg(feature = "arrow")]
mod arrow_batches;
mod calls;
mod capabilities;
mod client;
mod define;
mod detached;
mod endpoint;
mod error;
mod execution;
mod from_proto;
mod handle;
mod operation;
#[cfg(feature = "arrow")]
mod query;
#[cfg(test)]
mod recorded_runs;
mod release;
mod response_stream;
mod retry;
mod run;
mod session;
mod status;
mod to_proto;

pub use client::PipelinesClient;
pub use define::{DataflowGraphId, DefinedDataset, DefinedFlow, DefinedGraph};
pub use endpoint::{DEFAULT_PORT, Endpoint, Secret};
pub use error::{Error, ErrorKind, ServerError};
pub use handle::{RunHandle, RunMode};
pub use operation::{OperationId, OperationState};
#[cfg(feature = "arrow")]
pub use query::{QueryRows, QueryStream, QueryUpdate};
pub use retry::RetryPolicy;
pub use run::{RunOptions, UpdateStream};
/// The crates of the types that rows come in, in the versions that this crate uses.
#[cfg(feature = "arrow")]
pub use {arrow_array, arrow_schema};
