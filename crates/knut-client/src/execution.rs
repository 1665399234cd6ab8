//! The course of one execution as a pure machine: what happened goes in, what to do next comes out.
//! It reads no clock and does no I/O.
//!
//! Only `result_complete` is the end of an execution. The server ends every stream gracefully after
//! two minutes or a gigabyte, which means no more than "attach again" (Observed: Spark 4.3.0).
//! Where the messages are gone, the server is asked for the state of the operation (Spark 4.2 and
//! later); what nobody can say is not guessed.

use std::time::Duration;

use crate::ServerError;
use crate::operation::OperationState;
use crate::retry::RetryPolicy;
use crate::status::{Failure, TransportFailure};

/// How many streams in a row may end gracefully at once and without a response.
const MAX_EMPTY_ROUNDS: u32 = 100;
/// A stream that was open this long did its part even if nothing came.
const FULL_ROUND: Duration = Duration::from_secs(10);
/// How often a plan that the server does not know is sent again.
const MAX_EXECUTES: u32 = 3;
/// How many silences in a row are believed of a server that cannot be asked for the state: an hour
/// of them.
const MAX_SILENCES: u32 = 20;
/// The first wait between two questions for the state, and the longest.
const FIRST_POLL: Duration = Duration::from_millis(200);
const MAX_POLL: Duration = Duration::from_secs(5);
/// How often in a row the state may be "terminating", which is some minutes.
const MAX_TERMINATING: u32 = 60;

/// What is executed.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum Kind {
    /// Something that stands for itself and is followed to see how it goes.
    #[default]
    Statement,
    /// A run of a graph, which is lost with the session that holds the graph.
    Run,
    /// A query whose rows are worthless with a response missing.
    Rows,
}

/// What is executed, where, and how much is put up with.
#[derive(Clone, Debug, Default)]
pub(crate) struct Course {
    pub(crate) kind: Kind,
    /// Whether the server can be asked for the state of an operation.
    pub(crate) has_status: bool,
    /// Whether a refused token can be asked for anew.
    pub(crate) has_token_provider: bool,
    pub(crate) retry: RetryPolicy,
}

/// How to begin.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Begin {
    /// Send the plan.
    Execute,
    /// Follow what another client has sent, after this response; `None` is from the beginning.
    Attach(Option<String>),
    /// Ask for its state only.
    Poll,
}

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
    /// The stream, the call that should open it, or the question for the state failed.
    Failed(Failure),
    /// Nothing came for too long. The server sends headers only with its first response, so this
    /// is also what a stream that was never opened looks like.
    Silence,
    /// What the server says of the operation.
    Status(OperationState),
    /// The answer shows that the server forgot the session, or is another one.
    SessionLost(String),
}

/// What to do next.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Action {
    /// Read on.
    Read,
    /// Do something after a wait.
    After {
        /// The wait.
        wait: Duration,
        /// What broke and which try this is; `None` if nothing did.
        retry: Option<Retry>,
        /// What to do.
        then: Then,
    },
    /// Nothing more will come.
    End(Ending),
}

/// What to do after a wait.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Then {
    /// Send the plan; the same plan under the same operation id never runs twice.
    Execute,
    /// Go on after this response; `None` is from the beginning.
    Reattach(Option<String>),
    /// Ask the server for the state of the operation.
    AskStatus,
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
    /// The server says that it is over; some of its messages are missing here. With what it said
    /// instead of them, if it said something.
    Status(OperationState, Option<ServerError>),
    /// The server forgot the execution, or the messages of it that are missing here.
    Forgotten(ServerError),
    /// Another client follows this execution; the server serves one at a time.
    Preempted,
    /// Nobody can say.
    Lost(String),
    /// The server is another one than before: it was restarted, and the session is gone.
    SessionLost(String),
}

/// Why the server is asked for the state.
#[derive(Clone, Debug)]
enum Question {
    /// Nothing came for too long.
    Silence,
    /// Every try to attach has failed.
    LastResort,
    /// It answered a request for messages with this error.
    Refused(ServerError),
    /// There are no messages to be had.
    Poll,
}

