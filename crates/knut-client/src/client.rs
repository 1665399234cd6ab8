//! The client itself: what can be asked of a server.

use std::collections::BTreeMap;
use std::time::Duration;

use knut_model::DataflowGraph;
use knut_proto::spark::connect as proto;
use knut_viewer::{RunStarted, UpdateKind};
use proto::config_request::operation::OpType;

use crate::calls::version_request;
use crate::capabilities::Capabilities;
use crate::execution::{Begin, Course, Kind};
use crate::handle::NewRun;
use crate::response_stream::ResponseStream;
use crate::session::Session;
use crate::{
    DefinedGraph, Endpoint, Error, ErrorKind, OperationId, OperationState, RetryPolicy, RunHandle, RunMode, RunOptions,
    UpdateStream, define, detached, to_proto,
};

/// How often the server's run loop looks for flows to start. Its default of one second costs a
/// chain of flows a second per level (Observed: Spark 4.3.0).
const POLLING_INTERVAL: (&str, &str) = ("spark.sql.pipelines.execution.streamstate.pollingInterval", "100ms");

/// How long a server may take for its first answer, which tells no more than its version.
const FIRST_ANSWER: Duration = Duration::from_secs(30);

/// A client of one Spark Connect session. Clones share the session. It needs a tokio runtime.
///
/// Dropping it closes the connection only: the server forgets an idle session after an hour, or at
/// once after [`close`](Self::close).
#[derive(Clone)]
pub struct PipelinesClient {
    session: Session,
    spark_version: String,
    retry: RetryPolicy,
}

impl PipelinesClient {
    /// Connects to `sc://host:port/;…` and asks for the server's version.
    ///
    /// # Errors
    /// [`Usage`](ErrorKind::Usage) for a bad connection string, [`Transport`](ErrorKind::Transport)
    /// or [`Timeout`](ErrorKind::Timeout) when nobody answers, [`Auth`](ErrorKind::Auth), and
    /// [`Unsupported`](ErrorKind::Unsupported) when what answers has no pipelines.
    pub async fn connect(url: &str) -> Result<Self, Error> {
        Self::connect_to(Endpoint::parse(url)?).await
    }

    /// Connects to an endpoint.
    ///
    /// # Errors
    /// As [`connect`](Self::connect).
    pub async fn connect_to(endpoint: Endpoint) -> Result<Self, Error> {
        Self::in_session(Session::connect(endpoint).await?).await
    }

    /// Connects to the session of a run that another client, also of another process, has begun.
    /// `endpoint` is [`RunHandle::endpoint`] with the token, or any other way to the same server;
    /// the user and the session are the handle's.
    ///
    /// # Errors
    /// As [`connect`](Self::connect), and an error with [`is_session_lost`](Error::is_session_lost) when
    /// the server has forgotten the session, or was restarted: nothing more can be learnt of the run.
    pub async fn resume(mut endpoint: Endpoint, handle: &RunHandle) -> Result<Self, Error> {
        endpoint.session_id = Some(handle.session_id);
        endpoint.user_id.clone_from(&handle.user_id);
        let session = Session::connect(endpoint).await?;
        if let Some(id) = &handle.server_side_session_id {
            session.expect(id);
        }
        Self::in_session(session).await
    }

