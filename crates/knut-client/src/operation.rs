//! One operation on the server, and what the server says of it when asked.

use std::fmt;

use knut_proto::spark::connect as proto;
use proto::get_status_response::operation_status::OperationState as Wire;
use uuid::Uuid;

/// Which execution on the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
#[serde(transparent)]
pub struct OperationId(pub(crate) Uuid);

impl OperationId {
    pub(crate) fn new() -> Self {
        Self(Uuid::new_v4())
    }

    /// Whether a response is of this operation; an empty id is no information.
    pub(crate) fn is_meant(self, id: &str) -> bool {
        id.is_empty() || id == &*self.0.as_hyphenated().encode_lower(&mut Uuid::encode_buffer())
    }
}

impl fmt::Display for OperationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// What the server says of an operation. Source: `GetStatus`, Spark 4.2 and later.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum OperationState {
    /// It runs.
    Running,
    /// It is over or being ended, and not yet put away.
    Terminating,
    /// It came to its end.
    Succeeded,
    /// It ended in an error.
    Failed,
    /// It was cancelled: by somebody, or by the server because nobody was attached.
    Cancelled,
    /// The server does not know it: it never came, or ended more than half an hour ago.
    Unknown,
}

impl OperationState {
    /// Whether it is over for good.
    pub fn is_final(self) -> bool {
        matches!(self, Self::Succeeded | Self::Failed | Self::Cancelled)
    }

    pub(crate) fn from_wire(state: i32) -> Self {
        match Wire::try_from(state) {
            Ok(Wire::Running) => Self::Running,
            Ok(Wire::Terminating) => Self::Terminating,
            Ok(Wire::Succeeded) => Self::Succeeded,
            Ok(Wire::Failed) => Self::Failed,
            Ok(Wire::Cancelled) => Self::Cancelled,
            Ok(Wire::Unspecified | Wire::Unknown) | Err(_) => Self::Unknown,
        }
    }
}

impl fmt::Display for OperationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Terminating => "terminating",
            Self::Succeeded => "succeeded",
            Self::Failed => "failed",
            Self::Cancelled => "cancelled",
            Self::Unknown => "unknown",
        })
    }
}
