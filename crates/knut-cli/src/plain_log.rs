//! The plain log of a run: one line for each change that matters, to stderr.

use std::time::{Duration, SystemTime};

use knut_viewer::{
    ConnectionChange, FlowChange, FlowId, FlowState, FlowStatus, RunStarted, UpdateKind, ViewerState, ViewerUpdate,
};

use crate::printer::{Printer, Tone};

/// After how much silence the log says that the run is still going on.
const HEARTBEAT: Duration = Duration::from_secs(30);

/// How long a stream's completion is held back: of a stream that failed the server first says
/// COMPLETED, and FAILED a few milliseconds later (Observed: Spark 4.1 to 4.3).
const HOLD: Duration = Duration::from_millis(500);

/// The log of one run.
#[derive(Default)]
pub(crate) struct PlainLog {
    held: Vec<Held>,
    /// When something was last said or heard of a flow; `None` before the first update.
    last_news: Option<SystemTime>,
}

/// A line that waits for its flow not to fail after all.
struct Held {
    flow: FlowId,
    since: SystemTime,
    at: String,
    rest: String,
}

impl PlainLog {
    /// Folds one update into the state and logs what it changed.
    pub(crate) fn apply(&mut self, state: &mut ViewerState, update: ViewerUpdate, printer: &mut Printer) {
        let received = update.received;
        let news = News::of(&update.kind);
        let changes = state.apply(update);
        if !matches!(news, News::None) || self.last_news.is_none() {
            self.last_news = Some(received);
        }
        let is_end = matches!(news, News::End);
        self.held.retain(|held| {
            let flow = state.flow(held.flow);
            flow.status() == FlowStatus::Completed && !(is_end && flow.is_provisional())
        });
        self.release(received, is_end, printer);
        match news {
            News::Started(started) => log_start(&started, printer),
            News::Connection(change) => log_connection(&change, received, printer),
            // What the end settles is told in the summary, not flow by flow, but for what went well:
            // of a stream the server sometimes does not say so.
            News::End => {
                let is_ok = |change: &FlowChange| state.flow(change.flow).status() == FlowStatus::Completed;
                for change in changes.into_iter().filter(is_ok) {
                    self.log_change(state, change, received, printer);
                }
                return;
            }
            News::Message(message) if changes.is_empty() => log_message(&message, state, received, printer),
            News::Message(_) | News::None => {}
        }
        for change in changes {
            self.log_change(state, change, received, printer);
        }
    }

    /// How long the log can wait for news before it has something to say by itself. Progress is no
    /// news: it comes every two seconds and is not shown.
    pub(crate) fn patience(&self, now: SystemTime) -> Duration {
        if !self.held.is_empty() {
            return HOLD;
        }
        let quiet = self.last_news.and_then(|at| now.duration_since(at).ok()).unwrap_or_default();
        HEARTBEAT.saturating_sub(quiet)
    }

    /// Says what is due when there was no news for that long.
    pub(crate) fn silence(&mut self, state: &ViewerState, now: SystemTime, printer: &mut Printer) {
        if self.held.is_empty() {
            self.last_news = Some(now);
            heartbeat(state, now, printer);
        } else {
            self.release(now, false, printer);
        }
    }

    /// Logs held lines whose time has come.
    fn release(&mut self, now: SystemTime, all: bool, printer: &mut Printer) {
        self.held.retain(|held| {
            // Nothing will contradict it any more, unless the end itself is not known.
            let is_due = all || now.duration_since(held.since).is_ok_and(|waited| waited >= HOLD);
            if is_due {
                printer.log(&held.at, Tone::Good, "ok", &held.rest);
            }
            !is_due
        });
    }

    fn log_change(&mut self, state: &ViewerState, change: FlowChange, received: SystemTime, printer: &mut Printer) {
        let flow = state.flow(change.flow);
        let at = clock(last_time(flow).unwrap_or(received));
        let (tone, word) = match flow.status() {
            FlowStatus::Completed => (Tone::Good, "ok"),
            FlowStatus::Failed => (Tone::Bad, "FAIL"),
            FlowStatus::Skipped => (Tone::Doubtful, "skip"),
            FlowStatus::Stopped => (Tone::Doubtful, "stop"),
            // That it starts again after a failure is news, whatever the verbosity.
            FlowStatus::Planning | FlowStatus::Starting if change.before == FlowStatus::Failed => {
                (Tone::Doubtful, "try")
            }
            FlowStatus::Running if printer.is_verbose() => (Tone::Quiet, "run"),
            _ => return,
        };
        let took = match (flow.started_at(), flow.ended_at()) {
            (Some(start), Some(end)) => end.duration_since(start).ok(),
            _ => None,
        };
        let took = took.map_or(String::new(), duration);
        let rest = format!("{} {took:>7}  {}{}", tally(state), flow.name(), remark(flow));
        if flow.is_provisional() {
            self.held.push(Held { flow: change.flow, since: received, at, rest });
        } else {
            printer.log(&at, tone, word, &rest);
        }
    }
}

/// What of an update the log may have to tell besides the flows that it changed.
enum News {
    Started(RunStarted),
    Connection(ConnectionChange),
    Message(String),
    End,
    None,
}