    async fn in_session(session: Session) -> Result<Self, Error> {
        let what = format!("{} does not answer as a Spark Connect server", session.endpoint());
        let request = version_request(&session);
        let mut stub = session.stub();
        let call = session.call(&what, Box::pin(stub.analyze_plan(session.request(request))));
        let answer = match tokio::time::timeout(FIRST_ANSWER, call).await {
            Ok(Ok(answer)) => answer,
            // It did answer: it did not let this client in, or it has troubles of its own.
            Ok(Err(error)) if matches!(error.kind(), ErrorKind::Auth | ErrorKind::Server) => {
                return Err(error.told_as(format!("cannot use {}", session.endpoint())));
            }
            Ok(Err(error)) => return Err(error),
            Err(_) => {
                let reason = format!("no answer within {} s", FIRST_ANSWER.as_secs());
                return Err(Error::new(ErrorKind::Timeout, what).because(reason));
            }
        };
        let spark_version = match answer.result {
            Some(proto::analyze_plan_response::Result::SparkVersion(version)) => version.version,
            _ => return Err(Error::new(ErrorKind::Protocol, what).because("its answer has no version")),
        };
        if !Capabilities::of_version(&spark_version).has_pipelines() {
            let what = format!("{} cannot run pipelines", session.endpoint());
            let reason = format!("it runs Spark {spark_version}; pipelines came with Spark 4.1");
            return Err(Error::new(ErrorKind::Unsupported, what).because(reason));
        }
        Ok(Self { session, spark_version, retry: RetryPolicy::default() })
    }

    /// Says when to try again after the connection broke.
    #[must_use]
    pub fn with_retry_policy(mut self, retry: RetryPolicy) -> Self {
        self.retry = retry;
        self
    }

    /// The server's Spark version, such as `4.3.0`.
    pub fn spark_version(&self) -> &str {
        &self.spark_version
    }

    /// Where the server is; it shows as `host:port`.
    pub fn endpoint(&self) -> &Endpoint {
        self.session.endpoint()
    }

    /// Sets confs of the session. Confs that the server does not let a session set are left as they
    /// are, as the reference does; what it says of them comes back, one text each.
    ///
    /// # Errors
    /// [`Transport`](ErrorKind::Transport), [`Timeout`](ErrorKind::Timeout), or
    /// [`Server`](ErrorKind::Server) for an invalid value.
    pub async fn set_confs(&self, confs: &BTreeMap<String, String>) -> Result<Vec<String>, Error> {
        let pair = |(key, value): (&String, &String)| proto::KeyValue { key: key.clone(), value: Some(value.clone()) };
        let set = proto::config_request::Set { pairs: confs.iter().map(pair).collect(), silent: Some(true) };
        let request = proto::ConfigRequest {
            session_id: self.session.id(),
            client_observed_server_side_session_id: self.session.observed(),
            user_context: Some(self.session.user_context()),
            operation: Some(proto::config_request::Operation { op_type: Some(OpType::Set(set)) }),
            client_type: Some(self.session.client_type()),
        };
        let mut stub = self.session.stub();
        let call = Box::pin(stub.config(self.session.request(request)));
        Ok(self.session.call("cannot set the session's confs", call).await?.warnings)
    }

