//! The driver of one execution: does what the machine in `execution` says.

use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::FuturesUnordered;
use futures::{FutureExt as _, StreamExt as _};
use knut_proto::spark::connect as proto;
use prost::Message as _;
use proto::execute_plan_request::{RequestOption, request_option};
use proto::execute_plan_response::ResponseType;
use tokio::time::Instant;
use tonic::{Status, Streaming};
use uuid::Uuid;

use crate::calls;
use crate::execution::{Action, Begin, Course, Ending, Execution, Input, Kind, Retry, Then};
use crate::operation::OperationId;
use crate::release::Releaser;
use crate::session::Session;
use crate::status::{Failure, TransportFailure, classify};

/// How long the server may take to say what it knows of an operation.
const STATUS_TIMEOUT: Duration = Duration::from_secs(30);
/// After what time without any call of ours the session is shown to be in use. The server forgets a
/// session that is idle for an hour, and a stream that is open for longer is no call to it.
const KEEP_ALIVE: Duration = Duration::from_mins(10);

/// One execution's responses. Dropping it closes the stream and sends nothing: the execution goes
/// on, and the server interrupts it when nobody has been attached for five minutes.
pub(crate) struct ResponseStream {
    session: Session,
    /// What is sent, made once: the server compares a plan sent again by its bytes.
    request: Option<proto::ExecutePlanRequest>,
    operation_id: OperationId,
    silence: Duration,
    execution: Execution,
    next: Option<Action>,
    stream: Option<Streaming<proto::ExecutePlanResponse>>,
    opened_at: Instant,
    /// When the server last got a call in this session.
    called_at: Instant,
    /// Whether the next response ends an outage that the caller was told of.
    is_lost: bool,
    has_told_polling: bool,
    /// Tells the server what it need not keep; `None` keeps everything until the end.
    releaser: Option<Releaser>,
    /// Calls that nothing waits for. They end with the stream.
    aside: FuturesUnordered<BoxFuture<'static, Aside>>,
    consumed: LastResponse,
}

/// A call that nothing waits for.
enum Aside {
    Release,
    SignOfLife,
}

/// The id of the last response that the caller took, shared with whoever wants to continue later.
#[derive(Clone, Debug, Default)]
pub(crate) struct LastResponse(Arc<Mutex<Option<String>>>);

impl LastResponse {
    pub(crate) fn new(id: Option<String>) -> Self {
        Self(Arc::new(Mutex::new(id)))
    }

    pub(crate) fn get(&self) -> Option<String> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn set(&self, id: String) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(id);
    }
}

/// What happens next in an execution.
pub(crate) enum Step {
    /// A response came.
    Response(Box<proto::ExecutePlanResponse>),
    /// The stream broke and is opened again after the wait.
    Lost(Retry, Duration),
    /// The stream is back.
    Back,
    /// The operation goes on, but no more of its messages can be had.
    StatusOnly,
    /// Nothing follows.
    Ended(Ending),
}

impl ResponseStream {
    /// Sends `plan` and follows it.
    pub(crate) fn execute(session: Session, operation_id: OperationId, plan: proto::Plan, course: Course) -> Self {
        let reattachable = proto::ReattachOptions { reattachable: true };
        let mut options = vec![request_option::RequestOption::ReattachOptions(reattachable)];
        if course.kind == Kind::Rows {
            // A batch with large rows in it may be larger than a message may be.
            let chunking = proto::ResultChunkingOptions { allow_arrow_batch_chunking: true, ..Default::default() };
            options.push(request_option::RequestOption::ResultChunkingOptions(chunking));
        }
        let options = options.into_iter().map(|option| RequestOption { request_option: Some(option) }).collect();
        let request = calls::execute_request(&session, operation_id, plan, options);
        // Of rows much may pile up; the few messages of a run are kept for who attaches later.
        let releaser = (course.kind == Kind::Rows).then(Releaser::default);
        Self::begin(session, operation_id, Some(request), course, Begin::Execute, releaser)
    }

    /// Follows an execution that another client has begun.
    pub(crate) fn follow(session: Session, operation_id: OperationId, course: Course, begin: Begin) -> Self {
        Self::begin(session, operation_id, None, course, begin, None)
    }

