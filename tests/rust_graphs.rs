//! Graphs built in Rust, on a real Spark server: what the protocol takes and what it answers.

#![expect(clippy::unwrap_used, clippy::panic, reason = "a step that fails is a failed test")]

use std::process::Command;

use knut_client::{DefinedGraph, PipelinesClient, RunOptions};
use knut_model::{AutoCdc, CdcColumns, DataflowGraph, Dataset, Flow, Query, RefreshSelection, SourceRead};
use knut_tests::{Project, built};
use knut_viewer::{FlowStatus, RunOutcome, ViewerState};

/// One server for all: a start takes longer than the rest.
#[tokio::test]
async fn graphs_built_in_rust() {
    let mut project = Project::empty();
    project.run(&["local", "start"]).expect(0);
    let remote = project.run(&["local", "status", "--remote"]).expect(0).stdout.trim().to_owned();

    the_example_gives_the_rows_of_the_project(&mut project, &remote);
    let storage = format!("file://{}/storage", project.path().display());
    let data = format!("file://{}/data", project.path().display());
    project.write("data/a.json", "{\"id\": 1}\n{\"id\": 2}\n");
    let client = PipelinesClient::connect(&remote).await.unwrap();
    let options = RunOptions::new(storage);

    a_flow_reads_a_stream_by_a_name_of_its_own(&client, &options, &data).await;
    assert_eq!(project.rows("SELECT id FROM doubled"), [r#"{"id":2}"#, r#"{"id":4}"#]);
    tables_are_read_by_name_and_sinks_written(&client, &options).await;
    assert_eq!(project.rows("SELECT id FROM copied"), [r#"{"id":2}"#, r#"{"id":4}"#]);
    changes_are_checked_in_a_dry_run(&client, &options, &data).await;
    a_graph_runs_once(&client, &options).await;
    client.close().await.unwrap();
}

fn the_example_gives_the_rows_of_the_project(project: &mut Project, remote: &str) {
    let output = Command::new(built("rust-graph")).env("SPARK_REMOTE", remote).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    assert_eq!(
        project.rows("SELECT country, n_orders, revenue FROM rust_revenue_by_country"),
        [
            r#"{"country":"DE","n_orders":2,"revenue":16.20}"#,
            r#"{"country":"FR","n_orders":1,"revenue":35.00}"#,
            r#"{"country":"NL","n_orders":5,"revenue":161.70}"#
        ]
    );
    assert_eq!(
        project.rows("SELECT order_id FROM rust_open_orders"),
        [4, 7, 8].map(|id| format!("{{\"order_id\":{id}}}"))
    );
}

async fn run(client: &PipelinesClient, graph: &DefinedGraph, options: &RunOptions) -> ViewerState {
    client.run_updates(graph.clone(), options).to_end().await
}

/// SQL cannot stream from files, a relation with named inputs can; and the server's names are the
/// ones that events use.
async fn a_flow_reads_a_stream_by_a_name_of_its_own(client: &PipelinesClient, options: &RunOptions, data: &str) {
    let files = SourceRead::json([data]).schema("id INT").streaming();
    let graph = DataflowGraph::builder()
        .default_database("default")
        .dataset(
            Dataset::streaming_table("doubled")
                .query(Query::sql_over("SELECT id * 2 AS id FROM STREAM files", [("files", files)])),
        )
        .dataset(Dataset::materialized_view("left_out").query("SELECT 1 AS x"))
        .build()
        .unwrap();
    let defined = client.define_graph(&graph).await.unwrap();
    let names: Vec<String> = defined.flows.iter().map(|flow| flow.resolved.event_name()).collect();
    assert_eq!(names, ["spark_catalog.default.doubled", "spark_catalog.default.left_out"]);
    let refresh = vec![knut_model::Identifier::parse("doubled").unwrap()];
    let refresh = RefreshSelection::only(refresh, Vec::new()).unwrap();
    let state = run(client, &defined, &options.clone().refresh(refresh)).await;
    assert_eq!(state.outcome(), Some(&RunOutcome::Succeeded));
    let statuses: Vec<_> = state.flows().iter().map(|flow| (flow.name(), flow.status())).collect();
    assert_eq!(statuses, [(names[0].as_str(), FlowStatus::Completed), (names[1].as_str(), FlowStatus::Excluded)]);
}

/// C100: a flow into a sink bears its bare name in events.
async fn tables_are_read_by_name_and_sinks_written(client: &PipelinesClient, options: &RunOptions) {
    let doubled = |streaming| Query::Table { name: knut_model::Identifier::parse("doubled").unwrap(), streaming };
    let graph = DataflowGraph::builder()
        .dataset(Dataset::materialized_view("copied").comment("a copy").property("k", "v").query(doubled(false)))
        .dataset(Dataset::sink("out", "console").option("numRows", "5"))
        .flow(Flow::builder("to_out", "out", doubled(true)))
        .build()
        .unwrap();
    let defined = client.define_graph(&graph).await.unwrap();
    let state = run(client, &defined, options).await;
    assert_eq!(state.outcome(), Some(&RunOutcome::Succeeded));
    for flow in ["spark_catalog.default.copied", "to_out"] {
        let status = state.flow_named(flow).map(knut_viewer::FlowState::status);
        assert_eq!(status, Some(FlowStatus::Completed), "{flow}");
    }
}

/// C040: stock Spark has no format that merges, but a dry run checks the flow.
async fn changes_are_checked_in_a_dry_run(client: &PipelinesClient, options: &RunOptions, data: &str) {
    let raw = SourceRead::json([data]).schema("id INT, at INT, op STRING").streaming();
    let of = |columns: &[&str]| CdcColumns::Except(columns.iter().map(|column| (*column).to_owned()).collect());
    let graph = |changes: AutoCdc| {
        let builder = DataflowGraph::builder().dataset(Dataset::temporary_view("changes").query(raw.clone()));
        builder
            .dataset(Dataset::streaming_table("latest"))
            .flow(Flow::builder("apply", "latest", changes))
            .build()
            .unwrap()
    };
    let changes = AutoCdc::new("changes", ["id"], "at").apply_as_deletes("op = 'D'").columns(of(&["op"]));
    let dry = options.clone().dry_run(true);
    for good in [changes.clone(), changes.clone().scd_type_2(of(&["at"]))] {
        let defined = client.define_graph(&graph(good)).await.unwrap();
        assert_eq!(run(client, &defined, &dry).await.outcome(), Some(&RunOutcome::Succeeded));
    }
    let defined = client.define_graph(&graph(changes.columns(of(&["nosuch"])))).await.unwrap();
    let state = run(client, &defined, &dry).await;
    let class = state.outcome().and_then(RunOutcome::diagnostic).and_then(|diagnostic| diagnostic.error_class.clone());
    let of_flow = state.flows().iter().flat_map(knut_viewer::FlowState::failures);
    let mut of_flow = of_flow.into_iter();
    let of_flow = of_flow.find_map(|failure| failure.error.as_ref()?.error_class.clone());
    assert_eq!(class.or(of_flow).as_deref(), Some("AUTOCDC_COLUMNS_NOT_FOUND_IN_SCHEMA"), "{state:?}");
}

/// C061: the second run of a graph is refused, and so is one of a graph that nobody defined.
async fn a_graph_runs_once(client: &PipelinesClient, options: &RunOptions) {
    let graph =
        DataflowGraph::builder().dataset(Dataset::materialized_view("once").query("SELECT 1 AS x")).build().unwrap();
    let defined = client.define_graph(&graph).await.unwrap();
    let dry = options.clone().dry_run(true);
    assert_eq!(run(client, &defined, &dry).await.outcome(), Some(&RunOutcome::Succeeded));
    let state = run(client, &defined, options).await;
    let Some(RunOutcome::Failed(diagnostic)) = state.outcome() else { panic!("{:?}", state.outcome()) };
    let class = "SPARK_CONNECT_ILLEGAL_STATE.EXECUTION_STATE_EXECUTE_HOLDER_ALREADY_EXISTS_GRAPH";
    assert_eq!(diagnostic.error_class.as_deref(), Some(class));
}
