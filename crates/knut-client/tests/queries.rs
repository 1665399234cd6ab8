//! The rows of queries, from a server that plays a script.
#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::error::Error as _;
use std::sync::Arc;

use arrow_array::cast::AsArray as _;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use arrow_ipc::writer::StreamWriter;
use futures::StreamExt as _;
use knut_client::{ErrorKind, PipelinesClient, QueryUpdate};
use knut_proto::spark::connect as proto;
use knut_testkit::scripted::{End, Exchange, ScriptedServer, complete, response, spark_error};
use knut_viewer::{ConnectionChange, RunOutcome, UpdateKind};
use proto::execute_plan_response::{ArrowBatch, ResponseType};
use tonic::Status;

async fn connect(server: &ScriptedServer) -> PipelinesClient {
    PipelinesClient::connect(&format!("sc://127.0.0.1:{}", server.port())).await.unwrap()
}

async fn server(script: Vec<Exchange>) -> ScriptedServer {
    let mut all = vec![Exchange::Version(Ok("4.3.0"))];
    all.extend(script);
    ScriptedServer::start(all).await
}

/// Rows from `start` on, as the server sends them.
fn batch(values: &[i64], start: i64) -> ArrowBatch {
    let column: ArrayRef = Arc::new(Int64Array::from(values.to_vec()));
    let batch = RecordBatch::try_from_iter([("id", column)]).unwrap();
    let mut writer = StreamWriter::try_new(Vec::new(), &batch.schema()).unwrap();
    writer.write(&batch).unwrap();
    let row_count = i64::try_from(values.len()).unwrap();
    let data = writer.into_inner().unwrap();
    ArrowBatch { row_count, data, start_offset: Some(start), ..ArrowBatch::default() }
}

fn rows(id: &str, values: &[i64], start: i64) -> proto::ExecutePlanResponse {
    response(id, ResponseType::ArrowBatch(batch(values, start)))
}

fn chunk(id: &str, of: &ArrowBatch, index: i64, n: i64) -> proto::ExecutePlanResponse {
    let size = of.data.len().div_ceil(usize::try_from(n).unwrap());
    let data = of.data.chunks(size).nth(usize::try_from(index).unwrap()).unwrap().to_vec();
    let of = of.clone();
    let chunk = ArrowBatch { data, chunk_index: Some(index), num_chunks_in_batch: Some(n), ..of };
    response(id, ResponseType::ArrowBatch(chunk))
}

fn ids(batches: &[RecordBatch]) -> Vec<i64> {
    batches.iter().flat_map(|batch| batch.column(0).as_primitive::<Int64Type>().values().to_vec()).collect()
}

