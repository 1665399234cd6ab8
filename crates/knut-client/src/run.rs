//! Running a graph or a query and following it.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use knut_model::RefreshSelection;
use knut_proto::spark::connect as proto;
use knut_viewer::{
    ConnectionChange, Diagnostic, Evidence, ExecutionProgress, RunEnd, RunOutcome, UpdateKind, ViewerState,
    ViewerUpdate,
};

use crate::ServerError;
use crate::execution::Ending;
use crate::from_proto::{diagnostic, response_to_update};
use crate::handle::RunHandle;
use crate::operation::{OperationId, OperationState};
use crate::response_stream::{LastResponse, ResponseStream, Step};
use crate::session::Session;

/// What to run and how.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunOptions {
    /// Where streaming checkpoints are kept: a URI with a scheme, as the server sees it. Needed by
    /// every run, a dry one too.
    pub storage: String,
    /// Which datasets to update.
    pub refresh: RefreshSelection,
    /// Whether to check the graph only: no flow runs and no table changes. The server still
    /// executes commands that stand where a query should.
    pub dry_run: bool,
}

impl RunOptions {
    /// A run of everything with its checkpoints at `storage`.
    pub fn new(storage: impl Into<String>) -> Self {
        Self { storage: storage.into(), refresh: RefreshSelection::All, dry_run: false }
    }

    /// Chooses which datasets to update.
    #[must_use]
    pub fn refresh(mut self, refresh: RefreshSelection) -> Self {
        self.refresh = refresh;
        self
    }

    /// Checks the graph only, or not.
    #[must_use]
    pub fn dry_run(mut self, dry_run: bool) -> Self {
        self.dry_run = dry_run;
        self
    }
}

/// The updates of one run: `GraphDefined? RunStarted (Event | Progress | Connection)* Ended`.
///
/// It survives broken connections and never gives an error: how the run ended is in its last
/// update. Nothing is sent before it is first polled. Dropping it closes the stream and tells the
/// server nothing: the run goes on, until the server interrupts it because nobody has been attached
/// for five minutes. Another process can go on with it by its [`handle`](Self::handle).
pub struct UpdateStream {
    handle: RunHandle,
    session: Session,
    consumed: LastResponse,
    updates: BoxStream<'static, ViewerUpdate>,
}

impl UpdateStream {
    pub(crate) fn new(session: Session, handle: RunHandle, responses: ResponseStream, before: Vec<UpdateKind>) -> Self {
        let consumed = responses.consumed();
        let follower = Follower { responses, before: before.into(), seq: 0, last_progress: None, has_ended: false };
        let updates = futures::stream::unfold(follower, |mut follower| async move {
            let update = follower.next().await?;
            Some((update, follower))
        });
        Self { handle, session, consumed, updates: updates.fuse().boxed() }
    }

    /// Which execution on the server this is.
    pub fn operation_id(&self) -> OperationId {
        self.handle.operation_id
    }

    /// What another process needs to go on after the last update that was taken.
    ///
    /// To see the whole run from another process, keep the handle of before the first update, or
    /// take [`from_start`](RunHandle::from_start): the server keeps a run's messages until its end
    /// was read, and a client of five minutes ago is forgotten (Observed: Spark 4.3.0).
    pub fn handle(&self) -> RunHandle {
        let mut handle = self.handle.clone();
        handle.last_response_id = self.consumed.get();
        handle.server_side_session_id = self.session.observed();
        handle
    }

    /// Follows the run to its end and gives the state that it ended in.
    pub async fn to_end(mut self) -> ViewerState {
        let mut state = ViewerState::default();
        while let Some(update) = self.next().await {
            state.apply(update);
        }
        state
    }
}

impl Stream for UpdateStream {
    type Item = ViewerUpdate;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<ViewerUpdate>> {
        self.updates.poll_next_unpin(cx)
    }
}

impl fmt::Debug for UpdateStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("UpdateStream").field("operation_id", &self.handle.operation_id).finish_non_exhaustive()
    }
}

/// Turns an execution's steps into numbered updates.
struct Follower {
    responses: ResponseStream,
    /// What is said before the first response.
    before: VecDeque<UpdateKind>,
    seq: u64,
    /// The server repeats itself: the same progress often comes twice.
    last_progress: Option<ExecutionProgress>,
    has_ended: bool,
}

