//! The course of one reattachable execution as a pure machine: what happened goes in, what to do
//! next comes out. It reads no clock and does no I/O.
//!
//! Only `result_complete` is the end of an execution. The server ends every stream gracefully after
//! two minutes or a gigabyte, which means no more than "attach again" (Observed: Spark 4.3.0).

use std::time::Duration;

use crate::ServerError;
use crate::status::{Failure, TransportFailure};

/// How many tries without a response in between: together they wait five minutes, after which the
/// server interrupts an execution that nobody is attached to.
const MAX_RETRIES: u32 = 10;
const FIRST_WAIT: Duration = Duration::from_millis(50);
const MAX_WAIT: Duration = Duration::from_mins(1);
/// From this wait on some jitter is added, so that many clients do not come back at once.
const JITTER_FROM: Duration = Duration::from_secs(2);
const MAX_JITTER: Duration = Duration::from_millis(500);
const MAX_SERVER_DELAY: Duration = Duration::from_mins(10);
/// How many streams in a row may end gracefully at once and without a response.
const MAX_EMPTY_ROUNDS: u32 = 100;
/// A stream that was open this long did its part even if nothing came.
const FULL_ROUND: Duration = Duration::from_secs(10);
/// How often a plan that the server does not know is sent again.
const MAX_EXECUTES: u32 = 3;

/// What happened.
#[derive(Clone, Debug)]
pub(crate) enum Input {
    /// A response came.
    Response {
        /// Its id.
        id: String,
        /// Whether it is `result_complete`.
        is_complete: bool,
    },
    /// The stream ended without an error, so long after it was opened.
    EndOfStream {
        /// How long.
        open_for: Duration,
    },
    /// The stream or the call that should open it failed.
    Failed(Failure),
    /// Nothing came for too long.
    Silence,
    /// The answer shows that the server forgot the session, or is another one.
    SessionLost(String),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read on.
    Read,
    /// Open a stream after a wait.
    Open {
        /// How.
        open: Open,
        /// The wait.
        wait: Duration,
        /// What broke and which try this is; `None` after a graceful end.
        retry: Option<Retry>,
    },
    /// Nothing more will come.
    End(Ending),
}

/// How to open a stream.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Open {
    /// Send the plan; the same plan under the same operation id never runs twice.
    Execute,
    /// Go on after this response; `None` is from the beginning.
    Reattach(Option<String>),
}

/// A try after something broke.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Retry {
    pub(crate) reason: String,
    /// Counted from 1.
    pub(crate) attempt: u32,
}

/// How an execution ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Ending {
    /// `result_complete` came.
    Complete,
    /// The server reported an error that ends it.
    Verdict(ServerError),
    /// The server forgot the execution, or the messages of it that are missing here.
    Forgotten(ServerError),
    /// Nobody can say.
    Lost(String),
    /// The server is another one than before: it was restarted, and the session is gone.
    SessionLost(String),
}

/// One execution.
#[derive(Clone, Debug, Default)]
pub(crate) struct Execution {
    last_response_id: Option<String>,
    is_complete: bool,
    n_retries: u32,
    n_empty_rounds: u32,
    n_executes: u32,
    /// Whether a response came since the stream was opened.
    has_read: bool,
}

impl Execution {
    /// What to do first.
    pub(crate) fn start(&mut self) -> Action {
        self.execute(None)
    }

    /// What to do after `input`. `jitter` is random, from 0 to 1.
    pub(crate) fn step(&mut self, input: Input, jitter: f64) -> Action {
        match input {
            // After the end nothing counts, an error least of all.
            _ if self.is_complete => Action::End(Ending::Complete),
            Input::Response { id, is_complete } => {
                self.last_response_id = Some(id);
                self.is_complete = is_complete;
                self.has_read = true;
                self.n_retries = 0;
                self.n_empty_rounds = 0;
                if is_complete { Action::End(Ending::Complete) } else { Action::Read }
            }
            Input::EndOfStream { open_for } => self.after_graceful_end(open_for),
            // The server may have nothing to say, or the connection may be dead: a new stream tells.
            // If it cannot be opened, that counts as a failure of its own.
            Input::Silence => self.reattach(Duration::ZERO, None),
            Input::SessionLost(reason) => Action::End(Ending::SessionLost(reason)),
            Input::Failed(Failure::Transport(failure)) => self.retry(&failure, jitter),
            Input::Failed(Failure::Verdict(error)) => self.after_verdict(error, jitter),
            Input::Failed(Failure::Auth(reason) | Failure::Unsupported(reason)) => Action::End(Ending::Lost(reason)),
        }
    }

    fn execute(&mut self, retry: Option<Retry>) -> Action {
        self.n_executes += 1;
        Action::Open { open: Open::Execute, wait: Duration::ZERO, retry }
    }

