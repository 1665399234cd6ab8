//! One flow's history within a run.

use std::time::SystemTime;

use crate::{Diagnostic, FailureReason, FlowEvent, RunOutcome};

/// How many failures of one flow are kept; older ones are counted only.
const MAX_KEPT_FAILURES: usize = 16;

/// Where a flow stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum FlowStatus {
    /// It is defined; the server has said nothing of it yet. Views stay here.
    Defined,
    /// It waits for its upstream or for a free slot.
    Queued,
    /// Its query is being planned.
    Planning,
    /// It is being started.
    Starting,
    /// It is running.
    Running,
    /// It waits for new data.
    Idle,
    /// It is complete. While the run goes on a streaming flow may still turn out to have failed.
    Completed,
    /// It failed. While the run goes on the server may try it again.
    Failed,
    /// It did not run because its upstream failed.
    Skipped,
    /// It is not part of the run's selection.
    Excluded,
    /// It was stopped.
    Stopped,
    /// A dry run found nothing wrong with it.
    Validated,
    /// The run ended before it began.
    NotRun,
    /// The run ended, or was lost from sight, while it was running: it may have committed.
    Unknown,
}

impl FlowStatus {
    /// Whether it is being worked on.
    pub fn is_active(self) -> bool {
        matches!(self, Self::Planning | Self::Starting | Self::Running | Self::Idle)
    }

    /// The word that views show.
    pub fn word(self) -> &'static str {
        match self {
            Self::Defined => "defined",
            Self::Queued => "queued",
            Self::Planning => "planning",
            Self::Starting => "starting",
            Self::Running => "running",
            Self::Idle => "idle",
            Self::Completed => "completed",
            Self::Failed => "failed",
            Self::Skipped => "skipped",
            Self::Excluded => "excluded",
            Self::Stopped => "stopped",
            Self::Validated => "validated",
            Self::NotRun => "not run",
            Self::Unknown => "unknown",
        }
    }
}

/// One failure of a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowFailure {
    /// In which attempt, counted from 1; 0 if the flow was never attempted.
    pub attempt: u32,
    /// When, by the server's clock; `None` when the server sent no time.
    pub at: Option<SystemTime>,
    /// In which way.
    pub reason: FailureReason,
    /// The error; `None` when the server sent none.
    pub error: Option<Diagnostic>,
}

/// One flow of a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FlowState {
    name: String,
    target: Option<String>,
    status: FlowStatus,
    inferred: bool,
    attempt: u32,
    /// Whether it was ever planned, which only batch flows are.
    is_batch: bool,
    /// Whether the run's end is known.
    is_settled: bool,
    queued_at: Option<SystemTime>,
    started_at: Option<SystemTime>,
    ended_at: Option<SystemTime>,
    failures: Vec<FlowFailure>,
    n_dropped_failures: u64,
}

impl FlowState {
    pub(crate) fn new(name: String, target: Option<String>) -> Self {
        Self {
            name,
            target,
            status: FlowStatus::Defined,
            inferred: false,
            attempt: 0,
            is_batch: false,
            is_settled: false,
            queued_at: None,
            started_at: None,
            ended_at: None,
            failures: Vec::new(),
            n_dropped_failures: 0,
        }
    }

    /// Its name as events spell it.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The dataset it writes into; `None` when the client did not define the flow itself.
    pub fn target(&self) -> Option<&str> {
        self.target.as_deref()
    }

    /// Where it stands.
    pub fn status(&self) -> FlowStatus {
        self.status
    }

    /// Whether the status follows from the run's end alone: the server never said it.
    pub fn is_inferred(&self) -> bool {
        self.inferred
    }

    /// The present or last attempt, counted from 1; 0 before the first.
    pub fn attempt(&self) -> u32 {
        self.attempt
    }

    /// Whether it is complete but may turn out to have failed: of a failing streaming flow the
    /// server first says COMPLETED. A flow that was never seen in planning counts as streaming.
    pub fn is_provisional(&self) -> bool {
        self.status == FlowStatus::Completed && !self.is_batch && !self.is_settled
    }

    /// When it was queued; `None` when the server did not say.
    pub fn queued_at(&self) -> Option<SystemTime> {
        self.queued_at
    }

    /// When the present or last attempt began; `None` when the server did not say.
    pub fn started_at(&self) -> Option<SystemTime> {
        self.started_at
    }

    /// When the last attempt ended; `None` while it goes on or when the server did not say.
    pub fn ended_at(&self) -> Option<SystemTime> {
        self.ended_at
    }

    /// Its failures, oldest first; at most the last 16.
    pub fn failures(&self) -> &[FlowFailure] {
        &self.failures
    }

    /// How many older failures are no longer kept.
    pub fn n_dropped_failures(&self) -> u64 {
        self.n_dropped_failures
    }

    /// What tells a view that something changed: status, attempt, failures so far.
    pub(crate) fn mark(&self) -> (FlowStatus, u32, u64) {
        (self.status, self.attempt, self.failures.len() as u64 + self.n_dropped_failures)
    }

    pub(crate) fn set_target(&mut self, target: String) {
        self.target = Some(target);
    }

