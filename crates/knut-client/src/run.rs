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
use knut_viewer::{ConnectionChange, Diagnostic, ExecutionProgress, RunOutcome, UpdateKind, ViewerState, ViewerUpdate};
use uuid::Uuid;

use crate::execution::Ending;
use crate::from_proto::{diagnostic, response_to_update};
use crate::response_stream::{ResponseStream, Step};
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

/// Which execution on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct OperationId(pub(crate) Uuid);

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// The updates of one run: `GraphDefined? RunStarted (Event | Progress | Connection)* Ended`.
///
/// It survives broken connections and never gives an error: how the run ended is in its last
/// update. Nothing is sent before it is first polled. Dropping it closes the stream and tells the
/// server nothing: the run goes on, until the server interrupts it because nobody has been attached
/// for five minutes.
pub struct UpdateStream {
    operation_id: OperationId,
    updates: BoxStream<'static, ViewerUpdate>,
}

impl UpdateStream {
    pub(crate) fn new(session: Session, operation_id: OperationId, plan: proto::Plan, before: Vec<UpdateKind>) -> Self {
        let follower = Follower {
            responses: ResponseStream::new(session, operation_id.0, plan),
            before: before.into(),
            seq: 0,
            last_progress: None,
            has_ended: false,
        };
        let updates = futures::stream::unfold(follower, |mut follower| async move {
            let update = follower.next().await?;
            Some((update, follower))
        });
        Self { operation_id, updates: updates.fuse().boxed() }
    }

    /// Which execution on the server this is.
    pub fn operation_id(&self) -> OperationId {
        self.operation_id
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
        f.debug_struct("UpdateStream").field("operation_id", &self.operation_id).finish_non_exhaustive()
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
            match self.responses.next().await {
                Step::Response(response) => match response_to_update(*response) {
                    Some(UpdateKind::Progress(progress)) if self.last_progress.as_ref() == Some(&progress) => {}
                    Some(UpdateKind::Progress(progress)) => {
                        self.last_progress = Some(progress.clone());
                        return UpdateKind::Progress(progress);
                    }
                    Some(kind) => return kind,
                    None => {}
                },
                Step::Lost(retry, retry_in) => {
                    let (reason, attempt) = (retry.reason, retry.attempt);
                    return UpdateKind::Connection(ConnectionChange::Lost { reason, attempt, retry_in });
                }
                Step::Back => return UpdateKind::Connection(ConnectionChange::Reattached),
                Step::Ended(ending) => return UpdateKind::Ended(outcome(ending)),
            }
        }
    }
}

/// What an ending says of the run.
fn outcome(ending: Ending) -> RunOutcome {
    let cancelled = ["OPERATION_CANCELED", "INVALID_HANDLE.OPERATION_ABANDONED"];
    match ending {
        Ending::Complete => RunOutcome::Succeeded,
        Ending::Verdict(error) if error.is_class(&cancelled) => RunOutcome::Cancelled(diagnostic(error)),
        Ending::Verdict(error) => RunOutcome::Failed(diagnostic(error)),
        Ending::Forgotten(error) => RunOutcome::Unknown(diagnostic(error)),
        Ending::SessionLost(reason) => {
            // The class that the server itself gives for it, had it been asked.
            let mut diagnostic = Diagnostic::from_text(reason);
            diagnostic.error_class = Some("INVALID_HANDLE.SESSION_CHANGED".to_owned());
            RunOutcome::Unknown(diagnostic)
        }
        Ending::Lost(reason) => RunOutcome::Unknown(Diagnostic::from_text(reason)),
    }
}
