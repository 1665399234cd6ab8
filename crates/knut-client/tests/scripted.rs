//! The client against a server that plays a script.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a step that fails is a failed test")]

use std::error::Error as _;

use futures::StreamExt as _;
use knut_client::{Endpoint, ErrorKind, PipelinesClient, RunOptions, UpdateStream};
use knut_model::{DataflowGraph, Dataset, SourceRead};
use knut_proto::spark::connect as proto;
use knut_testkit::proxy::Proxy;
use knut_testkit::scripted::{
    End, Exchange, Received, ScriptedServer, command_result, complete, event, response, spark_error,
};
use knut_viewer::{ConnectionChange, FlowStatus, RunOutcome, UpdateKind, ViewerState, ViewerUpdate};
use proto::execute_plan_response::ResponseType;
use proto::pipeline_command_result::{CreateDataflowGraphResult, DefineFlowResult, DefineOutputResult, ResultType};
use tonic::Status;

const VERSION: Exchange = Exchange::Version(Ok("4.3.0"));

async fn connect(server: &ScriptedServer) -> PipelinesClient {
    PipelinesClient::connect(&format!("sc://127.0.0.1:{}", server.port())).await.unwrap()
}

fn created() -> Exchange {
    let result = CreateDataflowGraphResult { dataflow_graph_id: Some("g1".to_owned()) };
    Exchange::execute(vec![command_result(Some(ResultType::CreateDataflowGraphResult(result)))])
}

fn resolved(catalog: &str, name: &str) -> proto::ResolvedIdentifier {
    let namespace = if catalog.is_empty() { vec![] } else { vec!["default".to_owned()] };
    proto::ResolvedIdentifier { catalog_name: catalog.to_owned(), namespace, table_name: name.to_owned() }
}

fn output(catalog: &str, name: &str) -> Exchange {
    let result = DefineOutputResult { resolved_identifier: Some(resolved(catalog, name)) };
    Exchange::execute(vec![command_result(Some(ResultType::DefineOutputResult(result)))])
}

fn flow(catalog: &str, name: &str) -> Exchange {
    let result = DefineFlowResult { resolved_identifier: Some(resolved(catalog, name)) };
    Exchange::execute(vec![command_result(Some(ResultType::DefineFlowResult(result)))])
}

fn graph() -> DataflowGraph {
    DataflowGraph::builder()
        .dataset(Dataset::streaming_table("t").query("SELECT * FROM STREAM v"))
        .dataset(Dataset::temporary_view("v").query(SourceRead::csv(["/d"]).schema("id INT").streaming()))
        .sql_file("a.sql", "CREATE MATERIALIZED VIEW m AS SELECT 1")
        .build()
        .unwrap()
}

/// The script of `connect` and `define_graph` for [`graph`], then `rest`.
fn defined(rest: Vec<Exchange>) -> Vec<Exchange> {
    let sql_file = Exchange::execute(vec![command_result(None)]);
    let mut script = vec![VERSION, Exchange::Config, created()];
    script.extend([output("spark_catalog", "t"), output("", "v"), flow("spark_catalog", "t"), flow("", "v"), sql_file]);
    script.extend(rest);
    script
}

async fn run(client: &PipelinesClient) -> Vec<ViewerUpdate> {
    let defined = client.define_graph(&graph()).await.unwrap();
    client.run_updates(defined, &RunOptions::new("file:///s")).collect().await
}

fn outcome(updates: &[ViewerUpdate]) -> &RunOutcome {
    let UpdateKind::Ended(end) = &updates.last().unwrap().kind else { panic!("no end") };
    &end.outcome
}

fn messages(updates: &[ViewerUpdate]) -> Vec<String> {
    let message = |update: &ViewerUpdate| match &update.kind {
        UpdateKind::Event(event) => Some(event.message.clone()),
        _ => None,
    };
    updates.iter().filter_map(message).collect()
}

fn rpcs(received: &[Received]) -> Vec<&'static str> {
    received.iter().map(|received| received.rpc).collect()
}