/// One execution.
#[derive(Clone, Debug)]
#[expect(clippy::struct_excessive_bools, reason = "each says one thing of the past that counts by itself")]
pub(crate) struct Execution {
    course: Course,
    last_response_id: Option<String>,
    /// Whether a response came in this execution, or to the client that it is continued from.
    has_received: bool,
    is_complete: bool,
    n_retries: u32,
    n_empty_rounds: u32,
    n_executes: u32,
    n_silences: u32,
    n_polls: u32,
    n_terminating: u32,
    /// Whether a response came since the stream was opened.
    has_read: bool,
    /// Whether another attachment took over since this client last had to attach again by itself.
    was_preempted: bool,
    has_asked_for_token: bool,
    /// Whether the server has said that it is over, and its last messages are still missing.
    is_over: bool,
    question: Option<Question>,
}

impl Execution {
    /// A machine, and what to do first.
    pub(crate) fn begin(course: Course, begin: Begin) -> (Self, Action) {
        let mut execution = Self {
            course,
            last_response_id: None,
            has_received: false,
            is_complete: false,
            n_retries: 0,
            n_empty_rounds: 0,
            n_executes: 0,
            n_silences: 0,
            n_polls: 0,
            n_terminating: 0,
            has_read: false,
            was_preempted: false,
            has_asked_for_token: false,
            is_over: false,
            question: None,
        };
        let action = match begin {
            Begin::Execute => execution.execute(None),
            Begin::Attach(after) => {
                // It ran before, so that it is never sent again.
                execution.has_received = true;
                execution.last_response_id = after;
                execution.reattach(Duration::ZERO, None)
            }
            Begin::Poll => {
                execution.has_received = true;
                execution.ask(Question::Poll)
            }
        };
        (execution, action)
    }

    /// What to do after `input`. `jitter` is random, from 0 to 1.
    pub(crate) fn step(&mut self, input: Input, jitter: f64) -> Action {
        match input {
            // After the end nothing counts, an error least of all.
            _ if self.is_complete => Action::End(Ending::Complete),
            Input::Response { id, is_complete } => self.after_response(id, is_complete),
            Input::EndOfStream { open_for } => self.after_graceful_end(open_for),
            Input::Silence => self.after_silence(jitter),
            Input::Status(state) => self.after_status(state),
            Input::SessionLost(reason) => Action::End(Ending::SessionLost(reason)),
            Input::Failed(Failure::Transport(failure)) => self.retry(&failure, jitter),
            Input::Failed(Failure::Verdict(error)) => self.after_verdict(error, jitter),
            Input::Failed(Failure::Auth(reason)) => self.after_refused_token(reason),
            Input::Failed(Failure::Unsupported(reason)) => match self.question.take() {
                Some(Question::Silence) => {
                    // A server that cannot be asked after all.
                    self.course.has_status = false;
                    self.after_silence(jitter)
                }
                Some(question) => self.without_status(question, reason),
                None => Action::End(Ending::Lost(reason)),
            },
        }
    }

    fn after_response(&mut self, id: String, is_complete: bool) -> Action {
        self.last_response_id = Some(id);
        self.is_complete = is_complete;
        (self.has_received, self.has_read) = (true, true);
        (self.n_retries, self.n_empty_rounds, self.n_silences) = (0, 0, 0);
        (self.has_asked_for_token, self.is_over) = (false, false);
        if is_complete { Action::End(Ending::Complete) } else { Action::Read }
    }

    fn execute(&mut self, retry: Option<Retry>) -> Action {
        self.n_executes += 1;
        self.has_read = false;
        Action::After { wait: Duration::ZERO, retry, then: Then::Execute }
    }

    fn reattach(&mut self, wait: Duration, retry: Option<Retry>) -> Action {
        self.has_read = false;
        Action::After { wait, retry, then: Then::Reattach(self.last_response_id.clone()) }
    }

    fn ask(&mut self, question: Question) -> Action {
        self.question = Some(question);
        Action::After { wait: Duration::ZERO, retry: None, then: Then::AskStatus }
    }

