//! The calls about one operation: its requests, and what the server says of it.

use std::time::Duration;

use knut_proto::spark::connect as proto;
use proto::analyze_plan_request::{Analyze, SparkVersion};
use proto::execute_plan_request::RequestOption;
use proto::get_status_request::OperationStatusRequest;
use proto::release_execute_request::{Release, ReleaseAll, ReleaseUntil};

use crate::Error;
use crate::execution::Input;
use crate::operation::{OperationId, OperationState};
use crate::session::{CALL_TIMEOUT, Session, timed_out};
use crate::status::classify;

/// How long a release or a sign of life may take. Nothing waits for an answer to it but the end.
const FAREWELL: Duration = Duration::from_secs(5);

pub(crate) fn execute_request(
    session: &Session,
    operation_id: OperationId,
    plan: proto::Plan,
    request_options: Vec<RequestOption>,
) -> proto::ExecutePlanRequest {
    proto::ExecutePlanRequest {
        session_id: session.id(),
        client_observed_server_side_session_id: session.observed(),
        user_context: Some(session.user_context()),
        operation_id: Some(operation_id.to_string()),
        plan: Some(plan),
        client_type: Some(session.client_type()),
        request_options,
        tags: Vec::new(),
    }
}

/// `last_response_id` is what it goes on after; `None` is from the beginning.
pub(crate) fn reattach_request(
    session: &Session,
    operation_id: OperationId,
    last_response_id: Option<String>,
) -> proto::ReattachExecuteRequest {
    proto::ReattachExecuteRequest {
        session_id: session.id(),
        client_observed_server_side_session_id: session.observed(),
        user_context: Some(session.user_context()),
        operation_id: operation_id.to_string(),
        client_type: Some(session.client_type()),
        last_response_id,
    }
}

pub(crate) fn version_request(session: &Session) -> proto::AnalyzePlanRequest {
    proto::AnalyzePlanRequest {
        session_id: session.id(),
        client_observed_server_side_session_id: session.observed(),
        user_context: Some(session.user_context()),
        client_type: Some(session.client_type()),
        analyze: Some(Analyze::SparkVersion(SparkVersion {})),
    }
}

impl Session {
    /// As [`operation_state`](Self::operation_state), for a caller that follows nothing.
    pub(crate) async fn state_of(&self, what: &str, operation_id: OperationId) -> Result<OperationState, Error> {
        match tokio::time::timeout(CALL_TIMEOUT, self.operation_state(operation_id)).await {
            Ok(Ok(state)) => Ok(state),
            Ok(Err(Input::Failed(failure))) => Err(self.error(what, failure).await),
            Ok(Err(Input::SessionLost(reason))) => Err(Error::session_lost(what.to_owned(), &reason)),
            Ok(Err(_)) | Err(_) => Err(timed_out(what)),
        }
    }

    /// Asks for the state of an operation, or gives what the execution machine makes of the failure.
    /// Unlike other calls it makes no session where there is none (Observed: Spark 4.3.0).
    pub(crate) async fn operation_state(&self, operation_id: OperationId) -> Result<OperationState, Input> {
        let operation_id = operation_id.to_string();
        let request = proto::GetStatusRequest {
            session_id: self.id(),
            user_context: Some(self.user_context()),
            client_type: Some(self.client_type()),
            client_observed_server_side_session_id: self.observed(),
            operation_status: Some(OperationStatusRequest {
                operation_ids: vec![operation_id.clone()],
                extensions: Vec::new(),
            }),
            extensions: Vec::new(),
        };
        let mut stub = self.stub();
        let answer = match Box::pin(stub.get_status(self.request(request))).await {
            Ok(answer) => answer.into_inner(),
            Err(status) => return Err(Input::Failed(classify(&status))),
        };
        self.check(&answer).map_err(|reason| Input::SessionLost(reason.to_owned()))?;
        let status = answer.operation_statuses.iter().find(|status| status.operation_id == operation_id);
        // Silence about it is what an unknown operation is.
        Ok(status.map_or(OperationState::Unknown, |status| OperationState::from_wire(status.state)))
    }

    /// Lets the server forget an execution that is over. On a live one it would be a kill.
    pub(crate) async fn release_all(&self, operation_id: OperationId) {
        self.release(operation_id, Release::ReleaseAll(ReleaseAll {})).await;
    }

    /// Lets the server forget the responses up to and with this one.
    pub(crate) async fn release_until(&self, operation_id: OperationId, response_id: String) {
        self.release(operation_id, Release::ReleaseUntil(ReleaseUntil { response_id })).await;
    }

    async fn release(&self, operation_id: OperationId, release: Release) {
        let request = proto::ReleaseExecuteRequest {
            session_id: self.id(),
            client_observed_server_side_session_id: self.observed(),
            user_context: Some(self.user_context()),
            operation_id: operation_id.to_string(),
            client_type: Some(self.client_type()),
            release: Some(release),
        };
        let mut stub = self.stub();
        let call = Box::pin(stub.release_execute(self.request(request)));
        if !matches!(tokio::time::timeout(FAREWELL, call).await, Ok(Ok(_))) {
            tracing::debug!(%operation_id, "the server did not take a release");
        }
    }

    /// Shows that the session is in use: the server forgets one that had no call for an hour.
    pub(crate) async fn show_use(&self) {
        let mut stub = self.stub();
        let call = Box::pin(stub.analyze_plan(self.request(version_request(self))));
        if !matches!(tokio::time::timeout(FAREWELL, call).await, Ok(Ok(_))) {
            tracing::debug!("the server did not take a sign of life");
        }
    }
}
