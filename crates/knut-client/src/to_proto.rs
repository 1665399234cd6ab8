//! From the model's values to the messages of the protocol.

use std::collections::BTreeMap;

use knut_model::{
    AutoCdc, CdcColumns, Dataset, DatasetKind, Flow, Query, RefreshSelection, ScdType, SourceLocation, SourceRead,
};
use knut_proto::spark::connect as proto;
use proto::expression::ExprType;
use proto::pipeline_command::{
    CommandType, DefineFlow, DefineOutput, DefineSqlGraphElements, StartRun, define_flow, define_output,
};
use proto::read::{DataSource, NamedTable, ReadType};
use proto::relation::RelType;

use crate::{DataflowGraphId, RunOptions};

/// The plan of one pipeline command.
pub(crate) fn pipeline_plan(command: CommandType) -> proto::Plan {
    let command_type =
        Some(proto::command::CommandType::PipelineCommand(proto::PipelineCommand { command_type: Some(command) }));
    proto::Plan { op_type: Some(proto::plan::OpType::Command(proto::Command { command_type })) }
}

/// The plan of a SQL query: a root relation, so that only its execution matters.
pub(crate) fn sql_plan(sql: &str) -> proto::Plan {
    proto::Plan { op_type: Some(proto::plan::OpType::Root(sql_relation(sql))) }
}

fn relation(rel_type: RelType) -> proto::Relation {
    proto::Relation { common: None, rel_type: Some(rel_type) }
}

fn sql_relation(sql: &str) -> proto::Relation {
    relation(RelType::Sql(proto::Sql { query: sql.to_owned(), ..proto::Sql::default() }))
}

fn read(read_type: ReadType, is_streaming: bool) -> proto::Relation {
    relation(RelType::Read(proto::Read { is_streaming, read_type: Some(read_type) }))
}

/// A flow's query; `None` for a kind of query that this client does not know how to send.
pub(crate) fn query(query: &Query) -> Option<proto::Relation> {
    Some(match query {
        Query::Sql(sql) => sql_relation(sql),
        Query::Source(source) => source_relation(source),
        Query::SqlOver { sql, inputs } => {
            let reference = |(alias, source): (&String, &SourceRead)| {
                let input = Some(Box::new(source_relation(source)));
                let alias = proto::SubqueryAlias { input, alias: alias.clone(), qualifier: Vec::new() };
                relation(RelType::SubqueryAlias(Box::new(alias)))
            };
            relation(RelType::WithRelations(Box::new(proto::WithRelations {
                root: Some(Box::new(sql_relation(sql))),
                references: inputs.iter().map(reference).collect(),
            })))
        }
        Query::Table { name, streaming } => {
            let table = NamedTable { unparsed_identifier: name.to_string(), options: BTreeMap::new() };
            read(ReadType::NamedTable(table), *streaming)
        }
        _ => return None,
    })
}

fn source_relation(source: &SourceRead) -> proto::Relation {
    let SourceRead { format, schema, paths, options, streaming, .. } = source.clone();
    let source = DataSource { format, schema, options, paths, predicates: Vec::new(), source_name: None };
    read(ReadType::DataSource(source), streaming)
}

/// A dataset's definition; `None` for a persisted view, for which the protocol has no message.
pub(crate) fn define_output(graph: &DataflowGraphId, dataset: &Dataset) -> Option<CommandType> {
    let output_type = match dataset.kind {
        DatasetKind::StreamingTable => proto::OutputType::Table,
        DatasetKind::MaterializedView => proto::OutputType::MaterializedView,
        DatasetKind::TemporaryView => proto::OutputType::TemporaryView,
        DatasetKind::Sink => proto::OutputType::Sink,
        _ => return None,
    };
    let details = match dataset.kind {
        DatasetKind::Sink => Some(define_output::Details::SinkDetails(define_output::SinkDetails {
            options: dataset.sink.options.clone(),
            format: dataset.sink.format.clone(),
        })),
        kind if kind.is_table() => {
            let table = dataset.table.clone();
            Some(define_output::Details::TableDetails(define_output::TableDetails {
                table_properties: table.properties,
                partition_cols: table.partition_columns,
                format: table.format,
                clustering_columns: table.clustering_columns,
                schema: table.schema.map(define_output::table_details::Schema::SchemaString),
            }))
        }
        _ => None,
    };
    Some(CommandType::DefineOutput(DefineOutput {
        dataflow_graph_id: Some(graph.as_str().to_owned()),
        output_name: Some(dataset.name.to_string()),
        output_type: Some(output_type.into()),
        comment: dataset.comment.clone(),
        source_code_location: dataset.source_location.as_ref().map(source_location),
        details,
    }))
}