    fn reattach(&mut self, wait: Duration, retry: Option<Retry>) -> Action {
        self.has_read = false;
        Action::Open { open: Open::Reattach(self.last_response_id.clone()), wait, retry }
    }

    fn after_graceful_end(&mut self, open_for: Duration) -> Action {
        if self.has_read || open_for >= FULL_ROUND {
            self.n_empty_rounds = 0;
            return self.reattach(Duration::ZERO, None);
        }
        self.n_empty_rounds += 1;
        if self.n_empty_rounds > MAX_EMPTY_ROUNDS {
            return Action::End(Ending::Lost("the server ends every stream without a response".to_owned()));
        }
        // A first empty round is normal; a server that makes many must not be flooded.
        let wait = if self.n_empty_rounds == 1 { Duration::ZERO } else { FIRST_WAIT * self.n_empty_rounds.min(40) };
        self.reattach(wait, None)
    }

    fn retry(&mut self, failure: &TransportFailure, jitter: f64) -> Action {
        if !failure.is_retryable || self.n_retries >= MAX_RETRIES {
            return Action::End(Ending::Lost(failure.reason.clone()));
        }
        self.n_retries += 1;
        let wait = retry_wait(self.n_retries, failure.retry_delay, jitter);
        self.reattach(wait, Some(Retry { reason: failure.reason.clone(), attempt: self.n_retries }))
    }

    fn after_verdict(&mut self, error: ServerError, jitter: f64) -> Action {
        if error.is_class(&["INVALID_CURSOR.DISCONNECTED"]) {
            // Another attachment took over: our own older stream, or another client.
            return self.retry(&TransportFailure::new(error.message), jitter);
        }
        let never_arrived = error.is_class(&["INVALID_HANDLE.OPERATION_NOT_FOUND"]) && self.last_response_id.is_none();
        if never_arrived && self.n_executes < MAX_EXECUTES {
            let retry = Retry { reason: error.message, attempt: self.n_retries.max(1) };
            return self.execute(Some(retry));
        }
        // These say that the messages or the execution are not there, not how the execution ended.
        let forgotten = error.error_class.as_deref().is_some_and(|class| {
            class.starts_with("INVALID_CURSOR.")
                || (class.starts_with("INVALID_HANDLE.") && class != "INVALID_HANDLE.OPERATION_ABANDONED")
        });
        Action::End(if forgotten { Ending::Forgotten(error) } else { Ending::Verdict(error) })
    }
}

