//! A Spark Connect server on loopback that plays a script, one answer per call in order.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use futures::StreamExt as _;
use futures::stream::BoxStream;
use knut_proto::spark::connect as proto;
use proto::execute_plan_response::ResponseType;
use proto::spark_connect_service_server::{SparkConnectService, SparkConnectServiceServer};
use tokio::net::TcpListener;
use tokio::sync::Notify;
use tokio_stream::wrappers::TcpListenerStream;
use tonic::{Code, Request, Response, Status, Streaming};
use tonic_types::{ErrorDetails, StatusExt as _};

/// The server's own session id in every answer, unless a script says otherwise.
pub const SERVER_SIDE_SESSION: &str = "server-1";

/// How a stream of responses ends.
#[derive(Debug)]
pub enum End {
    /// Without an error.
    Graceful,
    /// With this status.
    Error(Status),
    /// Not at all: it stays open.
    Never,
    /// With this status once an `Interrupt` was answered.
    OnInterrupt(Status),
}

/// One call that the script expects, and its answer.
#[derive(Debug)]
pub enum Exchange {
    /// `ExecutePlan` or `ReattachExecute`: these responses, then the end.
    Execute(&'static str, Vec<proto::ExecutePlanResponse>, End),
    /// `AnalyzePlan`: this version, or a status.
    Version(Result<&'static str, Status>),
    /// `Config`.
    Config,
    /// `ReleaseExecute`.
    Release,
    /// `Interrupt`: whether the operation was running.
    Interrupt(bool),
    /// `FetchErrorDetails`: this error's message, or nothing.
    ErrorDetails(Option<&'static str>),
    /// `ReleaseSession`.
    ReleaseSession,
}

impl Exchange {
    /// `ExecutePlan` answered by `responses` and a graceful end.
    pub fn execute(responses: Vec<proto::ExecutePlanResponse>) -> Self {
        Self::Execute("ExecutePlan", responses, End::Graceful)
    }

    /// `ReattachExecute` answered by `responses` and a graceful end.
    pub fn reattach(responses: Vec<proto::ExecutePlanResponse>) -> Self {
        Self::Execute("ReattachExecute", responses, End::Graceful)
    }

    fn rpc(&self) -> &'static str {
        match self {
            Self::Execute(rpc, ..) => rpc,
            Self::Version(_) => "AnalyzePlan",
            Self::Config => "Config",
            Self::Release => "ReleaseExecute",
            Self::Interrupt(_) => "Interrupt",
            Self::ErrorDetails(_) => "FetchErrorDetails",
            Self::ReleaseSession => "ReleaseSession",
        }
    }
}

/// A request that the server received.
#[derive(Clone, Debug)]
pub struct Received {
    /// The call's name.
    pub rpc: &'static str,
    /// The `authorization` header; `None` when there was none.
    pub authorization: Option<String>,
    /// The request as text.
    pub message: String,
}

/// A running scripted server.
#[derive(Debug)]
pub struct ScriptedServer {
    address: SocketAddr,
    play: Arc<Mutex<Play>>,
}

#[derive(Debug)]
struct Play {
    script: VecDeque<Exchange>,
    received: Vec<Received>,
    mistakes: Vec<String>,
}

impl ScriptedServer {
    /// Starts a server for `script` in the current runtime.
    pub async fn start(script: Vec<Exchange>) -> Self {
        let play = Play { script: script.into(), received: Vec::new(), mistakes: Vec::new() };
        let play = Arc::new(Mutex::new(play));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let service = SparkConnectServiceServer::new(Service { play: Arc::clone(&play), interrupted: Arc::default() });
        let server = tonic::transport::Server::builder().add_service(service);
        tokio::spawn(server.serve_with_incoming(TcpListenerStream::new(listener)));
        Self { address, play }
    }

    /// The port on 127.0.0.1.
    pub fn port(&self) -> u16 {
        self.address.port()
    }

    /// Proves that the script was used up and nothing else was asked; gives the requests.
    pub fn finish(self) -> Vec<Received> {
        let play = self.play.lock().unwrap();
        assert!(play.mistakes.is_empty(), "the client left the script: {:?}", play.mistakes);
        assert!(play.script.is_empty(), "the client did not ask for: {:?}", play.script);
        play.received.clone()
    }
}

/// A response with an id, of no session; the server fills the sessions in.
pub fn response(id: &str, response_type: ResponseType) -> proto::ExecutePlanResponse {
    proto::ExecutePlanResponse { response_id: id.to_owned(), response_type: Some(response_type), ..Default::default() }
}

/// A pipeline event.
pub fn event(id: &str, message: &str) -> proto::ExecutePlanResponse {
    let event = proto::PipelineEvent { timestamp: None, message: Some(message.to_owned()) };
    response(id, ResponseType::PipelineEventResult(proto::PipelineEventResult { event: Some(event) }))
}

/// The end of a reattachable execution.
pub fn complete(id: &str) -> proto::ExecutePlanResponse {
    response(id, ResponseType::ResultComplete(proto::execute_plan_response::ResultComplete {}))
}

/// The result of a pipeline command.
pub fn command_result(result: Option<proto::pipeline_command_result::ResultType>) -> proto::ExecutePlanResponse {
    response("r", ResponseType::PipelineCommandResult(proto::PipelineCommandResult { result_type: result }))
}

/// An error as Spark reports it, with its class.
pub fn spark_error(class: &str, message: &str, error_id: Option<&str>) -> Status {
    let mut metadata = std::collections::HashMap::from([("errorClass".to_owned(), class.to_owned())]);
    metadata.extend(error_id.map(|id| ("errorId".to_owned(), id.to_owned())));
    let details = ErrorDetails::with_error_info("org.apache.spark.SparkException", "org.apache.spark", metadata);
    Status::with_error_details(Code::Internal, message, details)
}

struct Service {
    play: Arc<Mutex<Play>>,
    interrupted: Arc<Notify>,
}

impl Service {
    /// The next answer of the script, if it is one for `rpc`.
    fn next<T: std::fmt::Debug>(&self, rpc: &'static str, request: &Request<T>) -> Result<Exchange, Status> {
        let mut play = self.play.lock().unwrap();
        let authorization = request.metadata().get("authorization").map(|value| value.to_str().unwrap().to_owned());
        play.received.push(Received { rpc, authorization, message: format!("{:?}", request.get_ref()) });
        let expected = play.script.front().map(Exchange::rpc);
        if expected == Some(rpc) {
            return Ok(play.script.pop_front().unwrap());
        }
        play.mistakes.push(format!("{rpc} instead of {expected:?}"));
        Err(Status::failed_precondition(format!("the script expects {expected:?}, not {rpc}")))
    }

    fn stream<T: std::fmt::Debug>(
        &self,
        rpc: &'static str,
        request: &Request<T>,
        session_id: &str,
    ) -> Result<Response<BoxStream<'static, Result<proto::ExecutePlanResponse, Status>>>, Status> {
        let Exchange::Execute(_, responses, end) = self.next(rpc, request)? else { panic!("no stream in {rpc}") };
        let session_id = session_id.to_owned();
        let responses = responses.into_iter().map(move |mut response| {
            response.session_id.clone_from(&session_id);
            if response.server_side_session_id.is_empty() {
                SERVER_SIDE_SESSION.clone_into(&mut response.server_side_session_id);
            }
            Ok(response)
        });
        let interrupted = Arc::clone(&self.interrupted);
        let end = futures::stream::once(async move {
            match end {
                End::Graceful => None,
                End::Error(status) => Some(Err(status)),
                End::Never => futures::future::pending().await,
                End::OnInterrupt(status) => {
                    interrupted.notified().await;
                    Some(Err(status))
                }
            }
        });
        let responses: Vec<_> = responses.collect();
        let responses = futures::stream::iter(responses).chain(end.filter_map(futures::future::ready));
        Ok(Response::new(Box::pin(responses)))
    }
}

fn no_script(rpc: &str) -> Status {
    Status::unimplemented(format!("scripts have no {rpc}"))
}

#[tonic::async_trait]
impl SparkConnectService for Service {
    type ExecutePlanStream = BoxStream<'static, Result<proto::ExecutePlanResponse, Status>>;
    type ReattachExecuteStream = Self::ExecutePlanStream;