    /// Registers a graph. Its confs become the session's too, as the reference does, so that a
    /// session is best used for one graph. Unless they say otherwise, the session's runs look for
    /// flows to start every 100 ms instead of every second.
    ///
    /// Dropping the future leaves a graph half defined; it is never run.
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) for what came with a later Spark, before anything is
    /// sent; [`Server`](ErrorKind::Server) for the first definition that the server refuses; and
    /// as any call [`Transport`](ErrorKind::Transport), [`Timeout`](ErrorKind::Timeout),
    /// [`Auth`](ErrorKind::Auth) or [`Protocol`](ErrorKind::Protocol).
    pub async fn define_graph(&self, graph: &DataflowGraph) -> Result<DefinedGraph, Error> {
        if let Some(reason) = self.capabilities().refusal_of(graph) {
            let what = format!("Spark {} on {} cannot run this graph", self.spark_version, self.endpoint());
            return Err(Error::new(ErrorKind::Unsupported, what).because(reason));
        }
        let (key, value) = POLLING_INTERVAL;
        let mut confs = BTreeMap::from([(key.to_owned(), value.to_owned())]);
        confs.extend(graph.sql_conf().clone());
        let warnings = self.set_confs(&confs).await?;
        let defined = define::define_graph(&self.session, graph).await?;
        Ok(DefinedGraph { warnings, ..defined })
    }

    /// Runs a graph that this client, or a clone of it, has defined. The server runs each graph once,
    /// also if that was a dry run or failed, so the graph is used up.
    #[expect(clippy::needless_pass_by_value, reason = "the graph is used up")]
    pub fn run_updates(&self, graph: DefinedGraph, options: &RunOptions) -> UpdateStream {
        let plan = to_proto::pipeline_plan(to_proto::start_run(&graph.id, options));
        let course = Course { kind: Kind::Run, ..self.course() };
        self.updates(plan, vec![UpdateKind::GraphDefined(graph.update())], options.dry_run, course)
    }

    /// Runs a graph that this client, or a clone of it, has defined, and leaves it to itself: it goes
    /// on whatever becomes of its client. Its events are lost; [`attach`](Self::attach) tells how it
    /// ended, also from another process. The graph is used up.
    ///
    /// Comes back once the server surely has it. Dropping the future before leaves that open.
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) before Spark 4.2, which cannot be asked how a run
    /// ended; [`Server`](ErrorKind::Server) if it failed at once; and as any call. When
    /// [`is_retryable`](Error::is_retryable), it may run all the same.
    pub async fn start_detached(&self, graph: DefinedGraph, options: &RunOptions) -> Result<RunHandle, Error> {
        if !self.capabilities().has_status() {
            let what = format!("Spark {} on {} cannot run this graph detached", self.spark_version, self.endpoint());
            let reason = "it could not be asked how the run ended, which came with Spark 4.2";
            return Err(Error::new(ErrorKind::Unsupported, what).because(reason));
        }
        let plan = to_proto::pipeline_plan(to_proto::start_run(&graph.id, options));
        let handle = self.handle(OperationId::new(), RunMode::Detached, options.dry_run, &plan);
        detached::start(&self.session, handle.operation_id, plan).await?;
        Ok(handle)
    }

    /// Follows a run of this client's session that any client has begun: one that
    /// [`resume`](Self::resume) has connected to, or an own one. Its messages are told from those
    /// after the handle's last response on; of a detached run, and of one whose messages the server
    /// no longer has, only the end is told.
    ///
    /// The server serves one client of a run at a time: whoever followed it before is told that
    /// another one attached, and stops.
    pub fn attach(&self, handle: &RunHandle) -> UpdateStream {
        let begin = match handle.mode {
            RunMode::Attached => Begin::Attach(handle.last_response_id.clone()),
            RunMode::Detached => Begin::Poll,
        };
        let course = Course { kind: Kind::Run, ..self.course() };
        let responses = ResponseStream::follow(self.session.clone(), handle.operation_id, course, begin);
        let started = self.started(handle);
        UpdateStream::new(self.session.clone(), handle.clone(), responses, vec![UpdateKind::RunStarted(started)])
    }

    /// What the server says of an operation of this session, without following it.
    ///
    /// # Errors
    /// [`Unsupported`](ErrorKind::Unsupported) before Spark 4.2, and as any call.
    pub async fn operation_state(&self, operation_id: OperationId) -> Result<OperationState, Error> {
        let what = "cannot ask for the state of the run";
        if !self.capabilities().has_status() {
            let reason = format!("{} runs Spark {}; it came with Spark 4.2", self.endpoint(), self.spark_version);
            return Err(Error::new(ErrorKind::Unsupported, what).because(reason));
        }
        self.session.state_of(what, operation_id).await
    }

    /// Executes a SQL statement and follows its progress; its rows are not fetched.
    ///
    /// Any Spark job can be watched this way: no graph is needed.
    pub fn execute_sql(&self, sql: &str) -> UpdateStream {
        self.updates(to_proto::sql_plan(sql), Vec::new(), false, self.course())
    }

    /// Executes a SQL statement and gives its rows as they come. A statement that is a command, such
    /// as `CREATE TABLE`, is executed once and gives no columns.
    #[cfg(feature = "arrow")]
    pub fn query(&self, sql: &str) -> crate::QueryStream {
        let plan = to_proto::sql_plan(sql);
        let handle = self.handle(OperationId::new(), RunMode::Attached, false, &plan);
        let started = UpdateKind::RunStarted(self.started(&handle));
        let course = Course { kind: Kind::Rows, ..self.course() };
        let responses = ResponseStream::execute(self.session.clone(), handle.operation_id, plan, course);
        crate::QueryStream::new(self.session.clone(), handle.operation_id, responses, started)
    }

    /// Asks the server to cancel an execution and tells whether it was running.
    ///
    /// Spark stops no flow in mid-run: flows that are running go on and commit, later ones do not start.
    ///
    /// # Errors
    /// [`Transport`](ErrorKind::Transport), [`Timeout`](ErrorKind::Timeout),
    /// [`Auth`](ErrorKind::Auth), [`Server`](ErrorKind::Server) or [`Protocol`](ErrorKind::Protocol).
    pub async fn interrupt(&self, operation_id: OperationId) -> Result<bool, Error> {
        let operation_id = operation_id.to_string();
        let request = proto::InterruptRequest {
            session_id: self.session.id(),
            client_observed_server_side_session_id: self.session.observed(),
            user_context: Some(self.session.user_context()),
            client_type: Some(self.session.client_type()),
            interrupt_type: proto::interrupt_request::InterruptType::OperationId.into(),
            interrupt: Some(proto::interrupt_request::Interrupt::OperationId(operation_id.clone())),
        };
        let mut stub = self.session.stub();
        let call = Box::pin(stub.interrupt(self.session.request(request)));
        let answer = self.session.call("cannot cancel the run", call).await?;
        Ok(answer.interrupted_ids.contains(&operation_id))
    }

    /// Ends the session on the server. While a run goes on the server answers only after its end.
    ///
    /// # Errors
    /// As any call; the session ends all the same unless the connection is lost.
    pub async fn close(self) -> Result<(), Error> {
        let request = proto::ReleaseSessionRequest {
            session_id: self.session.id(),
            user_context: Some(self.session.user_context()),
            client_type: Some(self.session.client_type()),
            allow_reconnect: false,
        };
        let mut stub = self.session.stub();
        let call = Box::pin(stub.release_session(self.session.request(request)));
        self.session.call("cannot end the session", call).await.map(|_| ())
    }

    fn capabilities(&self) -> Capabilities {
        Capabilities::of_version(&self.spark_version)
    }

    /// An execution that stands for itself.
    fn course(&self) -> Course {
        Course { has_status: self.capabilities().has_status(), retry: self.retry.clone(), ..Course::default() }
    }

    fn handle(&self, operation_id: OperationId, mode: RunMode, dry_run: bool, plan: &proto::Plan) -> RunHandle {
        RunHandle::new(NewRun {
            endpoint: self.session.endpoint(),
            session_id: self.session.uuid(),
            server_side_session_id: self.session.observed(),
            operation_id,
            mode,
            dry_run,
            plan,
            spark_version: &self.spark_version,
        })
    }

    fn started(&self, handle: &RunHandle) -> RunStarted {
        RunStarted {
            server: self.session.endpoint().to_string(),
            spark_version: Some(self.spark_version.clone()),
            operation_id: handle.operation_id.to_string(),
            dry_run: handle.dry_run,
        }
    }

    fn updates(&self, plan: proto::Plan, mut before: Vec<UpdateKind>, dry_run: bool, course: Course) -> UpdateStream {
        let handle = self.handle(OperationId::new(), RunMode::Attached, dry_run, &plan);
        before.push(UpdateKind::RunStarted(self.started(&handle)));
        let responses = ResponseStream::execute(self.session.clone(), handle.operation_id, plan, course);
        UpdateStream::new(self.session.clone(), handle, responses, before)
    }
}

impl std::fmt::Debug for PipelinesClient {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let mut debug = f.debug_struct("PipelinesClient");
        debug.field("server", &self.session.endpoint().to_string()).field("spark_version", &self.spark_version);
        debug.finish_non_exhaustive()
    }
}
