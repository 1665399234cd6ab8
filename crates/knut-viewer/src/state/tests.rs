//! The rules of the reducer, each on the texts a real server sends.

use std::time::{Duration, SystemTime};

use knut_model::DatasetKind;
use proptest::prelude::*;

use crate::{
    DatasetNode, Diagnostic, ExecutionProgress, FailureReason, FlowNode, FlowStatus, GraphDefined, PipelineEvent,
    RunOutcome, RunStarted, StageProgress, UpdateKind, ViewerState, ViewerUpdate,
};

fn update(seq: u64, kind: UpdateKind) -> ViewerUpdate {
    ViewerUpdate { seq, received: SystemTime::UNIX_EPOCH + Duration::from_secs(seq), kind }
}

fn event(seq: u64, message: &str) -> ViewerUpdate {
    let at = Some(SystemTime::UNIX_EPOCH + Duration::from_secs(seq));
    update(seq, UpdateKind::Event(PipelineEvent { at, message: message.to_owned() }))
}

/// A run with these events and this end.
fn run(texts: &[&str], outcome: Option<RunOutcome>) -> ViewerState {
    let mut state = ViewerState::default();
    state.apply(update(1, UpdateKind::RunStarted(RunStarted::default())));
    let mut seq = 1;
    for text in texts {
        seq += 1;
        state.apply(event(seq, text));
    }
    if let Some(outcome) = outcome {
        state.apply(update(seq + 1, UpdateKind::Ended(outcome.into())));
    }
    state
}

fn failed() -> RunOutcome {
    RunOutcome::Failed(Diagnostic::from_text("[BOOM] boom SQLSTATE: P0001"))
}

fn statuses(state: &ViewerState) -> Vec<(&str, FlowStatus, bool, u32)> {
    let row = |flow: &'_ crate::FlowState| (flow.status(), flow.is_inferred(), flow.attempt());
    state.flows().iter().map(|flow| (flow.name(), row(flow).0, row(flow).1, row(flow).2)).collect()
}

#[test]
fn a_failed_flow_that_starts_again_is_a_new_attempt() {
    let texts = [
        "Flow b is QUEUED.",
        "Flow b is PLANNING.",
        "Flow b is STARTING.",
        "Flow b is RUNNING.",
        "Flow 'b' has FAILED.\nError: [X] one SQLSTATE: P0001",
        "Flow b is PLANNING.",
        "Flow b is STARTING.",
        "Flow b is RUNNING.",
        "Flow b has COMPLETED.",
        "Run is COMPLETED.",
    ];
    let state = run(&texts, Some(RunOutcome::Succeeded));
    assert_eq!(statuses(&state), [("b", FlowStatus::Completed, false, 2)]);
    let flow = &state.flows()[0];
    assert_eq!(flow.failures().len(), 1);
    assert_eq!((flow.failures()[0].attempt, flow.failures()[0].reason), (1, FailureReason::Attempt));
    let second = |n| SystemTime::UNIX_EPOCH + Duration::from_secs(n);
    assert_eq!(
        (flow.queued_at(), flow.started_at(), flow.ended_at()),
        (Some(second(2)), Some(second(7)), Some(second(10)))
    );
    assert!(state.is_run_completed());
}

#[test]
fn completed_of_a_failing_stream_is_provisional() {
    let texts = [
        "Flow s is STARTING.",
        "Flow s is RUNNING.",
        "Flow s has COMPLETED.",
        "Flow 's' has FAILED.\nError: x",
        "Flow s is STARTING.",
        "Flow s is RUNNING.",
        "Flow s has COMPLETED.",
        "Flow 's' has FAILED more than 1 times and will not be restarted.\nError: x",
        "Flow 'down' SKIPPED due to upstream failure(s).",
    ];
    let state = run(&texts, Some(failed()));
    assert_eq!(statuses(&state), [("s", FlowStatus::Failed, false, 2), ("down", FlowStatus::Skipped, false, 0)]);
}

#[test]
fn two_failures_while_starting_a_stream_are_one_attempt() {
    let texts = [
        "Flow s is STARTING.",
        "Flow 's' has FAILED.\nError: x",
        "Flow 's' has FAILED more than 0 times and will not be restarted.\nError: x",
    ];
    assert_eq!(statuses(&run(&texts, Some(failed()))), [("s", FlowStatus::Failed, false, 1)]);
}

