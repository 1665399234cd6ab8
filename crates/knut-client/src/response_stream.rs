//! The driver of one execution: does what the machine in `execution` says.

use std::time::Duration;

use knut_proto::spark::connect as proto;
use proto::execute_plan_request::{RequestOption, request_option};
use proto::execute_plan_response::ResponseType;
use tokio::time::Instant;
use tonic::Streaming;
use uuid::Uuid;

use crate::execution::{Action, Ending, Execution, Input, Open, Retry};
use crate::session::Session;
use crate::status::classify;

/// How long a stream may stay silent before another one is opened. The server ends each by itself
/// after two minutes, so that a stream that is open longer is most likely dead.
const SILENCE: Duration = Duration::from_mins(3);
/// How long the farewell to the server may hold up the end.
const RELEASE_TIMEOUT: Duration = Duration::from_secs(5);

/// One execution's responses. Dropping it closes the stream and sends nothing: the execution goes
/// on, and the server interrupts it when nobody has been attached for five minutes.
pub(crate) struct ResponseStream {
    session: Session,
    request: proto::ExecutePlanRequest,
    operation_id: String,
    execution: Execution,
    next: Option<Action>,
    stream: Option<Streaming<proto::ExecutePlanResponse>>,
    opened_at: Instant,
    /// Whether the next response ends an outage that the caller was told of.
    is_lost: bool,
}

/// What happens next in an execution.
pub(crate) enum Step {
    /// A response came.
    Response(Box<proto::ExecutePlanResponse>),
    /// The stream broke and is opened again after the wait.
    Lost(Retry, Duration),
    /// The stream is back.
    Back,
    /// Nothing follows.
    Ended(Ending),
}

impl ResponseStream {
    pub(crate) fn new(session: Session, operation_id: Uuid, plan: proto::Plan) -> Self {
        let reattachable = proto::ReattachOptions { reattachable: true };
        let operation_id = operation_id.to_string();
        let request = proto::ExecutePlanRequest {
            session_id: session.id(),
            client_observed_server_side_session_id: session.observed(),
            user_context: Some(session.user_context()),
            operation_id: Some(operation_id.clone()),
            plan: Some(plan),
            client_type: Some(session.client_type()),
            request_options: vec![RequestOption {
                request_option: Some(request_option::RequestOption::ReattachOptions(reattachable)),
            }],
            tags: Vec::new(),
        };
        let mut execution = Execution::default();
        let next = Some(execution.start());
        Self {
            session,
            request,
            operation_id,
            execution,
            next,
            stream: None,
            opened_at: Instant::now(),
            is_lost: false,
        }
    }

    /// What happens next. After [`Step::Ended`] it is not called again.
    pub(crate) async fn next(&mut self) -> Step {
        loop {
            match self.next.take().unwrap_or(Action::Read) {
                Action::Read => {
                    let (input, response) = self.read().await;
                    self.step(input);
                    if let Some(response) = response {
                        return Step::Response(response);
                    }
                }
                Action::Open { open, wait, retry: Some(retry) } => {
                    // The wait itself comes after the caller knows of it.
                    self.next = Some(Action::Open { open, wait, retry: None });
                    self.is_lost = true;
                    return Step::Lost(retry, wait);
                }
                Action::Open { open, wait, retry: None } => {
                    self.stream = None;
                    if !wait.is_zero() {
                        tokio::time::sleep(wait).await;
                    }
                    match self.open(open).await {
                        Ok(stream) => {
                            self.stream = Some(stream);
                            self.opened_at = Instant::now();
                            if std::mem::take(&mut self.is_lost) {
                                return Step::Back;
                            }
                        }
                        Err(input) => self.step(input),
                    }
                }
                Action::End(ending) => {
                    self.stream = None;
                    return Step::Ended(self.finish(ending).await);
                }
            }
        }
    }

    fn step(&mut self, input: Input) {
        // A random number without a crate for it: a UUID has plenty.
        let jitter = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
        self.next = Some(self.execution.step(input, jitter));
    }

    async fn open(&mut self, open: Open) -> Result<Streaming<proto::ExecutePlanResponse>, Input> {
        let mut stub = self.session.stub();
        let opening = async {
            match open {
                Open::Execute => Box::pin(stub.execute_plan(self.session.request(self.request.clone()))).await,
                Open::Reattach(last_response_id) => {
                    let request = proto::ReattachExecuteRequest {
                        session_id: self.session.id(),
                        client_observed_server_side_session_id: self.session.observed(),
                        user_context: Some(self.session.user_context()),
                        operation_id: self.operation_id.clone(),
                        client_type: Some(self.session.client_type()),
                        last_response_id,
                    };
                    Box::pin(stub.reattach_execute(self.session.request(request))).await
                }
            }
        };
        match tokio::time::timeout(SILENCE, opening).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(Input::Failed(classify(&status))),
            Err(_) => Err(Input::Silence),
        }
    }

    async fn read(&mut self) -> (Input, Option<Box<proto::ExecutePlanResponse>>) {
        let end = Input::EndOfStream { open_for: self.opened_at.elapsed() };
        let Some(stream) = &mut self.stream else { return (end, None) };
        match tokio::time::timeout(SILENCE, stream.message()).await {
            Ok(Ok(Some(response))) => {
                if let Err(reason) = self.session.check(&response) {
                    return (Input::SessionLost(reason.to_owned()), None);
                }
                let is_complete = matches!(response.response_type, Some(ResponseType::ResultComplete(_)));
                let id = response.response_id.clone();
                (Input::Response { id, is_complete }, Some(Box::new(response)))
            }
            Ok(Ok(None)) => (end, None),
            Ok(Err(status)) => (Input::Failed(classify(&status)), None),
            Err(_) => (Input::Silence, None),
        }
    }

    /// Fetches what the server kept of its verdict and lets it forget the execution.
    ///
    /// Not after a loss, nor when the server only misses messages: on a live execution the release
    /// would be a kill.
    async fn finish(&self, ending: Ending) -> Ending {
        let ending = match ending {
            Ending::Verdict(error) => Ending::Verdict(self.session.complete(error).await),
            Ending::Complete => Ending::Complete,
            Ending::Forgotten(error) => return Ending::Forgotten(self.session.complete(error).await),
            Ending::Lost(_) | Ending::SessionLost(_) => return ending,
        };
        let release =
            proto::release_execute_request::Release::ReleaseAll(proto::release_execute_request::ReleaseAll {});
        let request = proto::ReleaseExecuteRequest {
            session_id: self.session.id(),
            client_observed_server_side_session_id: self.session.observed(),
            user_context: Some(self.session.user_context()),
            operation_id: self.operation_id.clone(),
            client_type: Some(self.session.client_type()),
            release: Some(release),
        };
        let mut stub = self.session.stub();
        let released =
            tokio::time::timeout(RELEASE_TIMEOUT, Box::pin(stub.release_execute(self.session.request(request)))).await;
        if !matches!(released, Ok(Ok(_))) {
            tracing::debug!(
                operation_id = self.operation_id,
                "the server did not take the release of a finished execution"
            );
        }
        ending
    }
}
