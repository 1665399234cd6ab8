//! The generated messages against bytes that the reference implementation wrote: the Python classes of the
//! package `pyspark` 4.3.0, serialized with `SerializeToString(deterministic=True)`.

use std::collections::BTreeMap;
use std::fmt::Debug;

use knut_proto::spark::connect as proto;
use prost::Message;
use proto::execute_plan_request::{RequestOption, request_option};
use proto::pipeline_command::{CommandType, CreateDataflowGraph, DefineFlow, define_flow};

/// Checks that `message` is what the reference bytes (in hexadecimal) say.
fn check_read<M: Message + Default + PartialEq + Debug>(message: &M, reference: &str) {
    let bytes = from_hex(reference);
    assert_eq!(M::decode(bytes.as_slice()).as_ref(), Ok(message));
}

/// Checks that `message` is also written as those bytes. A message in which a oneof has fields on both sides of
/// another field's number may be written in another order, which means the same.
fn check_written_and_read<M: Message + Default + PartialEq + Debug>(message: &M, reference: &str) {
    assert_eq!(message.encode_to_vec(), from_hex(reference));
    check_read(message, reference);
}

fn from_hex(text: &str) -> Vec<u8> {
    let pairs = text.as_bytes().chunks(2).map(String::from_utf8_lossy);
    let bytes = pairs.map(|pair| u8::from_str_radix(&pair, 16));
    let bytes = bytes.collect::<Result<_, _>>();
    assert!(bytes.is_ok(), "{text} is not hexadecimal");
    bytes.unwrap_or_default()
}

#[test]
fn a_request_with_a_map_has_its_entries_in_order() {
    // In an order that neither the map nor the reference has.
    let sql_conf = [("b", "2"), ("a", "1"), ("c", "3")];
    let command = proto::PipelineCommand {
        command_type: Some(CommandType::CreateDataflowGraph(CreateDataflowGraph {
            default_catalog: Some("spark_catalog".to_owned()),
            default_database: Some("default".to_owned()),
            sql_conf: BTreeMap::from(sql_conf.map(|(key, value)| (key.to_owned(), value.to_owned()))),
        })),
    };
    let command = proto::Command { command_type: Some(proto::command::CommandType::PipelineCommand(command)) };
    let request = proto::ExecutePlanRequest {
        session_id: "s-1".to_owned(),
        user_context: Some(proto::UserContext { user_id: "u".to_owned(), ..Default::default() }),
        operation_id: Some("op".to_owned()),
        client_type: Some("knut".to_owned()),
        plan: Some(proto::Plan { op_type: Some(proto::plan::OpType::Command(command)) }),
        request_options: vec![RequestOption {
            request_option: Some(request_option::RequestOption::ReattachOptions(proto::ReattachOptions {
                reattachable: true,
            })),
        }],
        ..Default::default()
    };
    check_written_and_read(
        &request,
        "0a03732d3112030a01751a3712359a01320a300a0d737061726b5f636174616c6f67120764656661756c742a060a016112013\
         12a060a01621201322a060a016312013322046b6e75742a040a02080132026f70",
    );
}

#[test]
fn an_optional_field_that_is_set_to_its_default_is_still_sent() {
    let query = proto::Relation {
        common: Some(proto::RelationCommon { plan_id: Some(0), ..Default::default() }),
        rel_type: Some(proto::relation::RelType::Sql(proto::Sql {
            query: "SELECT 1".to_owned(),
            ..Default::default()
        })),
    };
    let flow = DefineFlow {
        dataflow_graph_id: Some("g".to_owned()),
        flow_name: Some("f".to_owned()),
        target_dataset_name: Some("t".to_owned()),
        source_code_location: Some(proto::SourceCodeLocation { line_number: Some(-1), ..Default::default() }),
        once: Some(false),
        details: Some(define_flow::Details::RelationFlowDetails(define_flow::WriteRelationFlowDetails {
            relation: Some(query),
        })),
        ..Default::default()
    };
    check_written_and_read(
        &flow,
        "0a01671201661a0174320b10ffffffffffffffffff013a120a100a021000520a0a0853454c45435420314000",
    );
}

#[test]
fn a_response_with_a_pipeline_event() {
    let event = proto::PipelineEvent {
        timestamp: Some(prost_types::Timestamp { seconds: 1_700_000_000, nanos: 5_000_000 }),
        message: Some("Flow f is RUNNING.".to_owned()),
    };
    let response = proto::ExecutePlanResponse {
        session_id: "s-1".to_owned(),
        operation_id: "op".to_owned(),
        response_id: "r".to_owned(),
        response_type: Some(proto::execute_plan_response::ResponseType::PipelineEventResult(
            proto::PipelineEventResult { event: Some(event) },
        )),
        ..Default::default()
    };
    check_read(
        &response,
        "0a03732d3162026f706a0172aa01230a210a0b0880e2cfaa0610c096b1021212466c6f7720662069732052554e4e494e472e",
    );
}