    fn begin(
        session: Session,
        operation_id: OperationId,
        request: Option<proto::ExecutePlanRequest>,
        course: Course,
        begin: Begin,
        releaser: Option<Releaser>,
    ) -> Self {
        let consumed = match &begin {
            Begin::Attach(after) => LastResponse::new(after.clone()),
            Begin::Execute | Begin::Poll => LastResponse::default(),
        };
        let silence = course.retry.silence;
        let (execution, next) = Execution::begin(course, begin);
        Self {
            session,
            request,
            operation_id,
            silence,
            execution,
            next: Some(next),
            stream: None,
            opened_at: Instant::now(),
            called_at: Instant::now(),
            is_lost: false,
            has_told_polling: false,
            releaser,
            aside: FuturesUnordered::new(),
            consumed,
        }
    }

    /// The last response that the caller took.
    pub(crate) fn consumed(&self) -> LastResponse {
        self.consumed.clone()
    }

    /// What happens next. After [`Step::Ended`] it is not called again.
    ///
    /// A call that is dropped before it is done loses nothing: the next one goes on where it was.
    pub(crate) async fn next(&mut self) -> Step {
        loop {
            match self.next.clone().unwrap_or(Action::Read) {
                Action::Read => {
                    let (input, response) = self.read().await;
                    self.step(input);
                    if let Some(response) = response {
                        if let Some(releaser) = &mut self.releaser {
                            releaser.give(&response.response_id, response.encoded_len(), Instant::now());
                        }
                        self.consumed.set(response.response_id.clone());
                        return Step::Response(response);
                    }
                }
                Action::After { wait, retry: Some(retry), then } => {
                    // The wait itself comes after the caller knows of it.
                    self.next = Some(Action::After { wait, retry: None, then });
                    self.is_lost = true;
                    return Step::Lost(retry, wait);
                }
                Action::After { wait, retry: None, then } => {
                    self.stream = None;
                    if self.execution.is_polling() && !std::mem::replace(&mut self.has_told_polling, true) {
                        return Step::StatusOnly;
                    }
                    if !wait.is_zero() {
                        tokio::time::sleep(wait).await;
                        // Not waited for again should the call below be dropped.
                        self.next = Some(Action::After { wait: Duration::ZERO, retry: None, then: then.clone() });
                    }
                    if self.carry_out(then).await && std::mem::take(&mut self.is_lost) {
                        return if self.execution.is_polling() { Step::StatusOnly } else { Step::Back };
                    }
                }
                Action::End(ending) => {
                    self.stream = None;
                    return Step::Ended(self.finish(ending).await);
                }
            }
        }
    }

    /// Does it, and tells whether the server is there (again).
    async fn carry_out(&mut self, then: Then) -> bool {
        self.called_at = Instant::now();
        if then == Then::AskStatus {
            let asked = tokio::time::timeout(STATUS_TIMEOUT, self.session.operation_state(self.operation_id));
            let input = match asked.await {
                Ok(Ok(state)) => Input::Status(state),
                Ok(Err(input)) => input,
                Err(_) => Input::Silence,
            };
            let is_there = matches!(input, Input::Status(_));
            self.step(input);
            return is_there;
        }
        // From before the call: the server sends headers only with its first response, so that a
        // silent stream is open for long before it seems to be.
        self.opened_at = Instant::now();
        match self.open(then).await {
            Ok(stream) => {
                self.stream = Some(stream);
                self.next = Some(Action::Read);
                true
            }
            Err(input) => {
                self.step(input);
                false
            }
        }
    }

    fn step(&mut self, input: Input) {
        // A random number without a crate for it: a UUID has plenty.
        let jitter = f64::from(Uuid::new_v4().as_fields().0) / f64::from(u32::MAX);
        self.next = Some(self.execution.step(input, jitter));
    }

