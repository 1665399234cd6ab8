//! What is said when a run is over: failures with their causes, then one line, then the exit code.

use knut_viewer::{Diagnostic, Evidence, FailureReason, FlowFailure, FlowState, FlowStatus, RunOutcome, ViewerState};

use crate::exit_code::ExitCode;
use crate::hints;
use crate::places::Places;
use crate::plain_log::duration;
use crate::printer::{Printer, Tone};

/// Prints the end of a run and gives the exit code.
pub(crate) fn report(state: &ViewerState, places: Option<&Places<'_>>, printer: &mut Printer) -> ExitCode {
    let failed = state.flows().iter().filter(|flow| flow.status() == FlowStatus::Failed);
    let (victims, culprits): (Vec<_>, Vec<_>) = failed.partition(|flow| is_victim(flow));
    for flow in &culprits {
        report_flow(flow, places, printer);
    }
    list("not resolved because of what they read", victims.iter().map(|flow| flow.name()), printer);
    let skipped = state.flows().iter().filter(|flow| flow.status() == FlowStatus::Skipped);
    list("skipped because their upstream failed", skipped.map(FlowState::name), printer);
    report_outcome(state, &culprits, printer);

    let code = exit_code(state);
    if code == ExitCode::NothingSelected {
        printer.labelled(Tone::Bad, "error", "the selection matches no flow, so nothing ran");
        printer.detail("help", "check the names after --refresh and --full-refresh; the server ignores unknown ones");
    }
    summary(state, code, printer);
    code
}

fn is_victim(flow: &FlowState) -> bool {
    flow.failures().last().is_some_and(|failure| failure.reason == FailureReason::UnresolvedUpstream)
}

fn report_flow(flow: &FlowState, places: Option<&Places<'_>>, printer: &mut Printer) {
    let Some(failure) = flow.failures().last() else { return };
    printer.labelled(Tone::Bad, "error", &format!("flow {} {}", flow.name(), how(failure)));
    if let Some(error) = &failure.error {
        printer.detail("because", error.summary());
        if let Some(snippet) = places.and_then(|places| places.of_flow(flow.name(), &error.message)) {
            printer.rendered(&snippet);
        }
        if let Some(hint) = hints::for_diagnostic(error) {
            printer.detail("help", hint);
        }
    }
}

fn how(failure: &FlowFailure) -> String {
    match failure.reason {
        FailureReason::Unresolved => "could not be resolved".to_owned(),
        FailureReason::SourcesChanged => "had streaming sources added or removed".to_owned(),
        FailureReason::NotStopped => "could not be stopped".to_owned(),
        _ if failure.attempt == 1 => "failed".to_owned(),
        _ => format!("failed {} times", failure.attempt),
    }
}

fn list<'a>(what: &str, names: impl Iterator<Item = &'a str>, printer: &mut Printer) {
    let names: Vec<&str> = names.collect();
    if !names.is_empty() {
        printer.labelled(Tone::Doubtful, what, &names.join(", "));
    }
}

/// Tells the run's own error unless a flow has told it already.
fn report_outcome(state: &ViewerState, culprits: &[&FlowState], printer: &mut Printer) {
    let Some(outcome) = state.outcome() else { return };
    let Some(diagnostic) = outcome.diagnostic() else { return };
    let told = culprits.iter().flat_map(|flow| flow.failures()).filter_map(|failure| failure.error.as_ref());
    let told: Vec<&Diagnostic> = told.collect();
    match outcome {
        RunOutcome::Failed(_) if !told.is_empty() && is_summary_of(diagnostic, &told) => return,
        RunOutcome::Failed(_) => {
            printer.labelled(Tone::Bad, "error", &format!("the run failed\n{}", diagnostic.summary()));
        }
        RunOutcome::Cancelled(_) | RunOutcome::Abandoned(_) => {
            let word = if matches!(outcome, RunOutcome::Abandoned(_)) { "abandoned" } else { "cancelled" };
            printer.labelled(Tone::Doubtful, word, diagnostic.summary());
            let running = state.flows().iter().filter(|flow| flow.status() == FlowStatus::Unknown);
            list("were running and may still commit", running.map(FlowState::name), printer);
        }
        _ => {
            let text = format!("nobody can say how the run ended\n{}", diagnostic.summary());
            printer.labelled(Tone::Bad, "error", &text);
            printer.detail("help", "look at the tables before you run again: the run may have gone on without knut");
        }
    }
    if let Some(hint) = hints::for_diagnostic(diagnostic) {
        printer.detail("help", hint);
    }
}