/// A flow's definition; `None` for a kind of query that this client does not know how to send.
///
/// `once` is never set: every server refuses the field, even when it says `false`.
pub(crate) fn define_flow(graph: &DataflowGraphId, flow: &Flow) -> Option<CommandType> {
    let details = match &flow.query {
        Query::AutoCdc(cdc) => define_flow::Details::AutoCdcFlowDetails(auto_cdc(cdc)?),
        other => {
            let relation = Some(query(other)?);
            define_flow::Details::RelationFlowDetails(define_flow::WriteRelationFlowDetails { relation })
        }
    };
    Some(CommandType::DefineFlow(DefineFlow {
        dataflow_graph_id: Some(graph.as_str().to_owned()),
        flow_name: Some(flow.name.to_string()),
        target_dataset_name: Some(flow.target.to_string()),
        sql_conf: flow.sql_conf.clone(),
        client_id: None,
        source_code_location: flow.source_location.as_ref().map(source_location),
        once: None,
        details: Some(details),
    }))
}

/// How changes are applied; `None` for settings that this client does not know how to send.
fn auto_cdc(cdc: &AutoCdc) -> Option<define_flow::AutoCdcFlowDetails> {
    let none = || Some((Vec::new(), Vec::new()));
    let lists = |columns: &CdcColumns| match columns {
        CdcColumns::All => none(),
        CdcColumns::Only(columns) => Some((columns.iter().map(column).collect(), Vec::new())),
        CdcColumns::Except(columns) => Some((Vec::new(), columns.iter().map(column).collect())),
        _ => None,
    };
    let (column_list, except_column_list) = lists(&cdc.columns)?;
    let (track_history_column_list, track_history_except_column_list) = lists(&cdc.track_history)?;
    let scd_type = match cdc.scd_type {
        ScdType::One => define_flow::ScdType::ScdType1,
        ScdType::Two => define_flow::ScdType::ScdType2,
        _ => return None,
    };
    Some(define_flow::AutoCdcFlowDetails {
        source: Some(cdc.source.clone()),
        keys: cdc.keys.iter().map(column).collect(),
        sequence_by: Some(sql_expression(&cdc.sequence_by)),
        apply_as_deletes: cdc.apply_as_deletes.as_deref().map(sql_expression),
        column_list,
        except_column_list,
        stored_as_scd_type: scd_type.into(),
        track_history_column_list,
        track_history_except_column_list,
        ..define_flow::AutoCdcFlowDetails::default()
    })
}

fn column(name: impl AsRef<str>) -> proto::Expression {
    let attribute =
        proto::expression::UnresolvedAttribute { unparsed_identifier: name.as_ref().to_owned(), ..Default::default() };
    proto::Expression { expr_type: Some(ExprType::UnresolvedAttribute(attribute)), ..Default::default() }
}

fn sql_expression(sql: &str) -> proto::Expression {
    let expression = proto::expression::ExpressionString { expression: sql.to_owned() };
    proto::Expression { expr_type: Some(ExprType::ExpressionString(expression)), ..Default::default() }
}

/// A SQL file's definitions.
pub(crate) fn define_sql(graph: &DataflowGraphId, file: &knut_model::SqlFile) -> CommandType {
    CommandType::DefineSqlGraphElements(DefineSqlGraphElements {
        dataflow_graph_id: Some(graph.as_str().to_owned()),
        sql_file_path: Some(file.path.clone()),
        sql_text: Some(file.text.clone()),
    })
}