/// How long to wait before the `attempt`th try, counted from 1.
fn retry_wait(attempt: u32, server_delay: Option<Duration>, jitter: f64) -> Duration {
    let factor = 4_u32.saturating_pow(attempt.saturating_sub(1));
    let wait = FIRST_WAIT.saturating_mul(factor).min(MAX_WAIT);
    let wait = wait.max(server_delay.unwrap_or_default().min(MAX_SERVER_DELAY));
    if wait < JITTER_FROM { wait } else { wait + MAX_JITTER.mul_f64(jitter.clamp(0.0, 1.0)) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// A stream that ends at once.
    const END: Input = Input::EndOfStream { open_for: Duration::ZERO };

    fn response(id: &str) -> Input {
        Input::Response { id: id.to_owned(), is_complete: false }
    }

    fn complete() -> Input {
        Input::Response { id: "last".to_owned(), is_complete: true }
    }

    fn broken() -> Input {
        Input::Failed(Failure::Transport(TransportFailure::new("broken")))
    }

    fn verdict(class: &str) -> Input {
        let error_class = Some(class.to_owned());
        Input::Failed(Failure::Verdict(ServerError {
            message: class.to_owned(),
            error_class,
            sql_state: None,
            message_parameters: BTreeMap::new(),
            classes: Vec::new(),
            error_id: None,
        }))
    }

    /// Feeds the inputs and tells each action in a few words.
    fn run(inputs: Vec<Input>) -> Vec<String> {
        let mut execution = Execution::default();
        let first = execution.start();
        let actions = inputs.into_iter().map(|input| execution.step(input, 0.0)).collect::<Vec<_>>();
        [first].iter().chain(&actions).map(tell).collect()
    }

    fn tell(action: &Action) -> String {
        match action {
            Action::Read => "read".to_owned(),
            Action::Open { open, wait, retry } => {
                let open = match open {
                    Open::Execute => "execute".to_owned(),
                    Open::Reattach(id) => format!("reattach {}", id.as_deref().unwrap_or("-")),
                };
                let retry = retry.as_ref().map(|retry| format!(" try {}", retry.attempt)).unwrap_or_default();
                format!("{open} in {}{retry}", wait.as_millis())
            }
            Action::End(Ending::Complete) => "complete".to_owned(),
            Action::End(Ending::Verdict(error)) => format!("verdict {}", error.message),
            Action::End(Ending::Forgotten(error)) => format!("forgotten {}", error.message),
            Action::End(Ending::Lost(reason)) => format!("lost {reason}"),
            Action::End(Ending::SessionLost(reason)) => format!("session lost {reason}"),
        }
    }

    #[test]
    fn a_graceful_end_is_not_the_end() {
        let told = run(vec![response("a"), END, response("b"), complete(), END, broken()]);
        assert_eq!(told, ["execute in 0", "read", "reattach a in 0", "read", "complete", "complete", "complete"]);
    }

    #[test]
    fn empty_rounds_keep_the_last_id_back_off_and_end() {
        let told = run(vec![response("a"), END, END, END]);
        assert_eq!(told[2..], ["reattach a in 0", "reattach a in 0", "reattach a in 100"]);
        let many = run(std::iter::repeat_n(END, 101).collect());
        assert_eq!(many.last().unwrap(), "lost the server ends every stream without a response");
    }

    /// A healthy run may have nothing to say for hours.
    #[test]
    fn silence_costs_nothing() {
        let full = || Input::EndOfStream { open_for: Duration::from_mins(2) };
        let quiet = std::iter::repeat_n([Input::Silence, full()], 500).flatten().collect();
        assert!(run(quiet)[1..].iter().all(|told| told == "reattach - in 0"));
    }

    /// What tells that messages are missing says nothing about the execution, which may still run.
    #[test]
    fn what_the_server_forgot_is_no_verdict() {
        let last = |class| run(vec![response("a"), verdict(class)]).pop().unwrap();
        assert_eq!(last("INVALID_CURSOR.POSITION_NOT_AVAILABLE"), "forgotten INVALID_CURSOR.POSITION_NOT_AVAILABLE");
        assert_eq!(last("INVALID_HANDLE.SESSION_CLOSED"), "forgotten INVALID_HANDLE.SESSION_CLOSED");
        assert_eq!(last("INVALID_HANDLE.OPERATION_ABANDONED"), "verdict INVALID_HANDLE.OPERATION_ABANDONED");
        let plain = Input::Failed(crate::status::classify(&tonic::Status::internal("a proxy's words")));
        assert_eq!(run(vec![response("a"), plain]).pop().unwrap(), "lost a proxy's words");
    }

    #[test]
    fn a_broken_stream_is_attached_again_with_growing_waits() {
        let told = run(vec![response("a"), broken(), broken(), broken(), response("b"), broken()]);
        assert_eq!(
            told[2..],
            [
                "reattach a in 50 try 1",
                "reattach a in 200 try 2",
                "reattach a in 800 try 3",
                "read",
                "reattach b in 50 try 1"
            ]
        );
        let many = run(std::iter::repeat_n(broken(), 11).collect());
        assert_eq!(many.last().unwrap(), "lost broken");
        assert_eq!(many[many.len() - 2], "reattach - in 60000 try 10");
    }

    #[test]
    fn a_plan_that_never_arrived_is_sent_again_and_one_that_did_is_not() {
        let not_found = || verdict("INVALID_HANDLE.OPERATION_NOT_FOUND");
        assert_eq!(
            run(vec![broken(), not_found(), not_found(), not_found()])[1..],
            [
                "reattach - in 50 try 1",
                "execute in 0 try 1",
                "execute in 0 try 1",
                "forgotten INVALID_HANDLE.OPERATION_NOT_FOUND"
            ]
        );
        assert_eq!(
            run(vec![response("a"), broken(), not_found()]).last().unwrap(),
            "forgotten INVALID_HANDLE.OPERATION_NOT_FOUND"
        );
        assert_eq!(
            run(vec![broken(), verdict("INVALID_HANDLE.SESSION_NOT_FOUND")]).last().unwrap(),
            "forgotten INVALID_HANDLE.SESSION_NOT_FOUND"
        );
    }

    #[test]
    fn a_verdict_ends_it_unless_another_attachment_took_over() {
        assert_eq!(run(vec![verdict("OPERATION_CANCELED")]).last().unwrap(), "verdict OPERATION_CANCELED");
        assert_eq!(
            run(vec![response("a"), verdict("INVALID_CURSOR.DISCONNECTED")]).last().unwrap(),
            "reattach a in 50 try 1"
        );
    }

    #[test]
    fn waits_have_a_floor_a_cap_and_jitter() {
        let wait = |attempt, delay, jitter| retry_wait(attempt, delay, jitter).as_millis();
        assert_eq!(
            [1, 2, 3, 4, 5, 6, 7, 40].map(|n| wait(n, None, 0.0)),
            [50, 200, 800, 3200, 12800, 51200, 60000, 60000]
        );
        assert_eq!(wait(1, Some(Duration::from_secs(3)), 1.0), 3500);
        assert_eq!(wait(1, Some(Duration::from_hours(10)), 0.0), 600_000);
        assert_eq!(wait(3, None, 1.0), 800);
    }
}
