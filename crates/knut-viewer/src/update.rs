//! The updates that a viewer folds in, in the order one run produces them:
//! `GraphDefined? RunStarted (Event | Progress | Connection)* Ended`.

use std::time::{Duration, SystemTime};

use knut_model::DatasetKind;

use crate::Diagnostic;

/// One thing a viewer folds in.
#[derive(Clone, Debug, PartialEq)]
pub struct ViewerUpdate {
    /// The update's place in its run, counted from 1 without gaps.
    pub seq: u64,
    /// When the client received it, by the client's clock.
    pub received: SystemTime,
    /// What happened.
    pub kind: UpdateKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub enum UpdateKind {
    /// The client registered a graph.
    GraphDefined(GraphDefined),
    /// The client asked the server to run it.
    RunStarted(RunStarted),
    /// The server sent a pipeline event.
    Event(PipelineEvent),
    /// The server sent the progress of the run's Spark stages.
    Progress(ExecutionProgress),
    /// The connection to the server changed.
    Connection(ConnectionChange),
    /// The run is over, or nothing more can be learnt of it. Nothing follows.
    Ended(RunEnd),
}

/// The datasets and flows that the client knows; SQL files may have defined more.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GraphDefined {
    /// The datasets.
    pub datasets: Vec<DatasetNode>,
    /// The flows.
    pub flows: Vec<FlowNode>,
}

/// A dataset as the server named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DatasetNode {
    /// Its name as events spell names: parts joined by dots, unquoted.
    pub name: String,
    /// Its kind.
    pub kind: DatasetKind,
}

/// A flow as the server named it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowNode {
    /// Its name as events spell it.
    pub name: String,
    /// The name of the dataset it writes into.
    pub target: String,
}

/// What was asked of the server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct RunStarted {
    /// The server as `host:port`; never with credentials.
    pub server: String,
    /// The server's Spark version, such as `4.3.0`; `None` when it was not asked.
    pub spark_version: Option<String>,
    /// The Spark Connect operation that runs it.
    pub operation_id: String,
    /// Whether the graph is only checked, so that no flow runs.
    pub dry_run: bool,
}

/// An event exactly as the server sent it: the protocol has a time and a text, nothing else.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PipelineEvent {
    /// When it happened, by the server's clock; `None` when the server sent no valid time.
    pub at: Option<SystemTime>,
    /// Its text.
    pub message: String,
}

/// The Spark stages of a run so far, without names and without the flows they belong to.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ExecutionProgress {
    /// Every stage the server knows of; cumulative over the run.
    pub stages: Vec<StageProgress>,
    /// Tasks running now, over all stages.
    pub n_inflight_tasks: u64,
}

/// One Spark stage as the server reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageProgress {
    /// The stage's number on the server.
    pub stage_id: i64,
    /// How many tasks it has.
    pub n_tasks: u64,
    /// How many of them are done.
    pub n_completed_tasks: u64,
    /// Bytes its completed tasks have read.
    pub input_bytes_read: u64,
    /// Whether the stage is done. Stages that Spark skips never are.
    pub done: bool,
}

/// A change of the connection in mid-run. The run on the server does not notice.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ConnectionChange {
    /// The stream broke; the client tries again after `retry_in`.
    Lost {
        /// Why, in one line.
        reason: String,
        /// Which try comes next, counted from 1.
        attempt: u32,
        /// How long the client waits before it.
        retry_in: Duration,
    },
    /// The client is attached again; no update was lost.
    Reattached,
    /// The run goes on, but its messages cannot be had (any more): only its end will be told. What
    /// happened until then is missing.
    StatusOnly,
}

/// How a run ended, and what that is known from.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunEnd {
    /// How it ended.
    pub outcome: RunOutcome,
    /// What that is known from.
    pub evidence: Evidence,
}

/// What an outcome is known from.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Evidence {
    /// The server sent the whole run to its last message.
    ResultComplete,
    /// The server ended the run's messages with an error.
    Verdict,
    /// The server told the state of the operation when asked; messages are missing.
    Status,
    /// Nothing, so that the outcome is unknown.
    Nothing,
}

impl RunEnd {
    /// An end with what it is known from.
    pub fn new(outcome: RunOutcome, evidence: Evidence) -> Self {
        Self { outcome, evidence }
    }
}

/// The usual evidence for each outcome.
impl From<RunOutcome> for RunEnd {
    fn from(outcome: RunOutcome) -> Self {
        let evidence = match &outcome {
            RunOutcome::Succeeded => Evidence::ResultComplete,
            RunOutcome::Failed(_) | RunOutcome::Cancelled(_) | RunOutcome::Abandoned(_) => Evidence::Verdict,
            RunOutcome::Unknown(_) => Evidence::Nothing,
        };
        Self { outcome, evidence }
    }
}

/// How a run ended.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunOutcome {
    /// The server said that the whole run is complete.
    Succeeded,
    /// The server said that the run failed.
    Failed(Diagnostic),
    /// The run was cancelled on the server. Flows that were running may still commit.
    Cancelled(Diagnostic),
    /// The server ended it because nobody had been attached for some minutes. Flows that were running
    /// may still commit.
    Abandoned(Diagnostic),
    /// Nobody can say: the server could not be reached any more, or it forgot the run.
    Unknown(Diagnostic),
}

impl RunOutcome {
    /// Why the run did not succeed; `None` if it did.
    pub fn diagnostic(&self) -> Option<&Diagnostic> {
        match self {
            Self::Succeeded => None,
            Self::Failed(diagnostic)
            | Self::Cancelled(diagnostic)
            | Self::Abandoned(diagnostic)
            | Self::Unknown(diagnostic) => Some(diagnostic),
        }
    }
}