/// A run.
pub(crate) fn start_run(graph: &DataflowGraphId, options: &RunOptions) -> CommandType {
    let names = |identifiers: &[knut_model::Identifier]| identifiers.iter().map(ToString::to_string).collect();
    let (full_refresh_all, refresh_selection, full_refresh_selection) = match &options.refresh {
        RefreshSelection::FullAll => (Some(true), Vec::new(), Vec::new()),
        RefreshSelection::Only { refresh, full_refresh, .. } => (None, names(refresh), names(full_refresh)),
        _ => (None, Vec::new(), Vec::new()),
    };
    CommandType::StartRun(StartRun {
        dataflow_graph_id: Some(graph.as_str().to_owned()),
        full_refresh_selection,
        full_refresh_all,
        refresh_selection,
        dry: Some(options.dry_run),
        storage: Some(options.storage.clone()),
    })
}

fn source_location(location: &SourceLocation) -> proto::SourceCodeLocation {
    proto::SourceCodeLocation {
        file_name: Some(location.file.clone()),
        line_number: location.line.and_then(|line| i32::try_from(line).ok()),
        definition_path: None,
        extension: Vec::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knut_model::DataflowGraph;

    /// The wire form of one graph that uses every setting, as text.
    #[test]
    fn a_graph_on_the_wire() {
        let graph = DataflowGraph::builder()
            .dataset(
                Dataset::streaming_table("db.t")
                    .comment("orders")
                    .schema("id INT")
                    .format("orc")
                    .property("k", "v")
                    .partition_by("id")
                    .sql_conf("a", "b")
                    .query("SELECT * FROM STREAM v")
                    .source_location(SourceLocation { file: "a.rs".to_owned(), line: Some(7) }),
            )
            .dataset(
                Dataset::materialized_view("m")
                    .cluster_by("id")
                    .query(Query::Table { name: knut_model::Identifier::parse("db.t").unwrap(), streaming: false }),
            )
            .dataset(
                Dataset::temporary_view("v")
                    .query(SourceRead::csv(["/d"]).schema("id INT").option("header", "true").streaming()),
            )
            .dataset(Dataset::sink("out", "console").option("numRows", "5"))
            .flow(knut_model::Flow::builder("f", "out", "SELECT * FROM STREAM v"))
            .dataset(Dataset::streaming_table("over").query(Query::sql_over(
                "SELECT * FROM STREAM files",
                [("files", SourceRead::json(["/j"]).streaming())],
            )))
            .dataset(
                Dataset::streaming_table("latest").query(
                    AutoCdc::new("changes", ["id"], "at")
                        .apply_as_deletes("op = 'D'")
                        .columns(CdcColumns::Except(vec!["op".to_owned()])),
                ),
            )
            .build()
            .unwrap();
        let id = DataflowGraphId::new("g");
        let outputs: Vec<_> = graph.datasets().iter().map(|dataset| define_output(&id, dataset)).collect();
        let flows: Vec<_> = graph.flows().iter().map(|flow| define_flow(&id, flow)).collect();
        insta::assert_debug_snapshot!((outputs, flows));
    }

    #[test]
    fn a_selection_on_the_wire() {
        let name = |text| knut_model::Identifier::parse(text).unwrap();
        let run = |refresh| {
            let options = RunOptions::new("file:///s").refresh(refresh).dry_run(true);
            match start_run(&DataflowGraphId::new("g"), &options) {
                CommandType::StartRun(run) => {
                    (run.full_refresh_all, run.refresh_selection, run.full_refresh_selection, run.dry)
                }
                _ => unreachable!(),
            }
        };
        assert_eq!(run(RefreshSelection::All), (None, vec![], vec![], Some(true)));
        assert_eq!(run(RefreshSelection::FullAll), (Some(true), vec![], vec![], Some(true)));
        assert_eq!(
            run(RefreshSelection::only(vec![name("a")], vec![name("`b c`")]).unwrap()),
            (None, vec!["a".to_owned()], vec!["`b c`".to_owned()], Some(true))
        );
    }
}
