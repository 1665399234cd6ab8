//! Registering a graph, strictly one command after the other: the server keeps definitions in
//! lists without a lock, so that parallel ones get lost (Observed: Spark 4.1 to 4.3).

use std::collections::BTreeMap;

use futures::StreamExt as _;
use knut_model::{DataflowGraph, DatasetKind, Identifier, ResolvedIdentifier};
use knut_proto::spark::connect as proto;
use knut_viewer::{DatasetNode, FlowNode, GraphDefined};
use proto::execute_plan_response::ResponseType;
use proto::pipeline_command::{CommandType, CreateDataflowGraph};
use proto::pipeline_command_result::ResultType;

use crate::calls::execute_request;
use crate::operation::OperationId;
use crate::session::{CALL_TIMEOUT, Session, timed_out};
use crate::status::classify;
use crate::{Error, ErrorKind, from_proto, to_proto};

/// Which graph of a session.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct DataflowGraphId(String);

impl DataflowGraphId {
    pub(crate) fn new(id: impl Into<String>) -> Self {
        Self(id.into())
    }

    /// The id as the server gave it.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// A graph that the server knows. It can be run once; a dry run counts.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct DefinedGraph {
    /// Its id.
    pub id: DataflowGraphId,
    /// The datasets that were defined one by one, not those of SQL files.
    pub datasets: Vec<DefinedDataset>,
    /// The flows that were defined one by one, not those of SQL files.
    pub flows: Vec<DefinedFlow>,
    /// What the server said of confs that it did not take; empty when it took all.
    pub warnings: Vec<String>,
}

/// A dataset with the name that the server gave it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinedDataset {
    /// Its kind.
    pub kind: DatasetKind,
    /// Its name as the author wrote it.
    pub name: Identifier,
    /// Its name as the server resolved it.
    pub resolved: ResolvedIdentifier,
}

/// A flow with the name that the server gave it, which is the one in events.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinedFlow {
    /// Its name as the server resolved it.
    pub resolved: ResolvedIdentifier,
    /// The dataset it writes into, as events spell names; as the author wrote it if a SQL file
    /// defines that dataset.
    pub target: String,
}

impl DefinedGraph {
    pub(crate) fn update(&self) -> GraphDefined {
        let dataset =
            |dataset: &DefinedDataset| DatasetNode { name: dataset.resolved.event_name(), kind: dataset.kind };
        let flow = |flow: &DefinedFlow| FlowNode { name: flow.resolved.event_name(), target: flow.target.clone() };
        GraphDefined {
            datasets: self.datasets.iter().map(dataset).collect(),
            flows: self.flows.iter().map(flow).collect(),
        }
    }
}

/// Registers `graph`: the graph itself, then its datasets, then its flows, then its SQL files.
pub(crate) async fn define_graph(session: &Session, graph: &DataflowGraph) -> Result<DefinedGraph, Error> {
    let id = create(session, graph).await?;
    let mut defined = DefinedGraph { id, datasets: Vec::new(), flows: Vec::new(), warnings: Vec::new() };
    let key = |name: &Identifier| name.key(graph.default_catalog(), graph.default_database());
    let mut event_names = BTreeMap::new();
    for dataset in graph.datasets() {
        let what = format!("cannot define the {} {}", dataset.kind, dataset.name);
        let command = to_proto::define_output(&defined.id, dataset).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, what.clone()).because("only a SQL file can define one")
        })?;
        let resolved = match command_result(session, &what, command).await? {
            Some(ResultType::DefineOutputResult(result)) => result.resolved_identifier,
            _ => None,
        };
        let resolved = resolved.and_then(from_proto::resolved_identifier).ok_or_else(|| no_name(&what))?;
        event_names.insert(key(&dataset.name), resolved.event_name());
        defined.datasets.push(DefinedDataset { kind: dataset.kind, name: dataset.name.clone(), resolved });
    }
    for flow in graph.flows() {
        let what = format!("cannot define the flow {}", flow.name);
        let command = to_proto::define_flow(&defined.id, flow).ok_or_else(|| {
            Error::new(ErrorKind::Unsupported, what.clone()).because("its kind of query cannot be sent")
        })?;
        let resolved = match command_result(session, &what, command).await? {
            Some(ResultType::DefineFlowResult(result)) => result.resolved_identifier,
            _ => None,
        };
        let resolved = resolved.and_then(from_proto::resolved_identifier).ok_or_else(|| no_name(&what))?;
        let target = event_names.get(&key(&flow.target)).cloned().unwrap_or_else(|| flow.target.to_string());
        defined.flows.push(DefinedFlow { resolved, target });
    }
    for file in graph.sql_files() {
        let what = format!("cannot register {}", file.path);
        let registered = command_result(session, &what, to_proto::define_sql(&defined.id, file)).await;
        registered.map_err(|error| error.in_sql_file(&file.path))?;
    }
    Ok(defined)
}

async fn create(session: &Session, graph: &DataflowGraph) -> Result<DataflowGraphId, Error> {
    let what = "cannot create a dataflow graph";
    let sql_conf: BTreeMap<String, String> = graph.sql_conf().clone();
    let command = CommandType::CreateDataflowGraph(CreateDataflowGraph {
        default_catalog: graph.default_catalog().map(str::to_owned),
        default_database: graph.default_database().map(str::to_owned),
        sql_conf,
    });
    match command_result(session, what, command).await? {
        Some(ResultType::CreateDataflowGraphResult(result)) => result.dataflow_graph_id,
        _ => None,
    }
    .map(DataflowGraphId::new)
    .ok_or_else(|| Error::new(ErrorKind::Protocol, what).because("the server gave it no id"))
}

fn no_name(what: &str) -> Error {
    Error::new(ErrorKind::Protocol, what.to_owned()).because("the server did not say which name it resolved to")
}

/// Runs one command and gives its result; `None` when the server sent an empty one.
///
/// It is not reattachable: a command whose answer was lost may have been carried out, and carrying
/// it out twice would define something twice.
async fn command_result(session: &Session, what: &str, command: CommandType) -> Result<Option<ResultType>, Error> {
    let request = execute_request(session, OperationId::new(), to_proto::pipeline_plan(command), Vec::new());
    let running = async {
        let mut stub = session.stub();
        let mut responses = match Box::pin(stub.execute_plan(session.request(request))).await {
            Ok(response) => response.into_inner(),
            Err(status) => return Err(session.error(what, classify(&status)).await),
        };
        let mut result = None;
        while let Some(response) = responses.next().await {
            let response = match response {
                Ok(response) => response,
                Err(status) => return Err(session.error(what, classify(&status)).await),
            };
            let response = session.checked(what, response)?;
            if let Some(ResponseType::PipelineCommandResult(command_result)) = response.response_type {
                result = Some(command_result.result_type);
            }
        }
        // A stream cut in mid-message can end like a good one, so the end alone proves nothing.
        result.ok_or_else(|| {
            Error::new(ErrorKind::Protocol, what.to_owned()).because("the server's answer has no result")
        })
    };
    tokio::time::timeout(CALL_TIMEOUT, running).await.unwrap_or_else(|_| Err(timed_out(what)))
}
