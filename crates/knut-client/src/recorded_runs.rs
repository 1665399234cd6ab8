//! Recorded runs of a real server, all the way from its responses to the viewer's state.

use knut_testkit::{recording, state_text};
use knut_viewer::{Diagnostic, RunOutcome, RunStarted, UpdateKind, ViewerState, ViewerUpdate};

use crate::from_proto::response_to_update;

/// Folds a recording in and writes the state down.
fn replay(name: &str, dry_run: bool, outcome: RunOutcome) -> String {
    let mut state = ViewerState::default();
    let mut seq = 0;
    let mut apply = |kind, received| {
        seq += 1;
        state.apply(ViewerUpdate { seq, received, kind });
    };
    let responses = recording::read(name);
    let first = responses[0].received;
    let started = RunStarted { server: "recorded:15002".to_owned(), dry_run, ..RunStarted::default() };
    apply(UpdateKind::RunStarted(started), first);
    let mut last = first;
    for recorded in responses {
        last = recorded.received;
        if let Some(kind) = response_to_update(recorded.response) {
            apply(kind, recorded.received);
        }
    }
    apply(UpdateKind::Ended(outcome.into()), last);
    state_text::describe(&state)
}

/// The error that ended a recorded run; the recordings do not have it.
fn failed() -> RunOutcome {
    RunOutcome::Failed(Diagnostic::from_text("the stream ended in an error"))
}

fn lost() -> RunOutcome {
    RunOutcome::Unknown(Diagnostic::from_text("the client was stopped"))
}

#[test]
fn a_good_run() {
    insta::assert_snapshot!(replay("good", false, RunOutcome::Succeeded));
}

#[test]
fn a_good_run_without_stage_data() {
    insta::assert_snapshot!(replay("good2", false, RunOutcome::Succeeded));
}

#[test]
fn a_flow_that_fails_three_times() {
    insta::assert_snapshot!(replay("bad", false, failed()));
}

#[test]
fn statements_that_cannot_be_resolved() {
    insta::assert_snapshot!(replay("badsql", false, failed()));
}

#[test]
fn a_failing_statement_late_in_a_file() {
    insta::assert_snapshot!(replay("late", false, failed()));
}

#[test]
fn an_analysis_error_in_another_language() {
    insta::assert_snapshot!(replay("py", false, failed()));
}

#[test]
fn a_dry_run() {
    insta::assert_snapshot!(replay("dry", true, RunOutcome::Succeeded));
}

#[test]
fn a_refresh_of_nothing() {
    insta::assert_snapshot!(replay("ref", false, RunOutcome::Succeeded));
}

#[test]
fn a_client_that_was_stopped() {
    insta::assert_snapshot!(replay("kill", false, lost()));
}

#[test]
fn another_client_that_was_stopped() {
    insta::assert_snapshot!(replay("kill2", false, lost()));
}

#[test]
fn three_hundred_flows() {
    insta::assert_snapshot!(replay("big", false, RunOutcome::Succeeded));
}
