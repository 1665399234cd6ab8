//! A viewer's state as text, every field of it, one line per flow and stage.

use std::fmt::Write as _;
use std::time::SystemTime;

use knut_viewer::{FlowState, ViewerState};

/// Writes the whole state.
pub fn describe(state: &ViewerState) -> String {
    let mut text = String::new();
    let line = &mut text;
    writeln!(line, "phase: {:?}", state.phase()).unwrap();
    writeln!(line, "started: {:?} at {}", state.started(), seconds(state.started_at(), None)).unwrap();
    writeln!(line, "last update at {}", seconds(state.last_at(), None)).unwrap();
    writeln!(line, "run completed: {}, ignored: {}", state.is_run_completed(), state.n_ignored()).unwrap();
    for dataset in state.datasets() {
        writeln!(line, "dataset {} ({})", dataset.name, dataset.kind).unwrap();
    }
    let first =
        state.flows().iter().filter_map(|flow| flow.queued_at().or(flow.started_at()).or(flow.ended_at())).min();
    for flow in state.flows() {
        describe_flow(line, flow, first);
    }
    for (id, stage) in state.stages() {
        let done = if stage.done { "done" } else { "open" };
        let (n_completed, n) = (stage.n_completed_tasks, stage.n_tasks);
        writeln!(line, "stage {id}: {n_completed}/{n} tasks, {} bytes, {done}", stage.input_bytes_read).unwrap();
    }
    writeln!(line, "in flight: {}, connection: {:?}", state.n_inflight_tasks(), state.connection()).unwrap();
    for message in state.messages() {
        writeln!(line, "message: {:?}", message.message).unwrap();
    }
    writeln!(line, "dropped messages: {}", state.n_dropped_messages()).unwrap();
    text
}

fn describe_flow(line: &mut String, flow: &FlowState, first: Option<SystemTime>) {
    let inferred = if flow.is_inferred() { " (inferred)" } else { "" };
    let provisional = if flow.is_provisional() { " (provisional)" } else { "" };
    let at = |time| seconds(time, first);
    write!(line, "flow {} -> {}: ", flow.name(), flow.target().unwrap_or("?")).unwrap();
    write!(line, "{}{inferred}{provisional}, attempt {}, ", flow.status().word(), flow.attempt()).unwrap();
    let (queued, started, ended) = (at(flow.queued_at()), at(flow.started_at()), at(flow.ended_at()));
    writeln!(line, "queued {queued}, started {started}, ended {ended}").unwrap();
    for failure in flow.failures() {
        let (attempt, reason, at) = (failure.attempt, failure.reason, at(failure.at));
        writeln!(line, "  failure in attempt {attempt} at {at}: {reason:?}").unwrap();
        if let Some(error) = &failure.error {
            writeln!(line, "    class {:?}, sql state {:?}", error.error_class, error.sql_state).unwrap();
            writeln!(line, "    summary {:?}", error.summary()).unwrap();
            writeln!(line, "    message of {} bytes", error.message.len()).unwrap();
        }
    }
    if flow.n_dropped_failures() > 0 {
        writeln!(line, "  and {} failures before", flow.n_dropped_failures()).unwrap();
    }
}

/// Seconds since `origin`, the epoch if there is none.
fn seconds(time: Option<SystemTime>, origin: Option<SystemTime>) -> String {
    let since = |time: SystemTime| time.duration_since(origin.unwrap_or(SystemTime::UNIX_EPOCH));
    match time.map(since) {
        None => "-".to_owned(),
        Some(Ok(after)) => format!("{:.3}s", after.as_secs_f64()),
        Some(Err(before)) => format!("-{:.3}s", before.duration().as_secs_f64()),
    }
}
