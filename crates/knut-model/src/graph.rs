//! A whole dataflow graph, as one pipeline registers it on the server.

use std::collections::BTreeMap;

use crate::builder::GraphBuilder;
use crate::{Dataset, Flow};

/// The datasets and flows of one pipeline, checked as far as they can be without a server.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct DataflowGraph {
    pub(crate) default_catalog: Option<String>,
    pub(crate) default_database: Option<String>,
    pub(crate) sql_conf: BTreeMap<String, String>,
    pub(crate) datasets: Vec<Dataset>,
    pub(crate) flows: Vec<Flow>,
    pub(crate) sql_files: Vec<SqlFile>,
}

impl DataflowGraph {
    /// Begins a graph.
    pub fn builder() -> GraphBuilder {
        GraphBuilder::default()
    }

    /// The catalog of names that have none; `None` is the session's current one.
    pub fn default_catalog(&self) -> Option<&str> {
        self.default_catalog.as_deref()
    }

    /// The database of names that have none; `None` is the session's current one.
    pub fn default_database(&self) -> Option<&str> {
        self.default_database.as_deref()
    }

    /// Spark confs for every flow of the graph.
    pub fn sql_conf(&self) -> &BTreeMap<String, String> {
        &self.sql_conf
    }

    /// The datasets, in the order they were added. What SQL files define is not among them.
    pub fn datasets(&self) -> &[Dataset] {
        &self.datasets
    }

    /// The flows, in the order they were added. What SQL files define is not among them.
    pub fn flows(&self) -> &[Flow] {
        &self.flows
    }

    /// SQL files whose statements the server reads, in the order they are registered.
    pub fn sql_files(&self) -> &[SqlFile] {
        &self.sql_files
    }
}

/// A file of `CREATE …` statements, registered whole: `SET` and `USE` in it act on what follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SqlFile {
    /// Its path as messages show it, relative to the project.
    pub path: String,
    /// Its text.
    pub text: String,
}