    async fn execute_plan(
        &self,
        request: Request<proto::ExecutePlanRequest>,
    ) -> Result<Response<Self::ExecutePlanStream>, Status> {
        let session_id = request.get_ref().session_id.clone();
        self.stream("ExecutePlan", &request, &session_id)
    }

    async fn reattach_execute(
        &self,
        request: Request<proto::ReattachExecuteRequest>,
    ) -> Result<Response<Self::ReattachExecuteStream>, Status> {
        let session_id = request.get_ref().session_id.clone();
        self.stream("ReattachExecute", &request, &session_id)
    }

    async fn analyze_plan(
        &self,
        request: Request<proto::AnalyzePlanRequest>,
    ) -> Result<Response<proto::AnalyzePlanResponse>, Status> {
        let Exchange::Version(version) = self.next("AnalyzePlan", &request)? else { panic!("no version") };
        let version = proto::analyze_plan_response::SparkVersion { version: version?.to_owned() };
        Ok(Response::new(proto::AnalyzePlanResponse {
            session_id: request.into_inner().session_id,
            server_side_session_id: SERVER_SIDE_SESSION.to_owned(),
            result: Some(proto::analyze_plan_response::Result::SparkVersion(version)),
        }))
    }

    async fn config(&self, request: Request<proto::ConfigRequest>) -> Result<Response<proto::ConfigResponse>, Status> {
        self.next("Config", &request)?;
        let session_id = request.into_inner().session_id;
        Ok(Response::new(proto::ConfigResponse { session_id, ..Default::default() }))
    }