impl News {
    fn of(kind: &UpdateKind) -> Self {
        match kind {
            UpdateKind::RunStarted(started) => Self::Started(started.clone()),
            UpdateKind::Connection(change) => Self::Connection(change.clone()),
            UpdateKind::Event(event) => Self::Message(event.message.clone()),
            UpdateKind::Ended(_) => Self::End,
            _ => Self::None,
        }
    }
}

/// Says that the run is still going on, and what takes so long.
fn heartbeat(state: &ViewerState, now: SystemTime, printer: &mut Printer) {
    let running = state.flows().iter().filter(|flow| flow.status().is_active());
    let longest = running.clone().max_by_key(|flow| since(flow.started_at(), now)).map(|flow| {
        let took = since(flow.started_at(), now).map(duration).unwrap_or_default();
        format!(", longest {} {took}", flow.name())
    });
    let retrying = match state.n_flows(&[FlowStatus::Failed]) {
        0 => String::new(),
        n => format!(", {n} failed and perhaps tried again"),
    };
    if state.connection() == Some(&ConnectionChange::StatusOnly) {
        return printer.log(&clock(now), Tone::Quiet, "..", "still running, as the server says");
    }
    let longest = longest.unwrap_or_default();
    let n_running = running.count();
    // Without a connection nobody knows what runs.
    let running = match state.connection() {
        Some(_) => "not connected; last seen running".to_owned(),
        None => "running".to_owned(),
    };
    let rest = format!("{}          {n_running} {running}{longest}{retrying}", tally(state));
    printer.log(&clock(now), Tone::Quiet, "..", &rest);
}

fn since(start: Option<SystemTime>, now: SystemTime) -> Option<Duration> {
    now.duration_since(start?).ok()
}

fn log_start(started: &RunStarted, printer: &mut Printer) {
    if printer.is_verbose() {
        printer.note(&format!("operation {} on {}", started.operation_id, started.server));
    }
}

fn log_connection(change: &ConnectionChange, at: SystemTime, printer: &mut Printer) {
    match change {
        ConnectionChange::Lost { reason, attempt, retry_in } => {
            let rest = format!("connection lost: {reason}; try {attempt} in {}", duration(*retry_in));
            printer.log(&clock(at), Tone::Doubtful, "..", &rest);
        }
        ConnectionChange::StatusOnly => {
            let rest = "the server has no events of this run (any more); waiting for its end";
            printer.log(&clock(at), Tone::Doubtful, "..", rest);
        }
        _ => printer.log(&clock(at), Tone::Good, "..", "connected again; no event was lost"),
    }
}

/// Events that no flow's status tells of are shown as they are: nothing is lost.
fn log_message(message: &str, state: &ViewerState, at: SystemTime, printer: &mut Printer) {
    let is_unknown = state.messages().last().is_some_and(|event| event.message == message);
    if is_unknown {
        printer.log(&clock(at), Tone::Doubtful, "msg", message);
    }
}

/// When a flow's last change happened, by the server's clock.
fn last_time(flow: &FlowState) -> Option<SystemTime> {
    flow.ended_at().or(flow.started_at())
}

fn remark(flow: &FlowState) -> String {
    match (flow.status(), flow.failures().last()) {
        (FlowStatus::Failed, Some(failure)) => {
            let class = failure.error.as_ref().map(|error| match &error.error_class {
                Some(class) => class.clone(),
                None => error.summary().lines().next().unwrap_or("").to_owned(),
            });
            let attempt = if failure.attempt > 0 { format!("attempt {}", failure.attempt) } else { String::new() };
            let parts = [attempt.as_str(), class.as_deref().unwrap_or("")];
            let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
            if parts.is_empty() { String::new() } else { format!("  {}", parts.join(": ")) }
        }
        (FlowStatus::Completed, _) if flow.is_inferred() => "  as the run's end says".to_owned(),
        (FlowStatus::Skipped, _) => "  its upstream failed".to_owned(),
        (FlowStatus::Planning | FlowStatus::Starting, _) => format!("  attempt {}", flow.attempt()),
        _ => String::new(),
    }
}

/// How many of the selected flows are done.
fn tally(state: &ViewerState) -> String {
    let mut n = 0;
    let mut n_done = 0;
    for flow in state.flows() {
        match flow.status() {
            FlowStatus::Excluded | FlowStatus::Defined => {}
            FlowStatus::Completed | FlowStatus::Skipped | FlowStatus::Stopped => {
                n += 1;
                n_done += 1;
            }
            _ => n += 1,
        }
    }
    format!("[{n_done:>2}/{n:<2}]")
}

/// A time of day in UTC, to the millisecond.
pub(crate) fn clock(at: SystemTime) -> String {
    match jiff::Timestamp::try_from(at) {
        Ok(timestamp) => format!("{timestamp:.3}"),
        Err(_) => "-".to_owned(),
    }
}

/// A length of time as people say it.
pub(crate) fn duration(duration: Duration) -> String {
    let seconds = duration.as_secs();
    match seconds {
        0..60 => format!("{:.1}s", duration.as_secs_f64()),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_durations_read_well() {
        let at = SystemTime::UNIX_EPOCH + Duration::from_millis(1_796_058_721_040);
        assert_eq!(clock(at), "2026-11-30T17:12:01.040Z");
        for (ms, text) in [(40, "0.0s"), (1_250, "1.2s"), (59_900, "59.9s"), (64_000, "1m04s"), (3_700_000, "1h01m")] {
            assert_eq!(duration(Duration::from_millis(ms)), text);
        }
    }
}