/// Whether the run's error only repeats what flows have said.
fn is_summary_of(diagnostic: &Diagnostic, told: &[&Diagnostic]) -> bool {
    let repeats =
        |error: &&Diagnostic| error.summary() == diagnostic.summary() || diagnostic.message.contains(error.summary());
    let is_resolution =
        diagnostic.exception.as_deref().is_some_and(|class| class.ends_with(".UnresolvedPipelineException"));
    is_resolution || told.iter().any(repeats)
}

/// How the command ends.
pub(crate) fn exit_code(state: &ViewerState) -> ExitCode {
    let any = |test: fn(&FlowState) -> bool| state.flows().iter().any(test);
    match state.outcome() {
        Some(RunOutcome::Succeeded) => {
            let nothing_ran = any(|flow| flow.status() == FlowStatus::Excluded)
                && !any(|flow| !matches!(flow.status(), FlowStatus::Excluded | FlowStatus::Defined));
            if nothing_ran { ExitCode::NothingSelected } else { ExitCode::Ok }
        }
        Some(RunOutcome::Failed(diagnostic)) => {
            // Tables are made after the graph resolved: what fails there is no fault of the graph.
            // Of a run whose messages are lost nobody knows; most graphs resolve.
            let is_told = state.end_of_run().is_some_and(|end| end.evidence != Evidence::Status);
            let materialized = diagnostic.exception.as_deref().is_some_and(|class| class.contains("Materialization"));
            if !is_told || materialized || any(|flow| flow.attempt() > 0) {
                ExitCode::Failed
            } else {
                ExitCode::Unresolved
            }
        }
        Some(RunOutcome::Cancelled(_) | RunOutcome::Abandoned(_)) => ExitCode::Cancelled,
        // A verdict has a class or an exception; without one it was the connection.
        Some(RunOutcome::Unknown(diagnostic)) if diagnostic.error_class.is_none() && diagnostic.exception.is_none() => {
            ExitCode::Unreachable
        }
        Some(_) | None => ExitCode::Unknown,
    }
}

/// The word for an outcome in what is kept of a run.
pub(crate) fn word(outcome: &RunOutcome) -> &'static str {
    match outcome {
        RunOutcome::Succeeded => "succeeded",
        RunOutcome::Failed(_) => "failed",
        RunOutcome::Cancelled(_) => "cancelled",
        RunOutcome::Abandoned(_) => "abandoned",
        _ => "unknown",
    }
}

/// The exit code for a word of what is kept of a run; `None` where the server can say more.
pub(crate) fn code_of_word(word: &str) -> Option<ExitCode> {
    match word {
        "succeeded" => Some(ExitCode::Ok),
        "failed" => Some(ExitCode::Failed),
        _ => None,
    }
}

/// Whether nothing more can happen in the run: of one that was cancelled, flows may still commit.
pub(crate) fn is_over(outcome: &RunOutcome) -> bool {
    matches!(outcome, RunOutcome::Succeeded | RunOutcome::Failed(_))
}

/// The word for how it ended.
pub(crate) fn verdict(code: ExitCode) -> (Tone, &'static str) {
    match code {
        ExitCode::Ok => (Tone::Good, "COMPLETED"),
        ExitCode::NothingSelected => (Tone::Doubtful, "DID NOTHING"),
        ExitCode::Cancelled => (Tone::Doubtful, "CANCELLED"),
        ExitCode::Unreachable | ExitCode::Unknown => (Tone::Bad, "UNKNOWN"),
        _ => (Tone::Bad, "FAILED"),
    }
}

fn summary(state: &ViewerState, code: ExitCode, printer: &mut Printer) {
    let dry_run = state.started().is_some_and(|started| started.dry_run);
    let (tone, word) = verdict(code);
    let took = match (state.started_at(), state.last_at()) {
        (Some(start), Some(end)) => end.duration_since(start).ok(),
        _ => None,
    };
    let statuses = [
        // Not those that a dry run validated: of what SQL files define it names none.
        FlowStatus::Completed,
        FlowStatus::Failed,
        FlowStatus::Skipped,
        FlowStatus::NotRun,
        FlowStatus::Unknown,
        FlowStatus::Stopped,
        FlowStatus::Excluded,
    ];
    let counts = statuses.into_iter().map(|status| (state.n_flows(&[status]), status.word()));
    let counts: Vec<String> = counts.filter(|(n, _)| *n > 0).map(|(n, word)| format!("{n} {word}")).collect();
    let after = took.map(|took| format!(" in {}", duration(took))).unwrap_or_default();
    let counts = if counts.is_empty() { String::new() } else { format!(": {}", counts.join(", ")) };
    let before = if dry_run { "dry run " } else { "run " };
    printer.toned_result(before, tone, word, &format!("{after}{counts}"));
}