#[test]
fn a_late_running_does_not_reopen_a_completed_flow() {
    let texts = ["Flow s is STARTING.", "Flow s has COMPLETED.", "Flow s is RUNNING.", "Flow s is QUEUED."];
    assert_eq!(statuses(&run(&texts, None)), [("s", FlowStatus::Completed, false, 1)]);
}

#[test]
fn nothing_late_reopens_a_flow_that_failed_for_good() {
    for last in [
        "Flow 's' has FAILED more than 0 times and will not be restarted.\nError: x",
        "Failed to resolve flow: 's'.\nError: x",
    ] {
        let state = run(&[last, "Flow s is RUNNING.", "Flow s has COMPLETED."], Some(failed()));
        assert_eq!(state.flows()[0].status(), FlowStatus::Failed, "{last}");
    }
    // Nor does anything late of an attempt of a stream begin another one.
    let attempt = ["Flow s is STARTING.", "Flow 's' has FAILED.\nError: x"];
    let late = ["Flow s has COMPLETED.", "Flow s is RUNNING.", "Flow 's' has FAILED.\nError: x"];
    let texts: Vec<_> = attempt.iter().chain(&late).chain(&attempt).copied().collect();
    assert_eq!(statuses(&run(&texts, None)), [("s", FlowStatus::Failed, false, 2)]);
    // Of a batch flow the beginning of an attempt may have been dropped.
    let batch = ["Flow b is PLANNING.", "Flow 'b' has FAILED.\nError: x", "Flow b has COMPLETED."];
    assert_eq!(statuses(&run(&batch, None)), [("b", FlowStatus::Completed, false, 2)]);
    // What the server did not deliver follows from the run's end.
    assert_eq!(statuses(&run(&attempt, Some(RunOutcome::Succeeded))), [("s", FlowStatus::Completed, true, 1)]);
}

#[test]
fn a_streams_completion_is_provisional_until_the_end_is_known() {
    let stream = ["Flow s is STARTING.", "Flow s has COMPLETED."];
    let provisional = |texts: &[&str], outcome| run(texts, outcome).flows()[0].is_provisional();
    let lost = RunOutcome::Unknown(Diagnostic::from_text("lost"));
    assert!(provisional(&stream, None));
    assert!(provisional(&stream, Some(lost)));
    assert!(!provisional(&stream, Some(RunOutcome::Succeeded)));
    assert!(!provisional(&["Flow s is PLANNING.", "Flow s has COMPLETED."], None));
}

#[test]
fn a_flow_whose_start_was_dropped_has_no_start_time() {
    let state = run(&["Flow t has COMPLETED."], None);
    assert_eq!(statuses(&state), [("t", FlowStatus::Completed, false, 1)]);
    assert_eq!(state.flows()[0].started_at(), None);
}

#[test]
fn the_end_settles_every_flow_and_says_that_it_did() {
    let texts = ["Flow a is QUEUED.", "Flow b is RUNNING.", "Flow 'c' is EXCLUDED.", "Flow d has COMPLETED."];
    let settled = |outcome| {
        let state = run(&texts, Some(outcome));
        let of = |index: usize| (state.flows()[index].status(), state.flows()[index].is_inferred());
        [of(0), of(1), of(2), of(3)]
    };
    let (excluded, completed) = ((FlowStatus::Excluded, false), (FlowStatus::Completed, false));
    let inferred = |status| (status, true);
    let lost = Diagnostic::from_text("lost");
    assert_eq!(
        settled(RunOutcome::Succeeded),
        [inferred(FlowStatus::Completed), inferred(FlowStatus::Completed), excluded, completed]
    );
    let stopped = [inferred(FlowStatus::NotRun), inferred(FlowStatus::Unknown), excluded, completed];
    assert_eq!(settled(failed()), stopped);
    assert_eq!(settled(RunOutcome::Cancelled(lost.clone())), stopped);
    assert_eq!(
        settled(RunOutcome::Unknown(lost)),
        [inferred(FlowStatus::Unknown), inferred(FlowStatus::Unknown), excluded, completed]
    );
}