/// Every dataset comes before any flow: the server qualifies a view's flow that it sees too early.
#[tokio::test]
async fn a_graph_is_defined_and_run() {
    let server = ScriptedServer::start(defined(vec![
        Exchange::execute(vec![
            event("1", "Flow spark_catalog.default.t is RUNNING."),
            event("2", "Run is COMPLETED."),
            complete("3"),
        ]),
        Exchange::Release,
    ]))
    .await;
    let client = connect(&server).await;
    assert_eq!(client.spark_version(), "4.3.0");
    let updates = run(&client).await;
    assert!(updates.iter().map(|update| update.seq).eq(1..=5));
    let mut state = ViewerState::default();
    for update in updates {
        state.apply(update);
    }
    assert_eq!(state.outcome(), Some(&RunOutcome::Succeeded));
    let flows: Vec<_> = state.flows().iter().map(|flow| (flow.name(), flow.target(), flow.status())).collect();
    let table = "spark_catalog.default.t";
    assert_eq!(flows, [(table, Some(table), FlowStatus::Completed), ("v", Some("v"), FlowStatus::Defined)]);
    let received = server.finish();
    assert!(received[1].message.contains("pollingInterval"), "{:?}", received[1]);
    assert!(received.last().unwrap().message.contains("ReleaseAll"));
}

/// The server ends each stream after a while; that is no end of the run.
#[tokio::test]
async fn a_graceful_end_of_stream_is_followed_on() {
    let server = ScriptedServer::start(defined(vec![
        Exchange::execute(vec![event("1", "one")]),
        Exchange::reattach(vec![event("2", "two")]),
        Exchange::reattach(vec![]),
        Exchange::reattach(vec![event("3", "three"), complete("4")]),
        Exchange::Release,
    ]))
    .await;
    let updates = run(&connect(&server).await).await;
    assert_eq!(messages(&updates), ["one", "two", "three"]);
    assert!(matches!(outcome(&updates), RunOutcome::Succeeded));
    let received = server.finish();
    let last_ids: Vec<_> = received.iter().filter(|received| received.rpc == "ReattachExecute").collect();
    for (received, id) in last_ids.iter().zip(["\"1\"", "\"2\"", "\"2\""]) {
        assert!(received.message.contains(&format!("last_response_id: Some({id})")), "{received:?}");
    }
}

#[tokio::test]
async fn a_broken_stream_is_attached_again_and_said_to_be() {
    let server = ScriptedServer::start(defined(vec![
        Exchange::Execute("ExecutePlan", vec![event("1", "one")], End::Error(Status::unavailable("gone"))),
        Exchange::reattach(vec![event("2", "two"), complete("3")]),
        Exchange::Release,
    ]))
    .await;
    let updates = run(&connect(&server).await).await;
    assert_eq!(messages(&updates), ["one", "two"]);
    let connection: Vec<_> = updates.iter().filter(|update| matches!(update.kind, UpdateKind::Connection(_))).collect();
    assert!(matches!(connection[0].kind, UpdateKind::Connection(ConnectionChange::Lost { attempt: 1, .. })));
    assert!(matches!(connection[1].kind, UpdateKind::Connection(ConnectionChange::Reattached)));
    server.finish();
}

/// The failure of a run is an error of the stream, and its details are fetched once. Where the
/// server only lost messages or the session, the execution may still run: a release would kill it.
#[tokio::test]
async fn a_verdict_ends_the_run_with_its_details() {
    for (class, expected, is_released) in [
        ("DIVIDE_BY_ZERO", "failed", true),
        ("OPERATION_CANCELED", "cancelled", true),
        ("INVALID_HANDLE.SESSION_CLOSED", "unknown", false),
        ("INVALID_CURSOR.POSITION_NOT_AVAILABLE", "unknown", false),
    ] {
        let error = spark_error(class, "cut off", Some("e1"));
        let mut script = defined(vec![
            Exchange::Execute("ExecutePlan", vec![event("1", "one")], End::Error(error)),
            Exchange::ErrorDetails(Some("the whole message")),
        ]);
        script.extend(is_released.then_some(Exchange::Release));
        let server = ScriptedServer::start(script).await;
        let updates = run(&connect(&server).await).await;
        let outcome = outcome(&updates);
        let told = match outcome {
            RunOutcome::Failed(_) => "failed",
            RunOutcome::Cancelled(_) => "cancelled",
            RunOutcome::Unknown(_) => "unknown",
            _ => "other",
        };
        assert_eq!(told, expected, "{class}");
        let diagnostic = outcome.diagnostic().unwrap();
        assert_eq!(diagnostic.error_class.as_deref(), Some(class));
        assert_eq!(diagnostic.message, "the whole message");
        server.finish();
    }
}