/// A result is whole although its stream ended gracefully between chunks, broke, and had responses
/// in it that this client does not know.
#[tokio::test]
async fn rows_come_once_each_over_streams_that_end_and_break() {
    let second = batch(&[3, 4, 5], 2);
    let server = server(vec![
        Exchange::execute(vec![rows("1", &[1, 2], 0), chunk("2", &second, 0, 3)]),
        Exchange::Execute("ReattachExecute", vec![chunk("3", &second, 1, 3)], End::Error(Status::unavailable("gone"))),
        Exchange::reattach(vec![
            proto::ExecutePlanResponse { response_id: "4".to_owned(), ..Default::default() },
            chunk("5", &second, 2, 3),
        ]),
        Exchange::reattach(vec![rows("6", &[6], 5), complete("7")]),
        Exchange::Release,
    ])
    .await;
    let updates: Vec<_> = connect(&server).await.query("SELECT 1").collect().await;
    let (mut batches, mut n_schemas, mut kinds) = (Vec::new(), 0, Vec::new());
    for update in updates {
        match update {
            QueryUpdate::Rows(batch) => batches.push(batch),
            QueryUpdate::Columns(schema) => {
                assert!(batches.is_empty() && schema.field(0).name() == "id");
                n_schemas += 1;
            }
            QueryUpdate::Update(update) => kinds.push(update.kind),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((ids(&batches), n_schemas), (vec![1, 2, 3, 4, 5, 6], 1));
    let is_whole = |kind: &UpdateKind| matches!(kind, UpdateKind::Ended(end) if end.outcome == RunOutcome::Succeeded);
    assert!(matches!(kinds.first(), Some(UpdateKind::RunStarted(_))) && kinds.last().is_some_and(is_whole));
    assert!(kinds.contains(&UpdateKind::Connection(ConnectionChange::Reattached)), "{kinds:?}");
    let received = server.finish();
    assert!(received[1].message.contains("allow_arrow_batch_chunking: true"), "{:?}", received[1]);
    let after: Vec<_> = received.iter().filter(|received| received.rpc == "ReattachExecute").collect();
    for (received, id) in after.iter().zip(["\"2\"", "\"3\"", "\"5\""]) {
        assert!(received.message.contains(&format!("last_response_id: Some({id})")), "{received:?}");
    }
}

#[tokio::test]
async fn enough_rows_end_the_query_on_the_server() {
    let more = vec![rows("1", &[1, 2], 0), rows("2", &[3, 4], 2)];
    let server = server(vec![Exchange::Execute("ExecutePlan", more, End::Never), Exchange::Release]).await;
    let rows = connect(&server).await.query("SELECT 1").collect_rows(3).await.unwrap();
    assert!(rows.is_cut);
    assert_eq!(ids(&rows.batches), [1, 2, 3]);
    assert!(server.finish().last().unwrap().message.contains("ReleaseAll"));
}

#[tokio::test]
async fn no_rows_are_a_result_too() {
    let server = server(vec![Exchange::execute(vec![rows("1", &[], 0), complete("2")]), Exchange::Release]).await;
    let rows = connect(&server).await.query("SELECT 1").collect_rows(0).await.unwrap();
    assert_eq!((rows.schema.unwrap().fields().len(), rows.batches.len(), rows.is_cut), (1, 0, false));
    server.finish();
}

/// What does not fit together is no result, and neither is one whose end did not come.
#[tokio::test]
async fn a_result_with_a_part_missing_is_an_error() {
    let three = batch(&[1, 2, 3], 0);
    let gone = spark_error("INVALID_CURSOR.POSITION_NOT_AVAILABLE", "gone", None);
    let cases = [
        (Exchange::execute(vec![rows("1", &[1], 0), rows("2", &[3], 2)]), None, "starts at row 2 where row 1"),
        (Exchange::execute(vec![chunk("1", &three, 0, 3), chunk("2", &three, 2, 3)]), None, "chunk 2 of a batch"),
        (
            Exchange::execute(vec![chunk("1", &three, 0, 3), complete("2")]),
            Some(Exchange::Release),
            "after 1 of a batch's 3 chunks",
        ),
        (Exchange::Execute("ExecutePlan", vec![rows("1", &[1], 0)], End::Error(gone)), None, "gone"),
    ];
    for (exchange, rest, why) in cases {
        let server = server([exchange].into_iter().chain(rest).collect()).await;
        let error = connect(&server).await.query("SELECT 1").collect_rows(10).await.unwrap_err();
        assert!(matches!(error.kind(), ErrorKind::Protocol | ErrorKind::Server), "{error:?}");
        assert!(error.source().unwrap().to_string().contains(why), "{error:?} is not {why}");
        server.finish();
    }
}

#[tokio::test]
async fn a_verdict_after_rows_is_an_error() {
    let divided = spark_error("DIVIDE_BY_ZERO", "[DIVIDE_BY_ZERO] Division by zero.", None);
    let broken = Exchange::Execute("ExecutePlan", vec![rows("1", &[1], 0)], End::Error(divided));
    let server = server(vec![broken, Exchange::Release]).await;
    let batches: Vec<_> = connect(&server).await.query("SELECT 1").batches().collect().await;
    assert_eq!(batches.len(), 2);
    let error = batches[1].as_ref().unwrap_err();
    assert_eq!(error.server().unwrap().error_class.as_deref(), Some("DIVIDE_BY_ZERO"));
    server.finish();
}
