//! Builders that collect a graph and tell all its problems at once.

use std::collections::BTreeMap;

use crate::validate::{GraphProblem, GraphProblems, problems_of};
use crate::{
    DataflowGraph, Dataset, DatasetKind, Flow, Identifier, Query, SinkDetails, SourceLocation, SqlFile, TableDetails,
};

/// Collects a [`DataflowGraph`].
#[derive(Clone, Debug, Default)]
pub struct GraphBuilder {
    graph: DataflowGraph,
    problems: Vec<GraphProblem>,
}

impl GraphBuilder {
    /// Sets the catalog of names that have none.
    #[must_use]
    pub fn default_catalog(mut self, catalog: impl Into<String>) -> Self {
        self.graph.default_catalog = Some(catalog.into());
        self
    }

    /// Sets the database of names that have none.
    #[must_use]
    pub fn default_database(mut self, database: impl Into<String>) -> Self {
        self.graph.default_database = Some(database.into());
        self
    }

    /// Sets one Spark conf for every flow.
    #[must_use]
    pub fn sql_conf(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.graph.sql_conf.insert(key.into(), value.into());
        self
    }

    /// Adds a dataset, and its own flow if it has a query.
    #[must_use]
    pub fn dataset(mut self, dataset: DatasetBuilder) -> Self {
        match Identifier::parse(&dataset.name) {
            Ok(name) => {
                if let Some(query) = dataset.query {
                    let reads = dataset.reads.iter().filter_map(|read| self.parsed("read", read)).collect();
                    self.graph.flows.push(Flow {
                        name: name.clone(),
                        target: name.clone(),
                        query,
                        reads,
                        sql_conf: dataset.sql_conf,
                        source_location: dataset.source_location.clone(),
                    });
                }
                self.graph.datasets.push(Dataset {
                    name,
                    kind: dataset.kind,
                    comment: dataset.comment,
                    table: dataset.table,
                    sink: dataset.sink,
                    source_location: dataset.source_location,
                });
            }
            Err(error) => self.problems.push(GraphProblem::BadName { what: dataset.kind.to_string(), error }),
        }
        self
    }

    /// A name, or a problem and `None`.
    fn parsed(&mut self, what: &str, text: &str) -> Option<Identifier> {
        let name = Identifier::parse(text);
        name.map_err(|error| self.problems.push(GraphProblem::BadName { what: what.to_owned(), error })).ok()
    }

    /// Adds a flow.
    #[must_use]
    pub fn flow(mut self, flow: FlowBuilder) -> Self {
        let name = self.parsed("flow", &flow.name);
        let target = self.parsed("target", &flow.target);
        let reads = flow.reads.iter().filter_map(|read| self.parsed("read", read)).collect();
        if let (Some(name), Some(target)) = (name, target) {
            let FlowBuilder { query, sql_conf, source_location, .. } = flow;
            self.graph.flows.push(Flow { name, target, query, reads, sql_conf, source_location });
        }
        self
    }

    /// Adds a file of SQL definitions; the server reads its statements.
    #[must_use]
    pub fn sql_file(mut self, path: impl Into<String>, text: impl Into<String>) -> Self {
        self.graph.sql_files.push(SqlFile { path: path.into(), text: text.into() });
        self
    }

    /// Keeps a problem that was found before the graph was built.
    #[cfg(feature = "serde")]
    pub(crate) fn problem(&mut self, problem: GraphProblem) {
        self.problems.push(problem);
    }

    /// Checks the graph.
    ///
    /// # Errors
    /// All problems that can be seen without a server. What SQL files define is unknown here, so
    /// a graph that has some is not asked for missing targets or flows.
    pub fn build(self) -> Result<DataflowGraph, GraphProblems> {
        let mut problems = self.problems;
        problems.extend(problems_of(&self.graph));
        if problems.is_empty() { Ok(self.graph) } else { Err(GraphProblems(problems)) }
    }
}