/// What a proxy says for the server is no verdict, and its details may be gone.
#[tokio::test]
async fn what_spark_did_not_say_is_no_verdict() {
    let status = Status::internal("upstream unhappy");
    let server = ScriptedServer::start(defined(vec![Exchange::Execute(
        "ExecutePlan",
        vec![event("1", "one")],
        End::Error(status),
    )]))
    .await;
    let updates = run(&connect(&server).await).await;
    let RunOutcome::Unknown(diagnostic) = outcome(&updates) else { panic!("{updates:?}") };
    assert_eq!((diagnostic.message.as_str(), &diagnostic.error_class), ("upstream unhappy", &None));
    server.finish();
}

/// A connection that is cut in mid-stream, as a network cuts it: tonic reports UNKNOWN, not
/// UNAVAILABLE, and the channel has to dial again.
#[tokio::test]
async fn a_cut_connection_is_dialled_again() {
    let server = ScriptedServer::start(defined(vec![
        Exchange::Execute("ExecutePlan", vec![event("1", "one")], End::Never),
        Exchange::reattach(vec![event("2", "two"), complete("3")]),
        Exchange::Release,
    ]))
    .await;
    let proxy = Proxy::start(server.port()).await;
    let client = PipelinesClient::connect(&format!("sc://127.0.0.1:{}", proxy.port())).await.unwrap();
    let defined = client.define_graph(&graph()).await.unwrap();
    let mut stream = client.run_updates(defined, &RunOptions::new("file:///s"));
    let mut updates = Vec::new();
    while let Some(update) = stream.next().await {
        if matches!(&update.kind, UpdateKind::Event(event) if event.message == "one") {
            proxy.cut();
        }
        updates.push(update);
    }
    assert_eq!(messages(&updates), ["one", "two"]);
    assert!(matches!(outcome(&updates), RunOutcome::Succeeded));
    assert_eq!(proxy.n_connections(), 2);
    // Polled after its end, the stream stays ended.
    assert!(stream.next().await.is_none());
    server.finish();
}

/// Whoever stops looking tells the server nothing: the run goes on.
#[tokio::test]
async fn a_dropped_stream_sends_nothing() {
    let server = ScriptedServer::start(defined(vec![
        Exchange::Execute("ExecutePlan", vec![event("1", "one")], End::Never),
        Exchange::Version(Ok("4.3.0")),
    ]))
    .await;
    let client = connect(&server).await;
    let defined = client.define_graph(&graph()).await.unwrap();
    let mut stream = client.run_updates(defined, &RunOptions::new("file:///s"));
    while let Some(update) = stream.next().await {
        if matches!(update.kind, UpdateKind::Event(_)) {
            break;
        }
    }
    drop(stream);
    // Another call on another connection comes after whatever the drop would have sent.
    connect(&server).await;
    assert_eq!(rpcs(&server.finish()).last(), Some(&"AnalyzePlan"));
}

#[tokio::test]
async fn a_restarted_server_is_noticed() {
    let mut stranger = event("2", "two");
    stranger.server_side_session_id = "server-2".to_owned();
    let server = ScriptedServer::start(defined(vec![Exchange::execute(vec![event("1", "one"), stranger])])).await;
    let updates = run(&connect(&server).await).await;
    assert_eq!(messages(&updates), ["one"]);
    let RunOutcome::Unknown(diagnostic) = outcome(&updates) else { panic!("{updates:?}") };
    assert!(diagnostic.message.contains("restarted"), "{}", diagnostic.message);
    assert_eq!(diagnostic.error_class.as_deref(), Some("INVALID_HANDLE.SESSION_CHANGED"));
    server.finish();
}

/// What no viewer shows never becomes an update, and progress that repeats itself comes once.
#[tokio::test]
async fn sql_gives_progress_and_nothing_else() {
    let progress = |id: &str, n: i64| {
        let progress = proto::execute_plan_response::ExecutionProgress { stages: vec![], num_inflight_tasks: n };
        response(id, ResponseType::ExecutionProgress(progress))
    };
    let server = ScriptedServer::start(vec![
        VERSION,
        Exchange::execute(vec![
            progress("1", 1),
            progress("2", 1),
            response("3", ResponseType::ArrowBatch(proto::execute_plan_response::ArrowBatch::default())),
            progress("4", 0),
            complete("5"),
        ]),
        Exchange::Release,
        Exchange::ReleaseSession,
    ])
    .await;
    let client = connect(&server).await;
    let updates: Vec<_> = client.execute_sql("SELECT 1").collect().await;
    let kinds: Vec<_> = updates
        .iter()
        .map(|update| format!("{:?}", update.kind).split(['(', ' ']).next().unwrap().to_owned())
        .collect();
    assert_eq!(kinds, ["RunStarted", "Progress", "Progress", "Ended"]);
    client.close().await.unwrap();
    let received = server.finish();
    assert!(received[1].message.contains("Root(Relation"), "{:?}", received[1]);
}