    /// Opens a stream: with the plan, or after a response.
    async fn open(&mut self, then: Then) -> Result<Streaming<proto::ExecutePlanResponse>, Input> {
        let mut stub = self.session.stub();
        let opening = async {
            match (then, &self.request) {
                (Then::Execute, Some(request)) => {
                    Box::pin(stub.execute_plan(self.session.request(request.clone()))).await
                }
                (then, _) => {
                    let Then::Reattach(after) = then else { return Err(Status::internal("there is no plan")) };
                    let request = calls::reattach_request(&self.session, self.operation_id, after);
                    Box::pin(stub.reattach_execute(self.session.request(request))).await
                }
            }
        };
        match tokio::time::timeout(self.silence, opening).await {
            Ok(Ok(response)) => Ok(response.into_inner()),
            Ok(Err(status)) => Err(Input::Failed(classify(&status))),
            Err(_) => Err(Input::Silence),
        }
    }

    /// The next response. Meanwhile the server is told what it need not keep, and now and then that
    /// the session is in use.
    async fn read(&mut self) -> (Input, Option<Box<proto::ExecutePlanResponse>>) {
        match self.message().await {
            Some(Ok(Some(response))) => {
                if let Err(reason) = self.session.check(&response) {
                    return (Input::SessionLost(reason.to_owned()), None);
                }
                if !self.operation_id.is_meant(&response.operation_id) {
                    let reason = "the server sent a response of another operation".to_owned();
                    let failure = TransportFailure { is_retryable: false, ..TransportFailure::new(reason) };
                    return (Input::Failed(Failure::Transport(failure)), None);
                }
                let is_complete = matches!(response.response_type, Some(ResponseType::ResultComplete(_)));
                let id = response.response_id.clone();
                (Input::Response { id, is_complete }, Some(Box::new(response)))
            }
            Some(Ok(None)) => (Input::EndOfStream { open_for: self.opened_at.elapsed() }, None),
            Some(Err(status)) => (Input::Failed(classify(&status)), None),
            None => (Input::Silence, None),
        }
    }

    /// The stream's next message; `None` after a silence.
    async fn message(&mut self) -> Option<Result<Option<proto::ExecutePlanResponse>, Status>> {
        let Some(stream) = &mut self.stream else { return Some(Ok(None)) };
        let now = Instant::now();
        let is_release_due = self.releaser.as_ref().and_then(Releaser::due_at).is_some_and(|due| due <= now);
        let has_errands = is_release_due || !self.aside.is_empty() || self.called_at + KEEP_ALIVE <= now;
        // Most often there is one, and then no timer is needed.
        if !has_errands && let Some(message) = stream.message().now_or_never() {
            return Some(message);
        }
        let silence = tokio::time::sleep(self.silence);
        tokio::pin!(silence);
        loop {
            let now = Instant::now();
            if let Some(releaser) = &mut self.releaser {
                releaser.consume(now);
                if let Some(id) = releaser.take_due(now) {
                    let (session, operation_id) = (self.session.clone(), self.operation_id);
                    let release = async move { session.release_until(operation_id, id).await };
                    self.aside.push(release.map(|()| Aside::Release).boxed());
                }
            }
            let sign_of_life_at = self.called_at + KEEP_ALIVE;
            if sign_of_life_at <= now {
                self.called_at = now;
                let session = self.session.clone();
                self.aside.push(async move { session.show_use().await }.map(|()| Aside::SignOfLife).boxed());
            }
            let due_at = self.releaser.as_ref().and_then(Releaser::due_at).unwrap_or(sign_of_life_at);
            tokio::select! {
                message = stream.message() => return Some(message),
                () = &mut silence => return None,
                () = tokio::time::sleep_until(due_at.min(sign_of_life_at)) => {}
                Some(done) = self.aside.next() => {
                    if let (Aside::Release, Some(releaser)) = (done, &mut self.releaser) {
                        releaser.done();
                    }
                }
            }
        }
    }

    /// Fetches what the server kept of its verdict and lets it forget the execution.
    ///
    /// Not after a loss, nor when the server only misses messages: on a live execution the release
    /// would be a kill.
    async fn finish(&mut self, ending: Ending) -> Ending {
        let ending = match ending {
            Ending::Verdict(error) => Ending::Verdict(self.session.complete(error).await),
            Ending::Complete => Ending::Complete,
            Ending::Forgotten(error) => return Ending::Forgotten(self.session.complete(error).await),
            Ending::Status(..) | Ending::Preempted | Ending::Lost(_) | Ending::SessionLost(_) => return ending,
        };
        self.session.release_all(self.operation_id).await;
        ending
    }
}