/// Collects a [`Dataset`], and the query of its own flow.
#[derive(Clone, Debug)]
pub struct DatasetBuilder {
    name: String,
    kind: DatasetKind,
    comment: Option<String>,
    table: TableDetails,
    sink: SinkDetails,
    reads: Vec<String>,
    sql_conf: BTreeMap<String, String>,
    query: Option<Query>,
    source_location: Option<SourceLocation>,
}

impl DatasetBuilder {
    pub(crate) fn new(name: impl Into<String>, kind: DatasetKind) -> Self {
        Self {
            name: name.into(),
            kind,
            comment: None,
            table: TableDetails::default(),
            sink: SinkDetails::default(),
            reads: Vec::new(),
            sql_conf: BTreeMap::new(),
            query: None,
            source_location: None,
        }
    }

    /// Sets the query of the dataset's own flow. Without one, named flows must write into it.
    #[must_use]
    pub fn query(mut self, query: impl Into<Query>) -> Self {
        self.query = Some(query.into());
        self
    }

    /// Says that the query of the dataset's own flow reads `dataset`, for pictures and checks.
    #[must_use]
    pub fn reads(mut self, dataset: impl Into<String>) -> Self {
        self.reads.push(dataset.into());
        self
    }

    /// Sets one Spark conf for the dataset's own flow.
    #[must_use]
    pub fn sql_conf(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.sql_conf.insert(key.into(), value.into());
        self
    }

    /// Sets the comment.
    #[must_use]
    pub fn comment(mut self, comment: impl Into<String>) -> Self {
        self.comment = Some(comment.into());
        self
    }

    /// Sets a table's columns, as DDL.
    #[must_use]
    pub fn schema(mut self, ddl: impl Into<String>) -> Self {
        self.table.schema = Some(ddl.into());
        self
    }

    /// Sets the data source that stores a table or that a sink writes to.
    #[must_use]
    pub fn format(mut self, format: impl Into<String>) -> Self {
        let place = if self.kind == DatasetKind::Sink { &mut self.sink.format } else { &mut self.table.format };
        *place = Some(format.into());
        self
    }

    /// Sets one table property.
    #[must_use]
    pub fn property(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.table.properties.insert(key.into(), value.into());
        self
    }

    /// Sets one option of a sink's data source.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.sink.options.insert(key.into(), value.into());
        self
    }

    /// Adds a partition column to a table.
    #[must_use]
    pub fn partition_by(mut self, column: impl Into<String>) -> Self {
        self.table.partition_columns.push(column.into());
        self
    }

    /// Adds a clustering column to a table.
    #[must_use]
    pub fn cluster_by(mut self, column: impl Into<String>) -> Self {
        self.table.clustering_columns.push(column.into());
        self
    }

    /// Says where the dataset was defined.
    #[must_use]
    pub fn source_location(mut self, location: SourceLocation) -> Self {
        self.source_location = Some(location);
        self
    }
}

/// Collects a [`Flow`].
#[derive(Clone, Debug)]
pub struct FlowBuilder {
    name: String,
    target: String,
    query: Query,
    reads: Vec<String>,
    sql_conf: BTreeMap<String, String>,
    source_location: Option<SourceLocation>,
}

impl FlowBuilder {
    pub(crate) fn new(name: String, target: String, query: Query) -> Self {
        Self { name, target, query, reads: Vec::new(), sql_conf: BTreeMap::new(), source_location: None }
    }

    /// Says that the query reads `dataset`.
    #[must_use]
    pub fn reads(mut self, dataset: impl Into<String>) -> Self {
        self.reads.push(dataset.into());
        self
    }

    /// Sets one Spark conf for the flow.
    #[must_use]
    pub fn sql_conf(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.sql_conf.insert(key.into(), value.into());
        self
    }

    /// Says where the flow was defined.
    #[must_use]
    pub fn source_location(mut self, location: SourceLocation) -> Self {
        self.source_location = Some(location);
        self
    }
}
