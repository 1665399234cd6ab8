//! Starting a run that survives its client.
//!
//! Such an execution is not reattachable: the server runs it to its end whatever becomes of the
//! stream, and nobody can read its messages again (Observed: Spark 4.3.0).

use std::time::Duration;

use futures::StreamExt as _;
use knut_proto::spark::connect as proto;

use crate::Error;
use crate::calls::execute_request;
use crate::execution::Input;
use crate::operation::{OperationId, OperationState};
use crate::session::{CALL_TIMEOUT, Session, timed_out};
use crate::status::{Failure, classify};

/// How often the server is asked whether it has the run.
const POLL: Duration = Duration::from_millis(100);
const WHAT: &str = "cannot start the run";

/// Sends `plan` and comes back once the server surely has it.
pub(crate) async fn start(session: &Session, operation_id: OperationId, plan: proto::Plan) -> Result<(), Error> {
    let request = execute_request(session, operation_id, plan, Vec::new());
    let mut stub = session.stub();
    let reading = async {
        let mut responses = Box::pin(stub.execute_plan(session.request(request))).await?.into_inner();
        while let Some(response) = responses.next().await {
            response?;
        }
        Ok(())
    };
    let known = async {
        loop {
            tokio::time::sleep(POLL).await;
            match session.operation_state(operation_id).await {
                Ok(OperationState::Unknown) => {}
                answer => return answer,
            }
        }
    };
    let watched = async {
        tokio::select! {
            // It ended while this was still watching.
            read = reading => match read {
                Ok(()) => Ok(()),
                Err(status) => Err(classify(&status)),
            },
            state = known => match state {
                Ok(_) => Ok(()),
                Err(Input::Failed(failure)) => Err(failure),
                Err(_) => Err(Failure::Unsupported("the server is another one than before".to_owned())),
            },
        }
    };
    match tokio::time::timeout(CALL_TIMEOUT, watched).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(failure @ (Failure::Verdict(_) | Failure::Auth(_) | Failure::Unsupported(_)))) => {
            Err(session.error(WHAT, failure).await)
        }
        // Lost on the way: the plan may have come through before.
        Ok(Err(failure)) => match session.state_of(WHAT, operation_id).await {
            Ok(OperationState::Unknown) | Err(_) => Err(session.error(WHAT, failure).await),
            Ok(_) => Ok(()),
        },
        Err(_) => Err(timed_out(WHAT)),
    }
}