    async fn interrupt(
        &self,
        request: Request<proto::InterruptRequest>,
    ) -> Result<Response<proto::InterruptResponse>, Status> {
        let Exchange::Interrupt(was_running) = self.next("Interrupt", &request)? else { panic!("no interrupt") };
        self.interrupted.notify_one();
        let request = request.into_inner();
        let interrupted_ids = match request.interrupt {
            Some(proto::interrupt_request::Interrupt::OperationId(id)) if was_running => vec![id],
            _ => Vec::new(),
        };
        let session_id = request.session_id;
        Ok(Response::new(proto::InterruptResponse { session_id, interrupted_ids, ..Default::default() }))
    }

    async fn release_execute(
        &self,
        request: Request<proto::ReleaseExecuteRequest>,
    ) -> Result<Response<proto::ReleaseExecuteResponse>, Status> {
        self.next("ReleaseExecute", &request)?;
        let session_id = request.into_inner().session_id;
        Ok(Response::new(proto::ReleaseExecuteResponse { session_id, ..Default::default() }))
    }

    async fn release_session(
        &self,
        request: Request<proto::ReleaseSessionRequest>,
    ) -> Result<Response<proto::ReleaseSessionResponse>, Status> {
        self.next("ReleaseSession", &request)?;
        let session_id = request.into_inner().session_id;
        Ok(Response::new(proto::ReleaseSessionResponse { session_id, ..Default::default() }))
    }

    async fn fetch_error_details(
        &self,
        request: Request<proto::FetchErrorDetailsRequest>,
    ) -> Result<Response<proto::FetchErrorDetailsResponse>, Status> {
        let Exchange::ErrorDetails(message) = self.next("FetchErrorDetails", &request)? else { panic!("no details") };
        let error = |message: &str| proto::fetch_error_details_response::Error {
            message: message.to_owned(),
            ..Default::default()
        };
        Ok(Response::new(proto::FetchErrorDetailsResponse {
            session_id: request.into_inner().session_id,
            root_error_idx: message.map(|_| 0),
            errors: message.into_iter().map(error).collect(),
            ..Default::default()
        }))
    }

    async fn add_artifacts(
        &self,
        _: Request<Streaming<proto::AddArtifactsRequest>>,
    ) -> Result<Response<proto::AddArtifactsResponse>, Status> {
        Err(no_script("AddArtifacts"))
    }

    async fn artifact_status(
        &self,
        _: Request<proto::ArtifactStatusesRequest>,
    ) -> Result<Response<proto::ArtifactStatusesResponse>, Status> {
        Err(no_script("ArtifactStatus"))
    }

    async fn clone_session(
        &self,
        _: Request<proto::CloneSessionRequest>,
    ) -> Result<Response<proto::CloneSessionResponse>, Status> {
        Err(no_script("CloneSession"))
    }

    async fn get_status(
        &self,
        _: Request<proto::GetStatusRequest>,
    ) -> Result<Response<proto::GetStatusResponse>, Status> {
        Err(no_script("GetStatus"))
    }
}
