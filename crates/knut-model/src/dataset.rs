//! What a pipeline produces: tables, views and sinks.

use std::collections::BTreeMap;
use std::fmt;

use crate::builder::DatasetBuilder;
use crate::{Identifier, SourceLocation};

/// The kind of a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum DatasetKind {
    /// A table that streaming flows append to.
    StreamingTable,
    /// A table that is recomputed from one batch query on each run.
    MaterializedView,
    /// A view that lives only inside the pipeline's graph. It has one name part.
    TemporaryView,
    /// A view in the catalog. Only SQL files can define it: the protocol has no message for it.
    PersistedView,
    /// A place outside the catalog that streaming flows write to.
    Sink,
}

impl DatasetKind {
    /// Whether the dataset is a table in a catalog.
    pub fn is_table(self) -> bool {
        matches!(self, Self::StreamingTable | Self::MaterializedView)
    }
}

impl fmt::Display for DatasetKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::StreamingTable => "streaming table",
            Self::MaterializedView => "materialized view",
            Self::TemporaryView => "temporary view",
            Self::PersistedView => "view",
            Self::Sink => "sink",
        })
    }
}

/// One dataset of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Dataset {
    /// Its name.
    pub name: Identifier,
    /// Its kind.
    pub kind: DatasetKind,
    /// A comment for the catalog; `None` leaves it empty.
    pub comment: Option<String>,
    /// What only tables have; the default elsewhere.
    pub table: TableDetails,
    /// What only sinks have; the default elsewhere.
    pub sink: SinkDetails,
    /// Where it was defined; `None` when unknown.
    pub source_location: Option<SourceLocation>,
}

impl Dataset {
    /// Begins a streaming table; its name is read when the graph is built.
    pub fn streaming_table(name: impl Into<String>) -> DatasetBuilder {
        DatasetBuilder::new(name, DatasetKind::StreamingTable)
    }

    /// Begins a materialized view.
    pub fn materialized_view(name: impl Into<String>) -> DatasetBuilder {
        DatasetBuilder::new(name, DatasetKind::MaterializedView)
    }

    /// Begins a temporary view.
    pub fn temporary_view(name: impl Into<String>) -> DatasetBuilder {
        DatasetBuilder::new(name, DatasetKind::TemporaryView)
    }

    /// Begins a sink that writes in the data source `format`, such as `kafka` or `console`.
    pub fn sink(name: impl Into<String>, format: impl Into<String>) -> DatasetBuilder {
        DatasetBuilder::new(name, DatasetKind::Sink).format(format)
    }
}

/// What a table has beyond its name. Source: Spark 4.3, `DefineOutput.TableDetails`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TableDetails {
    /// The columns as DDL, `id INT, at TIMESTAMP`; `None` takes the query's own.
    pub schema: Option<String>,
    /// The data source that stores it; `None` is the server's `spark.sql.sources.default`.
    pub format: Option<String>,
    /// Table properties.
    pub properties: BTreeMap<String, String>,
    /// Partition columns; not together with clustering columns.
    pub partition_columns: Vec<String>,
    /// Clustering columns.
    pub clustering_columns: Vec<String>,
}

/// Where a sink writes. Source: Spark 4.3, `DefineOutput.SinkDetails`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SinkDetails {
    /// The data source, such as `kafka`; `None` only on datasets that are no sinks.
    pub format: Option<String>,
    /// The data source's options.
    pub options: BTreeMap<String, String>,
}