    fn after_graceful_end(&mut self, open_for: Duration) -> Action {
        self.n_silences = 0;
        if self.has_read || open_for >= FULL_ROUND {
            (self.n_empty_rounds, self.n_retries) = (0, 0);
            return self.reattach(Duration::ZERO, None);
        }
        self.n_empty_rounds += 1;
        if self.n_empty_rounds > MAX_EMPTY_ROUNDS {
            return Action::End(Ending::Lost("the server ends every stream without a response".to_owned()));
        }
        // A first empty round is normal; a server that makes many must not be flooded.
        let first = self.course.retry.first_wait;
        let wait = first.saturating_mul(if self.n_empty_rounds == 1 { 0 } else { self.n_empty_rounds.min(40) });
        self.reattach(wait, None)
    }

    /// The server may have nothing to say, or the connection may be dead.
    fn after_silence(&mut self, jitter: f64) -> Action {
        self.was_preempted = false;
        if self.question.is_some() {
            return self.retry(&TransportFailure::new("the server does not answer"), jitter);
        }
        if self.course.has_status {
            return self.ask(Question::Silence);
        }
        self.n_silences += 1;
        if self.n_silences > MAX_SILENCES {
            return Action::End(Ending::Lost("the server has been silent for too long".to_owned()));
        }
        self.reattach(Duration::ZERO, None)
    }

    fn retry(&mut self, failure: &TransportFailure, jitter: f64) -> Action {
        if !failure.is_retryable || self.n_retries >= self.course.retry.max_retries {
            if failure.is_retryable && self.question.is_none() && self.course.has_status {
                return self.ask(Question::LastResort);
            }
            return match self.question.take() {
                // The first answer was none either, so that it is the better reason.
                Some(Question::Refused(error)) => Action::End(Ending::Forgotten(error)),
                _ => Action::End(Ending::Lost(failure.reason.clone())),
            };
        }
        // An attachment of ours may still be on its way, and take over from the next one.
        self.was_preempted = false;
        self.n_retries += 1;
        let wait = self.course.retry.wait(self.n_retries, failure.retry_delay, jitter);
        let retry = Some(Retry { reason: failure.reason.clone(), attempt: self.n_retries });
        match self.question {
            Some(_) => Action::After { wait, retry, then: Then::AskStatus },
            None => self.reattach(wait, retry),
        }
    }

    fn after_refused_token(&mut self, reason: String) -> Action {
        if !self.course.has_token_provider || std::mem::replace(&mut self.has_asked_for_token, true) {
            return Action::End(Ending::Lost(reason));
        }
        let retry = Some(Retry { reason, attempt: self.n_retries + 1 });
        match self.question {
            Some(_) => Action::After { wait: Duration::ZERO, retry, then: Then::AskStatus },
            None => self.reattach(Duration::ZERO, retry),
        }
    }

    fn after_verdict(&mut self, error: ServerError, jitter: f64) -> Action {
        if let Some(question) = self.question.take() {
            return match question {
                Question::Refused(_) if !error.is_session_lost() => self.without_status(question, error.message),
                _ => Action::End(Ending::Forgotten(error)),
            };
        }
        let class = error.error_class.as_deref().unwrap_or_default();
        match class {
            "INVALID_CURSOR.DISCONNECTED" => self.after_preemption(error, jitter),
            NOT_FOUND | "INVALID_HANDLE.SESSION_NOT_FOUND"
                if self.course.kind != Kind::Run && self.may_execute_again() =>
            {
                self.execute_again(error)
            }
            // Whatever becomes of the session, nothing more can be asked in it.
            "INVALID_HANDLE.SESSION_NOT_FOUND" | "INVALID_HANDLE.SESSION_CLOSED" | "INVALID_HANDLE.SESSION_CHANGED" => {
                Action::End(Ending::Forgotten(error))
            }
            // Rows that are gone do not come back.
            _ if class.starts_with("INVALID_CURSOR.") && self.course.kind == Kind::Rows => {
                Action::End(Ending::Forgotten(error))
            }
            // These say that messages or the operation are not there, not how it ended. An
            // operation that ended long ago is abandoned too.
            _ if class.starts_with("INVALID_CURSOR.") || class.starts_with("INVALID_HANDLE.") => {
                if self.course.has_status {
                    self.ask(Question::Refused(error))
                } else {
                    self.without_status(Question::Refused(error), String::new())
                }
            }
            _ => Action::End(Ending::Verdict(error)),
        }
    }

