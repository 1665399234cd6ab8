//! What another process needs to go on with a run.

use std::fmt::{self, Write as _};
use std::time::{SystemTime, UNIX_EPOCH};

use knut_proto::spark::connect as proto;
use prost::Message as _;
use serde::{Deserialize, Serialize};
use sha2::{Digest as _, Sha256};
use uuid::Uuid;

use crate::operation::OperationId;
use crate::{Endpoint, Error};

/// The version of the form that [`RunHandle::to_json`] writes.
const VERSION: u32 = 1;

/// Which run on which server, and how far this process has followed it: enough for another process
/// to go on, by [`PipelinesClient::resume`](crate::PipelinesClient::resume) and
/// [`attach`](crate::PipelinesClient::attach). It holds no secret: the token is given anew.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RunHandle {
    version: u32,
    /// The host.
    pub host: String,
    /// The port.
    pub port: u16,
    /// Whether the connection is encrypted; `None` as in [`Endpoint::use_ssl`].
    pub use_ssl: Option<bool>,
    /// The user that the session belongs to; `None` as in [`Endpoint::user_id`].
    pub user_id: Option<String>,
    /// The session.
    pub session_id: Uuid,
    /// The server's own id of the session: another one means that the server was restarted. `None`
    /// before its first answer.
    pub server_side_session_id: Option<String>,
    /// The execution.
    pub operation_id: OperationId,
    /// The last response that was taken; `None` is none yet, so that all of them follow.
    pub last_response_id: Option<String>,
    /// Whether the run survives its client.
    pub mode: RunMode,
    /// Whether the graph is only checked.
    pub dry_run: bool,
    /// The SHA-256 of what was sent, in hexadecimal.
    pub plan_digest: String,
    /// The server's Spark version.
    pub spark_version: String,
    /// When the run was asked for, in whole seconds since 1970 by the client's clock.
    pub started: u64,
}

/// Whether a run needs somebody who follows it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RunMode {
    /// All its events can be read, after a broken connection too, and by another process. The
    /// server ends it when nobody has been attached for five minutes.
    #[default]
    Attached,
    /// It goes on whatever becomes of its client, but its events are lost: only its state can be
    /// asked for, on Spark 4.2 and later.
    Detached,
}

impl fmt::Display for RunMode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Attached => "attached",
            Self::Detached => "detached",
        })
    }
}

/// What is known of a run before its first response.
pub(crate) struct NewRun<'a> {
    pub(crate) endpoint: &'a Endpoint,
    pub(crate) session_id: Uuid,
    pub(crate) server_side_session_id: Option<String>,
    pub(crate) operation_id: OperationId,
    pub(crate) mode: RunMode,
    pub(crate) dry_run: bool,
    pub(crate) plan: &'a proto::Plan,
    pub(crate) spark_version: &'a str,
}

impl RunHandle {
    pub(crate) fn new(run: NewRun<'_>) -> Self {
        let mut plan_digest = String::new();
        for byte in Sha256::digest(run.plan.encode_to_vec()) {
            // Writing to a text cannot fail.
            let _ = write!(plan_digest, "{byte:02x}");
        }
        Self {
            version: VERSION,
            host: run.endpoint.host.clone(),
            port: run.endpoint.port,
            use_ssl: run.endpoint.use_ssl,
            user_id: run.endpoint.user_id.clone(),
            session_id: run.session_id,
            server_side_session_id: run.server_side_session_id,
            operation_id: run.operation_id,
            last_response_id: None,
            mode: run.mode,
            dry_run: run.dry_run,
            plan_digest,
            spark_version: run.spark_version.to_owned(),
            started: SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |age| age.as_secs()),
        }
    }

    /// The same run from its first event on, for a process that shows all of it.
    #[must_use]
    pub fn from_start(mut self) -> Self {
        self.last_response_id = None;
        self
    }

    /// Where the run's server is, without a token.
    pub fn endpoint(&self) -> Endpoint {
        let mut endpoint = Endpoint::new(self.host.clone(), self.port);
        endpoint.use_ssl = self.use_ssl;
        endpoint.user_id.clone_from(&self.user_id);
        endpoint.session_id = Some(self.session_id);
        endpoint
    }

    /// The handle as one line of JSON, for a file. Its form is stable: fields are only added.
    pub fn to_json(&self) -> String {
        // Texts, numbers and ids alone: it cannot fail.
        serde_json::to_string(self).unwrap_or_default()
    }

    /// Reads what [`to_json`](Self::to_json) wrote, by this version or an older one.
    ///
    /// # Errors
    /// [`ErrorKind::Usage`](crate::ErrorKind::Usage) for anything else.
    pub fn from_json(text: &str) -> Result<Self, Error> {
        let broken = |reason: String| Error::usage("cannot read the handle of a run").because(reason);
        let handle: Self = serde_json::from_str(text).map_err(|error| broken(error.to_string()))?;
        if handle.version > VERSION {
            let reason =
                format!("it is of form {}, which a later knut wrote; this one knows {VERSION}", handle.version);
            return Err(broken(reason));
        }
        Ok(handle)
    }
}