#[tokio::test]
async fn a_definition_that_the_server_refuses_ends_it() {
    let error = spark_error("PARSE_SYNTAX_ERROR", "[PARSE_SYNTAX_ERROR] near 'x'", None);
    let server = ScriptedServer::start(vec![
        VERSION,
        Exchange::Config,
        created(),
        Exchange::Execute("ExecutePlan", vec![], End::Error(error)),
    ])
    .await;
    let error = connect(&server).await.define_graph(&graph()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Server);
    assert_eq!(error.to_string(), "cannot define the streaming table t");
    assert_eq!(error.source().unwrap().to_string(), "[PARSE_SYNTAX_ERROR] near 'x'");
    assert_eq!(error.server().unwrap().error_class.as_deref(), Some("PARSE_SYNTAX_ERROR"));
    server.finish();
}

/// A stream that was cut can end like a good one: an answer without a result is no success.
#[tokio::test]
async fn an_answer_without_a_result_is_no_success() {
    let server = ScriptedServer::start(vec![VERSION, Exchange::Config, Exchange::execute(vec![])]).await;
    let error = connect(&server).await.define_graph(&graph()).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Protocol);
    server.finish();
}

#[tokio::test]
async fn servers_without_pipelines_and_strangers_are_told_apart() {
    let connect_to = async |version| {
        let server = ScriptedServer::start(vec![Exchange::Version(version)]).await;
        let error = PipelinesClient::connect(&format!("sc://127.0.0.1:{}", server.port())).await.unwrap_err();
        server.finish();
        (error.kind(), error.source().unwrap().to_string())
    };
    let (kind, reason) = connect_to(Ok("4.0.1")).await;
    assert_eq!((kind, reason.as_str()), (ErrorKind::Unsupported, "it runs Spark 4.0.1; pipelines came with Spark 4.1"));
    assert_eq!(connect_to(Err(Status::unimplemented("what?"))).await.0, ErrorKind::Unsupported);
    assert_eq!(connect_to(Err(Status::unauthenticated("who?"))).await.0, ErrorKind::Auth);
    let nobody = PipelinesClient::connect("sc://127.0.0.1:1").await.unwrap_err();
    assert_eq!(nobody.kind(), ErrorKind::Transport);
    assert!(nobody.source().unwrap().to_string().contains("refused"), "{nobody:?}");
}

/// The token travels in one header and shows up nowhere else.
#[tokio::test]
async fn the_token_is_sent_and_not_shown() {
    let server = ScriptedServer::start(vec![VERSION, Exchange::Version(Err(Status::unauthenticated("no")))]).await;
    let endpoint = Endpoint::new("127.0.0.1", server.port()).token("SENTINEL");
    let client = PipelinesClient::connect_to(endpoint.clone()).await.unwrap();
    let error = PipelinesClient::connect_to(endpoint.clone()).await.unwrap_err();
    let shown = format!("{client:?} {error:?} {error} {} {endpoint:?} {endpoint}", error.source().unwrap());
    assert!(!shown.contains("SENTINEL"), "{shown}");
    let received = server.finish();
    assert_eq!(received[0].authorization.as_deref(), Some("Bearer SENTINEL"));
    assert!(!received[0].message.contains("SENTINEL"));
    // One that no header may hold is refused, not left out.
    let error = PipelinesClient::connect_to(Endpoint::new("127.0.0.1", 1).token("SENTINEL\n")).await.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Usage);
    assert!(!format!("{error:?}").contains("SENTINEL"));
}

#[tokio::test]
async fn an_interrupt_tells_whether_the_run_was_there() {
    for was_running in [true, false] {
        let server = ScriptedServer::start(vec![VERSION, Exchange::Interrupt(was_running)]).await;
        let client = connect(&server).await;
        let updates: UpdateStream = client.execute_sql("SELECT 1");
        assert_eq!(client.interrupt(updates.operation_id()).await.unwrap(), was_running);
        assert_eq!(rpcs(&server.finish()), ["AnalyzePlan", "Interrupt"]);
    }
}
