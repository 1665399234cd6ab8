//! The one error of this crate: what was asked of whom, and why it did not work.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as StdError;
use std::fmt;

/// What kind of failure an [`Error`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// The caller's own input is wrong; the server was not asked.
    Usage,
    /// The server could not be reached, or the connection broke.
    Transport,
    /// The server did not accept who is asking.
    Auth,
    /// The server refused or failed; [`Error::server`] has what it said.
    Server,
    /// The answer breaks the protocol.
    Protocol,
    /// No answer came in time.
    Timeout,
    /// The operation was cancelled on the server.
    Cancelled,
    /// The server cannot do this, or is no Spark Connect server.
    Unsupported,
}

/// Why something that was asked of a server did not work.
///
/// It displays what was asked; [`source`](StdError::source) says why.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    what: Cow<'static, str>,
    cause: Option<Cause>,
    is_retryable: bool,
    is_session_lost: bool,
    sql_file: Option<String>,
}

enum Cause {
    Server(ServerError),
    Text(Reason),
}

/// A reason that has no error type of its own.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
struct Reason(String);

impl Error {
    pub(crate) fn new(kind: ErrorKind, what: impl Into<Cow<'static, str>>) -> Self {
        let is_retryable = matches!(kind, ErrorKind::Timeout);
        Self(Box::new(Inner {
            kind,
            what: what.into(),
            cause: None,
            is_retryable,
            is_session_lost: false,
            sql_file: None,
        }))
    }

    pub(crate) fn usage(what: impl Into<Cow<'static, str>>) -> Self {
        Self::new(ErrorKind::Usage, what)
    }

    pub(crate) fn because(mut self, reason: impl Into<String>) -> Self {
        self.0.cause = Some(Cause::Text(Reason(reason.into())));
        self
    }

    pub(crate) fn from_server(what: impl Into<Cow<'static, str>>, server: ServerError) -> Self {
        let kind = match server.error_class.as_deref() {
            Some("OPERATION_CANCELED") => ErrorKind::Cancelled,
            _ => ErrorKind::Server,
        };
        let mut error = Self::new(kind, what);
        error.0.is_session_lost = server.is_session_lost();
        error.0.cause = Some(Cause::Server(server));
        error
    }

    pub(crate) fn session_lost(what: impl Into<Cow<'static, str>>, reason: &str) -> Self {
        let mut error = Self::new(ErrorKind::Protocol, what).because(reason);
        error.0.is_session_lost = true;
        error
    }

    /// The same error, told as another thing that was asked.
    pub(crate) fn told_as(mut self, what: impl Into<Cow<'static, str>>) -> Self {
        self.0.what = what.into();
        self
    }

    pub(crate) fn retryable(mut self, is_retryable: bool) -> Self {
        self.0.is_retryable = is_retryable;
        self
    }

    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the server said; `None` when it said nothing.
    pub fn server(&self) -> Option<&ServerError> {
        match &self.0.cause {
            Some(Cause::Server(server)) => Some(server),
            _ => None,
        }
    }

    /// The SQL file that was being registered, by its path as in the graph; `None` for anything else.
    pub fn sql_file(&self) -> Option<&str> {
        self.0.sql_file.as_deref()
    }

    pub(crate) fn in_sql_file(mut self, path: &str) -> Self {
        self.0.sql_file = Some(path.to_owned());
        self
    }

    /// Whether the same call may work a little later. It may also have been carried out: only its
    /// answer is sure to be missing.
    pub fn is_retryable(&self) -> bool {
        self.0.is_retryable
    }

    /// Whether the session is gone, and with it every graph that was defined in it.
    pub fn is_session_lost(&self) -> bool {
        self.0.is_session_lost
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.what)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut debug = f.debug_struct("Error");
        debug.field("kind", &self.0.kind).field("what", &self.0.what);
        match &self.0.cause {
            Some(Cause::Server(server)) => debug.field("server", server),
            Some(Cause::Text(reason)) => debug.field("reason", &reason.0),
            None => &mut debug,
        };
        debug.finish()
    }
}

impl StdError for Error {
    fn source(&self) -> Option<&(dyn StdError + 'static)> {
        match &self.0.cause {
            Some(Cause::Server(server)) => Some(server),
            Some(Cause::Text(reason)) => Some(reason),
            None => None,
        }
    }
}

/// An error that the server reported.
///
/// It displays the message as sent: it is not trusted and may hold control characters.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", self.shown())]
#[non_exhaustive]
pub struct ServerError {
    /// The whole message.
    pub message: String,
    /// Spark's error class, such as `TABLE_OR_VIEW_NOT_FOUND`; `None` for errors that have none,
    /// the failed resolution of a graph among them.
    pub error_class: Option<String>,
    /// The SQLSTATE; `None` when the server sent none.
    pub sql_state: Option<String>,
    /// The parameters of the message; empty when the server sent none.
    pub message_parameters: BTreeMap<String, String>,
    /// The JVM class of the exception and its superclasses, most specific first; may be empty.
    pub classes: Vec<String>,
    /// Under which id the server keeps details; `None` when it keeps none.
    pub(crate) error_id: Option<String>,
}

impl ServerError {
    /// The message; what else is known where the server sent an empty one.
    fn shown(&self) -> Cow<'_, str> {
        match (self.message.trim(), self.classes.first()) {
            ("", Some(class)) => format!("the server gave no reason; its exception was a {class}").into(),
            ("", None) => "the server gave no reason".into(),
            (message, _) => message.into(),
        }
    }

    /// Whether the server has no such session any more.
    pub fn is_session_lost(&self) -> bool {
        let lost =
            ["INVALID_HANDLE.SESSION_NOT_FOUND", "INVALID_HANDLE.SESSION_CLOSED", "INVALID_HANDLE.SESSION_CHANGED"];
        self.error_class.as_deref().is_some_and(|class| lost.contains(&class))
    }

    pub(crate) fn is_class(&self, classes: &[&str]) -> bool {
        self.error_class.as_deref().is_some_and(|class| classes.contains(&class))
    }
}
