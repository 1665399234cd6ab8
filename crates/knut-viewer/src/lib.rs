//! What a viewer of a pipeline run shows, as a pure function of the updates it was given.
//!
//! [`ViewerState::apply`] folds one [`ViewerUpdate`] after the other; it does no I/O, reads no
//! clock and never panics, whatever the server sent and in whatever order. Every view (plain log,
//! JSON lines, terminal, page) is a function of the state.
//!
//! ```
//! use std::time::SystemTime;
//! use knut_viewer::{FlowStatus, PipelineEvent, UpdateKind, ViewerState, ViewerUpdate};
//!
//! let mut state = ViewerState::default();
//! let event = PipelineEvent { at: None, message: "Flow spark_catalog.default.orders is RUNNING.".to_owned() };
//! state.apply(ViewerUpdate { seq: 1, received: SystemTime::UNIX_EPOCH, kind: UpdateKind::Event(event) });
//! assert_eq!(state.flows()[0].status(), FlowStatus::Running);
//! ```

mod diagnostic;
mod event_text;
mod flow;
pub mod layout;
mod stage;
mod state;
mod svg;
mod update;
mod visible;

pub use diagnostic::Diagnostic;
pub use event_text::{EventText, FailureReason, FlowEvent};
pub use flow::{FlowFailure, FlowState, FlowStatus};
pub use stage::StageState;
pub use state::{FlowChange, FlowId, RunPhase, ViewerState};
pub use svg::svg;
pub use update::{
    ConnectionChange, DatasetNode, Evidence, ExecutionProgress, FlowNode, GraphDefined, PipelineEvent, RunEnd,
    RunOutcome, RunStarted, StageProgress, UpdateKind, ViewerUpdate,
};
pub use visible::{is_hidden, visible};
