//! The form of a whole graph.

use std::collections::BTreeMap;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer, Serialize, Serializer};

use super::parts::QueryForm;
use super::unique_map;
use crate::builder::DatasetBuilder;
use crate::{DataflowGraph, Dataset, DatasetKind, Flow, GraphProblem, GraphProblems, Query, SourceLocation, SqlFile};

/// The number of the form that is written and read. It goes up when a document of the older form
/// would be read as something else; a field more does not need it.
pub const FORMAT: u32 = 1;

/// A graph as it was read, before it is checked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GraphDocument {
    format: FormatNumber,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_catalog: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    default_database: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map::deserialize")]
    sql_conf: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    datasets: Vec<DatasetForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    flows: Vec<FlowForm>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    sql_files: Vec<SqlFile>,
}

impl GraphDocument {
    /// Checks the graph, through the same builder as a graph that is written in Rust.
    ///
    /// # Errors
    /// Every problem of the graph, as [`GraphBuilder::build`](crate::GraphBuilder::build).
    pub fn graph(self) -> Result<DataflowGraph, GraphProblems> {
        let mut graph = DataflowGraph::builder();
        if let Some(catalog) = self.default_catalog {
            graph = graph.default_catalog(catalog);
        }
        if let Some(database) = self.default_database {
            graph = graph.default_database(database);
        }
        for (key, value) in self.sql_conf {
            graph = graph.sql_conf(key, value);
        }
        for dataset in self.datasets {
            graph = graph.dataset(dataset.builder());
        }
        for flow in self.flows {
            // An empty query stands in, so that a bad name makes no second problem of a missing flow.
            let query = flow.query.query().unwrap_or_else(|error| {
                graph.problem(GraphProblem::BadName { what: "read".to_owned(), error });
                Query::Sql(String::new())
            });
            let mut builder = Flow::builder(flow.name, flow.target, query);
            for read in flow.reads {
                builder = builder.reads(read);
            }
            for (key, value) in flow.sql_conf {
                builder = builder.sql_conf(key, value);
            }
            if let Some(location) = flow.source_location {
                builder = builder.source_location(location);
            }
            graph = graph.flow(builder);
        }
        for file in self.sql_files {
            graph = graph.sql_file(file.path, file.text);
        }
        graph.build()
    }
}

impl From<&DataflowGraph> for GraphDocument {
    fn from(graph: &DataflowGraph) -> Self {
        Self {
            format: FormatNumber,
            default_catalog: graph.default_catalog.clone(),
            default_database: graph.default_database.clone(),
            sql_conf: graph.sql_conf.clone(),
            datasets: graph.datasets.iter().map(DatasetForm::from).collect(),
            flows: graph.flows.iter().map(FlowForm::from).collect(),
            sql_files: graph.sql_files.clone(),
        }
    }
}

impl Serialize for DataflowGraph {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        GraphDocument::from(self).serialize(serializer)
    }
}

impl<'de> Deserialize<'de> for DataflowGraph {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        GraphDocument::deserialize(deserializer)?.graph().map_err(D::Error::custom)
    }
}

/// A dataset by itself; what is around it is not there to check it against.
impl Serialize for Dataset {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        DatasetForm::from(self).serialize(serializer)
    }
}

impl Serialize for Flow {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FlowForm::from(self).serialize(serializer)
    }
}

/// Stands first in a document, so that one of a newer form is told as that.
#[derive(Clone, Debug)]
struct FormatNumber;

impl Serialize for FormatNumber {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_u32(FORMAT)
    }
}

impl<'de> Deserialize<'de> for FormatNumber {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        match u32::deserialize(deserializer)? {
            FORMAT => Ok(Self),
            other => Err(D::Error::custom(format!("the graph has format {other}; this version reads {FORMAT}"))),
        }
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct DatasetForm {
    kind: DatasetKind,
    name: String,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    comment: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    schema: Option<String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    format: Option<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map::deserialize")]
    properties: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    partition_columns: Vec<String>,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    clustering_columns: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map::deserialize")]
    options: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_location: Option<SourceLocation>,
}

impl From<&Dataset> for DatasetForm {
    fn from(dataset: &Dataset) -> Self {
        let Dataset { name, kind, comment, table, sink, source_location } = dataset.clone();
        Self {
            kind,
            name: name.to_string(),
            comment,
            schema: table.schema,
            format: if kind == DatasetKind::Sink { sink.format } else { table.format },
            properties: table.properties,
            partition_columns: table.partition_columns,
            clustering_columns: table.clustering_columns,
            options: sink.options,
            source_location,
        }
    }
}

impl DatasetForm {
    fn builder(self) -> DatasetBuilder {
        let mut builder = DatasetBuilder::new(self.name, self.kind);
        if let Some(comment) = self.comment {
            builder = builder.comment(comment);
        }
        if let Some(ddl) = self.schema {
            builder = builder.schema(ddl);
        }
        if let Some(format) = self.format {
            builder = builder.format(format);
        }
        for (key, value) in self.properties {
            builder = builder.property(key, value);
        }
        for column in self.partition_columns {
            builder = builder.partition_by(column);
        }
        for column in self.clustering_columns {
            builder = builder.cluster_by(column);
        }
        for (key, value) in self.options {
            builder = builder.option(key, value);
        }
        if let Some(location) = self.source_location {
            builder = builder.source_location(location);
        }
        builder
    }
}

#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct FlowForm {
    name: String,
    target: String,
    query: QueryForm,
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    reads: Vec<String>,
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty", deserialize_with = "unique_map::deserialize")]
    sql_conf: BTreeMap<String, String>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    source_location: Option<SourceLocation>,
}

impl From<&Flow> for FlowForm {
    fn from(flow: &Flow) -> Self {
        let Flow { name, target, query, reads, sql_conf, source_location } = flow.clone();
        Self {
            name: name.to_string(),
            target: target.to_string(),
            query: QueryForm::from(&query),
            reads: reads.iter().map(ToString::to_string).collect(),
            sql_conf,
            source_location,
        }
    }
}
