//! What fills a dataset: a query and the dataset it writes into.

use std::collections::BTreeMap;

use crate::builder::FlowBuilder;
use crate::{AutoCdc, Identifier, SourceLocation};

/// A query that writes into one dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Flow {
    /// Its name; the same as `target` for the flow that a dataset's own query makes.
    pub name: Identifier,
    /// The dataset it writes into.
    pub target: Identifier,
    /// What it computes.
    pub query: Query,
    /// The datasets its query reads, where the author said so. Spark finds them by itself: they
    /// are for pictures and checks, and are not sent.
    pub reads: Vec<Identifier>,
    /// Spark confs for this flow. On batch flows Spark 4.3 uses them for analysis only.
    pub sql_conf: BTreeMap<String, String>,
    /// Where it was defined; `None` when unknown.
    pub source_location: Option<SourceLocation>,
}

impl Flow {
    /// Begins a flow; its names are read when the graph is built.
    pub fn builder(name: impl Into<String>, target: impl Into<String>, query: impl Into<Query>) -> FlowBuilder {
        FlowBuilder::new(name.into(), target.into(), query.into())
    }

    /// Whether this is the flow of the dataset's own query, which bears the dataset's name.
    pub fn is_implicit(&self) -> bool {
        self.name == self.target
    }
}

/// What a flow computes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Query {
    /// A SQL query. It must be a query: Spark executes a command put here, even in a dry run.
    Sql(String),
    /// A read of files or of any Spark data source.
    Source(SourceRead),
    /// A read of a dataset of the graph or of a table in a catalog.
    Table {
        /// Its name.
        name: Identifier,
        /// Whether rows are read as a stream.
        streaming: bool,
    },
    /// A SQL query that reads data sources by names of its own: `SELECT … FROM orders` where
    /// `orders` is a stream of files.
    SqlOver {
        /// The query.
        sql: String,
        /// The data sources by the names that the query uses; they hide datasets of those names.
        inputs: BTreeMap<String, SourceRead>,
    },
    /// The changes of a source, applied to the target by key.
    AutoCdc(AutoCdc),
}

impl Query {
    /// A SQL query that reads `inputs` by their names.
    pub fn sql_over<S: Into<String>>(
        sql: impl Into<String>,
        inputs: impl IntoIterator<Item = (S, SourceRead)>,
    ) -> Self {
        let inputs = inputs.into_iter().map(|(name, read)| (name.into(), read)).collect();
        Self::SqlOver { sql: sql.into(), inputs }
    }
}

impl From<AutoCdc> for Query {
    fn from(cdc: AutoCdc) -> Self {
        Self::AutoCdc(cdc)
    }
}

impl From<&str> for Query {
    fn from(sql: &str) -> Self {
        Self::Sql(sql.to_owned())
    }
}

impl From<String> for Query {
    fn from(sql: String) -> Self {
        Self::Sql(sql)
    }
}

impl From<SourceRead> for Query {
    fn from(read: SourceRead) -> Self {
        Self::Source(read)
    }
}

/// A read of a Spark data source. Source: Spark 4.3, `Relation.read.data_source`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SourceRead {
    /// The data source, such as `csv` or `kafka`; `None` is the server's `spark.sql.sources.default`.
    pub format: Option<String>,
    /// The columns as DDL. Streaming reads of files need it unless the server infers schemas.
    pub schema: Option<String>,
    /// Files or folders, as the server sees them. Empty for sources that have none.
    pub paths: Vec<String>,
    /// The data source's options.
    pub options: BTreeMap<String, String>,
    /// Whether rows are read as a stream.
    pub streaming: bool,
}

impl SourceRead {
    /// A batch read of the data source `format`.
    pub fn new(format: impl Into<String>) -> Self {
        Self { format: Some(format.into()), ..Self::default() }
    }

    /// A batch read of CSV files.
    pub fn csv<S: Into<String>>(paths: impl IntoIterator<Item = S>) -> Self {
        Self::new("csv").paths(paths)
    }

    /// A batch read of JSON files, one object a line.
    pub fn json<S: Into<String>>(paths: impl IntoIterator<Item = S>) -> Self {
        Self::new("json").paths(paths)
    }

    /// A batch read of Parquet files.
    pub fn parquet<S: Into<String>>(paths: impl IntoIterator<Item = S>) -> Self {
        Self::new("parquet").paths(paths)
    }

    /// Adds files or folders.
    #[must_use]
    pub fn paths<S: Into<String>>(mut self, paths: impl IntoIterator<Item = S>) -> Self {
        self.paths.extend(paths.into_iter().map(Into::into));
        self
    }

    /// Sets the columns, as DDL.
    #[must_use]
    pub fn schema(mut self, ddl: impl Into<String>) -> Self {
        self.schema = Some(ddl.into());
        self
    }

    /// Sets one option of the data source.
    #[must_use]
    pub fn option(mut self, key: impl Into<String>, value: impl Into<String>) -> Self {
        self.options.insert(key.into(), value.into());
        self
    }

    /// Reads as a stream.
    #[must_use]
    pub fn streaming(mut self) -> Self {
        self.streaming = true;
        self
    }
}
