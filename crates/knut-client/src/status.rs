//! Who said that a call failed: the server, or something on the way to it.
//!
//! The gRPC code alone does not tell. Spark reports every error as INTERNAL, and tonic 0.14 reports
//! a connection that broke in mid-stream as UNKNOWN; so what counts is whether the status carries
//! Spark's details or came from the transport (Observed: tonic 0.14.9, Spark 4.3.0).

use std::collections::{BTreeMap, HashMap};
use std::error::Error as _;
use std::time::Duration;

use tonic::{Code, Status};
use tonic_types::StatusExt as _;

use crate::ServerError;

/// The domain of Spark's own error details.
const SPARK_DOMAIN: &str = "org.apache.spark";

/// Why a call failed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// The server reported it.
    Verdict(ServerError),
    /// The server did not accept who is asking.
    Auth(String),
    /// What answered does not speak Spark Connect, or not this part of it.
    Unsupported(String),
    /// The call or its answer was lost on the way.
    Transport(TransportFailure),
}

/// What went wrong on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TransportFailure {
    /// In one line.
    pub(crate) reason: String,
    /// Whether trying again may help.
    pub(crate) is_retryable: bool,
    /// How long the server asks to wait; `None` when it did not ask.
    pub(crate) retry_delay: Option<Duration>,
}

impl TransportFailure {
    pub(crate) fn new(reason: impl Into<String>) -> Self {
        Self { reason: reason.into(), is_retryable: true, retry_delay: None }
    }
}

/// Tells who said that a call failed.
pub(crate) fn classify(status: &Status) -> Failure {
    let details = status.get_error_details();
    if let Some(retry) = details.retry_info() {
        let reason = status.message().to_owned();
        return Failure::Transport(TransportFailure { reason, is_retryable: true, retry_delay: retry.retry_delay });
    }
    if let Some(info) = details.error_info().filter(|info| info.domain == SPARK_DOMAIN) {
        return Failure::Verdict(spark_error(status.message(), &info.reason, &info.metadata));
    }
    let message = status.message();
    match status.code() {
        Code::Unauthenticated => Failure::Auth(message.to_owned()),
        // A proxy's 403, or an authorization layer in front of the server. With a source it is
        // HTTP/2's INADEQUATE_SECURITY.
        Code::PermissionDenied if status.source().is_none() => Failure::Auth(message.to_owned()),
        Code::Unimplemented => Failure::Unsupported(message.to_owned()),
        // Neither heals: OutOfRange is an answer larger than this client reads.
        Code::OutOfRange | Code::PermissionDenied => transport(status, false),
        Code::Unavailable | Code::DeadlineExceeded | Code::ResourceExhausted => transport(status, true),
        // tonic makes statuses of its own for answers that are no gRPC, a proxy's page among them.
        _ if is_foreign(message) || status.source().is_some() => transport(status, true),
        // Whatever said this, it was not Spark: it tells nothing about the execution.
        _ => transport(status, false),
    }
}

fn is_foreign(message: &str) -> bool {
    message.starts_with("protocol error:")
        || message.starts_with("grpc-status header missing")
        || message.contains("invalid compression flag")
        || message.contains("Unexpected EOF decoding stream")
}

fn transport(status: &Status, is_retryable: bool) -> Failure {
    Failure::Transport(TransportFailure { reason: reason_of(status), is_retryable, retry_delay: None })
}

/// The status and what is behind it in one line, without saying anything twice.
fn reason_of(status: &Status) -> String {
    chain(status.message(), status.source())
}