    /// Another attachment took over: an older one of ours that was on its way, or another client.
    fn after_preemption(&mut self, error: ServerError, jitter: f64) -> Action {
        if std::mem::replace(&mut self.was_preempted, true) {
            return Action::End(Ending::Preempted);
        }
        let action = self.retry(&TransportFailure::new(error.message), jitter);
        self.was_preempted = true;
        action
    }

    fn may_execute_again(&self) -> bool {
        !self.has_received && self.n_executes < MAX_EXECUTES
    }

    fn execute_again(&mut self, error: ServerError) -> Action {
        let retry = Retry { reason: error.message, attempt: self.n_retries.max(1) };
        self.execute(Some(retry))
    }

    fn after_status(&mut self, state: OperationState) -> Action {
        let Some(question) = self.question.take() else { return Action::Read };
        (self.n_retries, self.n_silences) = (0, 0);
        let refusal = match question {
            Question::Silence | Question::LastResort if state == OperationState::Unknown => None,
            // It is over, and a new stream would tell it; the second time one does not.
            Question::Silence | Question::LastResort
                if state.is_final() && std::mem::replace(&mut self.is_over, true) =>
            {
                None
            }
            // It is alive, so a new stream tells the rest.
            Question::Silence | Question::LastResort => return self.reattach(Duration::ZERO, None),
            Question::Refused(error) => Some(error),
            Question::Poll => None,
        };
        let is_abandoned = refusal.as_ref().is_some_and(|error| error.is_class(&[ABANDONED]));
        match (state, refusal) {
            (OperationState::Running | OperationState::Terminating, refusal) => self.poll(state, refusal),
            (OperationState::Cancelled | OperationState::Unknown, Some(error)) if is_abandoned => {
                Action::End(Ending::Verdict(error))
            }
            (OperationState::Unknown, Some(error)) if self.may_execute_again() => self.execute_again(error),
            (OperationState::Unknown, Some(error)) => Action::End(Ending::Forgotten(error)),
            (OperationState::Unknown, None) => {
                Action::End(Ending::Lost("the server does not know the operation (any more)".to_owned()))
            }
            // Its end is known, its rows are not.
            (_, Some(error)) if self.course.kind == Kind::Rows => Action::End(Ending::Forgotten(error)),
            (_, None) if self.course.kind == Kind::Rows => {
                Action::End(Ending::Lost("the server does not send the rest of the rows".to_owned()))
            }
            (state, refusal) => Action::End(Ending::Status(state, refusal)),
        }
    }

    /// Asks again and again until it is over: its messages cannot be had.
    fn poll(&mut self, state: OperationState, refusal: Option<ServerError>) -> Action {
        self.n_terminating = if state == OperationState::Terminating { self.n_terminating + 1 } else { 0 };
        if self.n_terminating > MAX_TERMINATING {
            return Action::End(Ending::Lost("the server has been ending it for minutes".to_owned()));
        }
        self.n_polls += 1;
        let wait = FIRST_POLL.saturating_mul(self.n_polls).min(MAX_POLL);
        self.question = Some(refusal.map_or(Question::Poll, Question::Refused));
        Action::After { wait, retry: None, then: Then::AskStatus }
    }

    /// The server cannot be asked.
    fn without_status(&mut self, question: Question, reason: String) -> Action {
        match question {
            Question::Refused(error) if error.is_class(&[ABANDONED]) => Action::End(Ending::Verdict(error)),
            // A server without the question remembers what it abandoned, so this one never came.
            Question::Refused(error) if error.is_class(&[NOT_FOUND]) && self.may_execute_again() => {
                self.execute_again(error)
            }
            Question::Refused(error) => Action::End(Ending::Forgotten(error)),
            Question::Silence | Question::LastResort | Question::Poll => Action::End(Ending::Lost(reason)),
        }
    }

    /// Whether only the state is asked for, and no messages come any more.
    pub(crate) fn is_polling(&self) -> bool {
        matches!(self.question, Some(Question::Refused(_) | Question::Poll)) && self.n_polls > 0
    }
}

const ABANDONED: &str = "INVALID_HANDLE.OPERATION_ABANDONED";
const NOT_FOUND: &str = "INVALID_HANDLE.OPERATION_NOT_FOUND";

#[cfg(test)]
mod model_tests;
#[cfg(test)]
mod tests;