    /// Folds in one event.
    pub(crate) fn apply(&mut self, event: FlowEvent, at: Option<SystemTime>) {
        // A stream's listener speaks late: RUNNING and COMPLETED of an attempt may come after its
        // FAILED. Only STARTING begins another one.
        let is_late = self.status == FlowStatus::Failed && !self.may_have_lost_its_start();
        if is_late && matches!(event, FlowEvent::Running | FlowEvent::Completed) {
            return;
        }
        match event {
            FlowEvent::Queued => {
                self.queued_at = self.queued_at.or(at);
                // Never back from an attempt: events may come late.
                if self.status == FlowStatus::Defined {
                    self.set(FlowStatus::Queued);
                }
            }
            FlowEvent::Planning => {
                self.begin(FlowStatus::Planning, at);
                self.is_batch = true;
            }
            FlowEvent::Starting => self.begin(FlowStatus::Starting, at),
            FlowEvent::Running => {
                // The stream's listener speaks late: after COMPLETED this is old news.
                if self.status != FlowStatus::Completed {
                    self.begin(FlowStatus::Running, at);
                }
            }
            FlowEvent::Idle => self.begin(FlowStatus::Idle, at),
            FlowEvent::Completed => {
                self.count_attempt(self.status == FlowStatus::Failed);
                self.end(FlowStatus::Completed, at);
            }
            FlowEvent::Failed { reason, error } => self.fail(reason, error, at),
            FlowEvent::Skipped => self.end(FlowStatus::Skipped, at),
            FlowEvent::AlreadyProcessed => self.end(FlowStatus::Completed, at),
            FlowEvent::Excluded => self.set(FlowStatus::Excluded),
            FlowEvent::Stopped => self.end(FlowStatus::Stopped, at),
        }
    }

    /// Whether a new attempt of this failed flow may have begun without a word of it: the server
    /// drops such events when its queue is full.
    fn may_have_lost_its_start(&self) -> bool {
        let reason = self.failures.last().map(|failure| failure.reason);
        self.is_batch && reason == Some(FailureReason::Attempt)
    }

    /// Gives a flow its last status once nothing more can come. `dry_run` runs no flow.
    pub(crate) fn settle(&mut self, outcome: &RunOutcome, dry_run: bool, is_view: bool) {
        // Of a run that was lost or cancelled nobody said whether its completed streams held.
        self.is_settled = matches!(outcome, RunOutcome::Succeeded | RunOutcome::Failed(_));
        let settled = match (outcome, self.status) {
            (RunOutcome::Succeeded, FlowStatus::Defined) if dry_run => FlowStatus::Validated,
            (_, FlowStatus::Defined) if is_view => return,
            // Whatever the server did not deliver, it says that every selected flow is complete.
            (RunOutcome::Succeeded, FlowStatus::Queued | FlowStatus::Failed) => FlowStatus::Completed,
            (RunOutcome::Succeeded, status) if status.is_active() => FlowStatus::Completed,
            (
                RunOutcome::Failed(_) | RunOutcome::Cancelled(_) | RunOutcome::Abandoned(_),
                FlowStatus::Defined | FlowStatus::Queued,
            ) => FlowStatus::NotRun,
            (_, FlowStatus::Defined | FlowStatus::Queued) => FlowStatus::Unknown,
            (_, status) if status.is_active() => FlowStatus::Unknown,
            _ => return,
        };
        self.status = settled;
        self.inferred = true;
    }

    fn set(&mut self, status: FlowStatus) {
        self.status = status;
        self.inferred = false;
    }

    fn begin(&mut self, status: FlowStatus, at: Option<SystemTime>) {
        self.count_attempt(matches!(self.status, FlowStatus::Failed | FlowStatus::Completed));
        self.started_at = self.started_at.or(at);
        self.ended_at = None;
        self.set(status);
    }

    /// Opens a new attempt if there is none yet or the last one is over.
    fn count_attempt(&mut self, again: bool) {
        if self.attempt == 0 || again {
            self.attempt = self.attempt.saturating_add(1);
            // The server may drop the events that begin an attempt: then nobody knows when it began.
            self.started_at = None;
        }
    }

    fn end(&mut self, status: FlowStatus, at: Option<SystemTime>) {
        self.ended_at = at.or(self.ended_at);
        self.set(status);
    }

    fn fail(&mut self, reason: FailureReason, error: Option<Diagnostic>, at: Option<SystemTime>) {
        let resolution = matches!(reason, FailureReason::Unresolved | FailureReason::UnresolvedUpstream);
        if let FailureReason::RetriesExhausted { max_retries } = reason {
            // A stream that fails while it starts says FAILED twice for one attempt; the count
            // in the second text is the truth.
            self.attempt = self.attempt.max(max_retries.saturating_add(1));
        } else if !resolution {
            // Of one failure of a stream the server may speak twice.
            self.count_attempt(self.status == FlowStatus::Failed && self.may_have_lost_its_start());
        }
        self.end(FlowStatus::Failed, at);
        if self.failures.len() == MAX_KEPT_FAILURES {
            self.failures.remove(0);
            self.n_dropped_failures += 1;
        }
        self.failures.push(FlowFailure { attempt: self.attempt, at, reason, error });
    }
}