/// An error and its sources in one line, without saying anything twice.
pub(crate) fn chain(first: &str, mut source: Option<&(dyn std::error::Error + 'static)>) -> String {
    let mut reason = first.to_owned();
    while let Some(error) = source {
        let text = error.to_string();
        if !reason.contains(&text) {
            if !reason.is_empty() {
                reason.push_str(": ");
            }
            reason.push_str(&text);
        }
        source = error.source();
    }
    reason
}

fn spark_error(message: &str, exception: &str, metadata: &HashMap<String, String>) -> ServerError {
    let field = |key: &str| metadata.get(key).cloned().filter(|value| !value.is_empty());
    let in_text = knut_viewer::Diagnostic::from_text(message);
    let mut classes: Vec<String> = json(metadata.get("classes"));
    if classes.is_empty() && !exception.is_empty() {
        classes.push(exception.to_owned());
    }
    ServerError {
        message: message.to_owned(),
        // The server leaves the class out when its parameters are long; the text still has it.
        error_class: field("errorClass").or(in_text.error_class),
        sql_state: field("sqlState").or(in_text.sql_state),
        message_parameters: json::<BTreeMap<String, String>>(metadata.get("messageParameters")),
        classes,
        error_id: field("errorId"),
    }
}

/// Malformed JSON must not hide the error that it decorates.
fn json<T: serde::de::DeserializeOwned + Default>(text: Option<&String>) -> T {
    text.and_then(|text| serde_json::from_str(text).ok()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tonic_types::{ErrorDetails, StatusExt};

    fn spark_status(message: &str, metadata: &[(&str, &str)]) -> Status {
        let metadata: HashMap<String, String> =
            metadata.iter().map(|(key, value)| ((*key).to_owned(), (*value).to_owned())).collect();
        let details = ErrorDetails::with_error_info("org.apache.spark.sql.AnalysisException", SPARK_DOMAIN, metadata);
        Status::with_error_details(Code::Internal, message, details)
    }

    #[test]
    fn sparks_details_become_a_server_error() {
        let metadata = [
            ("errorClass", "TABLE_OR_VIEW_NOT_FOUND"),
            ("sqlState", "42P01"),
            ("messageParameters", r#"{"relationName":"`t`"}"#),
            ("classes", r#"["A","B"]"#),
            ("errorId", "e1"),
        ];
        let Failure::Verdict(error) = classify(&spark_status("[X] text", &metadata)) else { panic!("no verdict") };
        assert_eq!(error.error_class.as_deref(), Some("TABLE_OR_VIEW_NOT_FOUND"));
        assert_eq!(error.sql_state.as_deref(), Some("42P01"));
        assert_eq!(error.message_parameters["relationName"], "`t`");
        assert_eq!(error.classes, ["A", "B"]);
        assert_eq!(error.error_id.as_deref(), Some("e1"));
    }

    #[test]
    fn a_class_that_the_server_left_out_is_read_from_the_text() {
        let status =
            spark_status("[A.B] text SQLSTATE: 42000", &[("classes", "no json"), ("messageParameters", "[1]")]);
        let Failure::Verdict(error) = classify(&status) else { panic!("no verdict") };
        assert_eq!((error.error_class.as_deref(), error.sql_state.as_deref()), (Some("A.B"), Some("42000")));
        assert_eq!(error.classes, ["org.apache.spark.sql.AnalysisException"]);
        assert!(error.message_parameters.is_empty());
    }

    #[test]
    fn what_no_server_said_is_transport() {
        for (status, retryable) in [
            (Status::unavailable("tcp connect error"), true),
            (Status::from_error(Box::new(std::io::Error::other("h2 protocol error"))), true),
            (Status::unknown("protocol error: missing grpc-status trailer"), true),
            (Status::internal("received message with invalid compression flag: 60 (valid flags are 0 and 1)"), true),
            (Status::internal("Unexpected EOF decoding stream."), true),
            (Status::resource_exhausted("too many requests"), true),
            (Status::out_of_range("decoded message length too large"), false),
            (Status::internal("plain"), false),
            (Status::unknown("plain"), false),
        ] {
            let Failure::Transport(failure) = classify(&status) else { panic!("{status:?}") };
            assert_eq!(failure.is_retryable, retryable, "{status:?}");
        }
        assert!(matches!(classify(&Status::unauthenticated("x")), Failure::Auth(_)));
        assert!(matches!(classify(&Status::unimplemented("x")), Failure::Unsupported(_)));
        assert!(matches!(classify(&Status::permission_denied("x")), Failure::Auth(_)));
    }

    #[test]
    fn a_server_that_asks_to_wait_is_waited_for() {
        let details = ErrorDetails::with_retry_info(Some(Duration::from_millis(400)));
        let status = Status::with_error_details(Code::ResourceExhausted, "busy", details);
        let Failure::Transport(failure) = classify(&status) else { panic!("no transport failure") };
        assert_eq!(failure.retry_delay, Some(Duration::from_millis(400)));
    }

    proptest::proptest! {
        #[test]
        fn any_details_are_classified(bytes: Vec<u8>, message in "\\PC*", code in 0..20_i32) {
            classify(&Status::with_details(Code::from_i32(code), message, bytes.into()));
        }
    }
}