#[test]
fn a_dry_run_validates_and_views_stay_defined() {
    let defined = GraphDefined {
        datasets: vec![
            DatasetNode { name: "v".to_owned(), kind: DatasetKind::TemporaryView },
            DatasetNode { name: "c.d.t".to_owned(), kind: DatasetKind::StreamingTable },
        ],
        flows: vec![
            FlowNode { name: "v".to_owned(), target: "v".to_owned() },
            FlowNode { name: "c.d.t".to_owned(), target: "c.d.t".to_owned() },
        ],
    };
    let end_of = |dry_run| {
        let mut state = ViewerState::default();
        state.apply(update(1, UpdateKind::GraphDefined(defined.clone())));
        state.apply(update(2, UpdateKind::RunStarted(RunStarted { dry_run, ..RunStarted::default() })));
        let changes = state.apply(update(3, UpdateKind::Ended(RunOutcome::Succeeded.into())));
        (state.flows().iter().map(crate::FlowState::status).collect::<Vec<_>>(), changes.len())
    };
    assert_eq!(end_of(true), (vec![FlowStatus::Validated, FlowStatus::Validated], 2));
    assert_eq!(end_of(false), (vec![FlowStatus::Defined, FlowStatus::Unknown], 1));
}

#[test]
fn updates_that_come_twice_or_after_the_end_are_ignored() {
    let mut state = run(&["Flow a is RUNNING."], None);
    assert!(state.apply(event(2, "Flow a has COMPLETED.")).is_empty());
    state.apply(update(3, UpdateKind::Ended(RunOutcome::Succeeded.into())));
    state.apply(event(4, "Flow a is RUNNING."));
    assert_eq!(statuses(&state), [("a", FlowStatus::Completed, true, 1)]);
    assert_eq!(state.n_ignored(), 2);
}

#[test]
fn unknown_messages_are_kept_up_to_a_limit() {
    let mut state = ViewerState::default();
    for seq in 1..=1001 {
        state.apply(event(seq, &format!("news {seq}")));
    }
    assert_eq!(state.messages().count(), 1000);
    assert_eq!(state.messages().next().unwrap().message, "news 2");
    assert_eq!(state.n_dropped_messages(), 1);
}

#[test]
fn stage_figures_only_grow() {
    let report = |done_tasks, done| {
        let stage = StageProgress {
            stage_id: 3,
            n_tasks: 4,
            n_completed_tasks: done_tasks,
            input_bytes_read: done_tasks,
            done,
        };
        UpdateKind::Progress(ExecutionProgress { stages: vec![stage], n_inflight_tasks: 1 })
    };
    let mut state = ViewerState::default();
    state.apply(update(1, report(4, true)));
    state.apply(update(2, report(2, false)));
    state.apply(update(3, UpdateKind::Progress(ExecutionProgress::default())));
    let third = state.stages()[&3];
    assert_eq!((third.n_completed_tasks, third.done, state.n_inflight_tasks()), (4, true, 0));
}

proptest! {
    /// Whatever comes in whatever order: no panic, and after the end nothing is left active.
    #[test]
    fn any_order_settles(texts in proptest::collection::vec((0_usize..11, 0_usize..3), 0..60), outcome in 0_usize..4) {
        let forms = [
            "Flow @ is QUEUED.", "Flow @ is PLANNING.", "Flow @ is STARTING.", "Flow @ is RUNNING.", "Flow @ has COMPLETED.",
            "Flow '@' has FAILED.\nError: x", "Flow '@' has FAILED more than 2 times and will not be restarted.\nError: x",
            "Flow '@' SKIPPED due to upstream failure(s).", "Flow '@' is EXCLUDED.", "Failed to resolve flow: '@'.\nError: x",
            "Run is COMPLETED.",
        ];
        let texts: Vec<String> =
            texts.into_iter().map(|(form, flow)| forms[form].replace('@', ["a", "b", "c"][flow])).collect();
        let texts: Vec<&str> = texts.iter().map(String::as_str).collect();
        let lost = Diagnostic::from_text("lost");
        let outcome = [RunOutcome::Succeeded, failed(), RunOutcome::Cancelled(lost.clone()), RunOutcome::Unknown(lost)][outcome].clone();
        let state = run(&texts, Some(outcome.clone()));
        prop_assert_eq!(state.outcome(), Some(&outcome));
        for flow in state.flows() {
            prop_assert!(!flow.status().is_active() && flow.status() != FlowStatus::Queued, "{:?}", flow);
            prop_assert!(flow.failures().iter().all(|failure| failure.attempt <= flow.attempt()));
        }
        prop_assert_eq!(run(&texts, Some(outcome)), state);
    }
}