impl Follower {
    async fn next(&mut self) -> Option<ViewerUpdate> {
        let kind = match self.before.pop_front() {
            Some(kind) => kind,
            None if self.has_ended => return None,
            None => self.next_kind().await,
        };
        self.has_ended = matches!(kind, UpdateKind::Ended(_));
        self.seq += 1;
        Some(ViewerUpdate { seq: self.seq, received: SystemTime::now(), kind })
    }

    async fn next_kind(&mut self) -> UpdateKind {
        loop {
            match told(self.responses.next().await) {
                Told::Response(response) => match response_to_update(*response) {
                    Some(UpdateKind::Progress(progress)) if self.last_progress.as_ref() == Some(&progress) => {}
                    Some(UpdateKind::Progress(progress)) => {
                        self.last_progress = Some(progress.clone());
                        return UpdateKind::Progress(progress);
                    }
                    Some(kind) => return kind,
                    None => {}
                },
                Told::Update(kind) => return kind,
                Told::Ended(ending) => return ended(ending),
            }
        }
    }
}

/// A step of an execution, with what viewers are told of it.
pub(crate) enum Told {
    /// A response, to be looked at.
    Response(Box<proto::ExecutePlanResponse>),
    /// What viewers are told.
    Update(UpdateKind),
    /// The end.
    Ended(Ending),
}

pub(crate) fn told(step: Step) -> Told {
    Told::Update(UpdateKind::Connection(match step {
        Step::Response(response) => return Told::Response(response),
        Step::Ended(ending) => return Told::Ended(ending),
        Step::Lost(retry, retry_in) => {
            ConnectionChange::Lost { reason: retry.reason, attempt: retry.attempt, retry_in }
        }
        Step::Back => ConnectionChange::Reattached,
        Step::StatusOnly => ConnectionChange::StatusOnly,
    }))
}

/// What an ending says of the run, and what it is known from.
pub(crate) fn ended(ending: Ending) -> UpdateKind {
    let (outcome, evidence) = match ending {
        Ending::Complete => (RunOutcome::Succeeded, Evidence::ResultComplete),
        Ending::Verdict(error) => {
            let outcome: fn(Diagnostic) -> RunOutcome = match error.error_class.as_deref() {
                Some("OPERATION_CANCELED") => RunOutcome::Cancelled,
                Some("INVALID_HANDLE.OPERATION_ABANDONED") => RunOutcome::Abandoned,
                _ => RunOutcome::Failed,
            };
            (outcome(diagnostic(error)), Evidence::Verdict)
        }
        Ending::Status(state, refusal) => (outcome_of_state(state, refusal), Evidence::Status),
        Ending::Forgotten(error) => (RunOutcome::Unknown(diagnostic(error)), Evidence::Nothing),
        Ending::SessionLost(reason) => {
            // The class that the server itself gives for it, had it been asked.
            let mut diagnostic = Diagnostic::from_text(reason);
            diagnostic.error_class = Some("INVALID_HANDLE.SESSION_CHANGED".to_owned());
            (RunOutcome::Unknown(diagnostic), Evidence::Nothing)
        }
        Ending::Preempted => {
            let reason = "another client attached to this run, and the server serves one at a time; the run goes on";
            let mut diagnostic = Diagnostic::from_text(reason);
            diagnostic.error_class = Some("INVALID_CURSOR.DISCONNECTED".to_owned());
            (RunOutcome::Unknown(diagnostic), Evidence::Nothing)
        }
        Ending::Lost(reason) => (RunOutcome::Unknown(Diagnostic::from_text(reason)), Evidence::Nothing),
    };
    UpdateKind::Ended(RunEnd::new(outcome, evidence))
}

/// The outcome where only the state of the operation is known.
fn outcome_of_state(state: OperationState, refusal: Option<ServerError>) -> RunOutcome {
    // What the server said instead of the run's messages stands beside it, and is not its reason.
    let beside = refusal.map(|error| format!(" ({})", error.message)).unwrap_or_default();
    let told = |text: &str| Diagnostic::from_text(format!("{text}{beside}"));
    match state {
        OperationState::Succeeded => RunOutcome::Succeeded,
        OperationState::Failed => {
            RunOutcome::Failed(told("the server says that the run failed; its messages are lost, and with them why"))
        }
        OperationState::Cancelled => RunOutcome::Cancelled(told(
            "the server says that the run was cancelled, which it also says of runs that failed with nobody there",
        )),
        OperationState::Running | OperationState::Terminating | OperationState::Unknown => {
            RunOutcome::Unknown(told("the server cannot say how the run ended"))
        }
    }
}
