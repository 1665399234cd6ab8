//! What a statement of a SQL file says, as values.

use std::collections::BTreeMap;
use std::ops::Range;

use knut_model::{DatasetKind, Identifier};

use crate::sql::reads::QueryReads;
use crate::sql::refusal::SqlRefusal;
use crate::sql::split::{SqlChunk, TextPlace};

/// One statement of a SQL file. All ranges are bytes of the file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlStatement {
    /// The text between its semicolons; maps the places that the server tells.
    pub chunk: SqlChunk,
    /// The statement without the comments and blanks around it.
    pub range: Range<usize>,
    /// Where the statement's first word stands.
    pub start: TextPlace,
    /// The line that the server names for it in `Query defined at file:line`. It is too small where
    /// semicolons with nothing between them come before.
    pub line_told_by_server: u32,
    /// What it says; [`SqlContent::Unread`] if it could not be read to its end.
    pub content: SqlContent,
    /// What the server refuses about it.
    pub refusals: Vec<SqlRefusal>,
    /// Whether it has something of which knut cannot tell whether the server takes it.
    pub has_doubt: bool,
}

/// Whether the server will register a statement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict<'a> {
    /// It will.
    Accepted,
    /// It will not.
    Refused(&'a SqlRefusal),
    /// knut does not understand enough of it to tell.
    Undecided,
}

impl SqlStatement {
    /// Whether the server will register the statement.
    pub fn verdict(&self) -> Verdict<'_> {
        match self.refusals.iter().find(|refusal| !refusal.is_late()) {
            Some(refusal) => Verdict::Refused(refusal),
            None if self.has_doubt => Verdict::Undecided,
            None => Verdict::Accepted,
        }
    }
}

/// What a statement says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlContent {
    /// It defines a table or view, and often the flow that fills it.
    Dataset(SqlDataset),
    /// `CREATE FLOW`: it defines a flow into a table defined elsewhere.
    Flow(SqlFlow),
    /// `SET key = value` or `SET TIME ZONE`: a Spark conf of the flows that follow in the file.
    SetConf {
        /// The conf's key.
        key: String,
        /// Its value.
        value: String,
    },
    /// `SET CATALOG`: the catalog of what follows in the file, which then has no database.
    SetCatalog {
        /// The catalog; `None` if it is computed.
        catalog: Option<String>,
    },
    /// `USE DATABASE`: the database of what follows in the file.
    UseDatabase {
        /// The catalog; `None` keeps the one that is current.
        catalog: Option<String>,
        /// The database; `None` if it is computed.
        database: Option<String>,
    },
    /// Something else, or something that could not be read.
    Unread,
}

/// A name as a statement writes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlName {
    /// The name.
    pub identifier: Identifier,
    /// Its bytes.
    pub span: Range<usize>,
}

/// A column that a statement names.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlColumn {
    /// Its name, as written and without backticks.
    pub name: String,
    /// The bytes of the name.
    pub span: Range<usize>,
}

/// A table or view that a statement defines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlDataset {
    /// Its kind; never a sink.
    pub kind: DatasetKind,
    /// Its name; `None` if it is computed.
    pub name: Option<SqlName>,
    /// Whether the statement says `IF NOT EXISTS`, which means nothing for tables of a pipeline.
    pub if_not_exists: bool,
    /// The bytes of the list of columns, without its parentheses; `None` without list.
    pub columns: Option<Range<usize>>,
    /// The columns of that list, for a table; empty without list and for views.
    pub declared_columns: Vec<SqlColumn>,
    /// The data source that stores it; `None` is the server's default.
    pub format: Option<String>,
    /// Partition columns.
    pub partition_columns: Vec<SqlColumn>,
    /// Whether partition columns have data types, as in Hive, and are not among the declared ones.
    pub(crate) has_typed_partitions: bool,
    /// Clustering columns.
    pub clustering_columns: Vec<SqlColumn>,
    /// The comment.
    pub comment: Option<String>,
    /// Table properties.
    pub properties: BTreeMap<String, String>,
    /// What fills it; `None` for a streaming table that only flows of their own fill.
    pub fill: Option<SqlFill>,
}

/// A flow that a statement of its own defines.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlFlow {
    /// Its name; `None` if it is computed.
    pub name: Option<SqlName>,
    /// The table that it writes into; `None` if its name is computed.
    pub target: Option<SqlName>,
    /// The comment.
    pub comment: Option<String>,
    /// What it writes.
    pub fill: SqlFill,
}

/// What a flow writes into its dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SqlFill {
    /// The rows of a query.
    Query(SqlQuery),
    /// Changes, applied by key.
    AutoCdc(Box<SqlAutoCdc>),
}

impl SqlFill {
    /// The query, or the source of the changes.
    pub fn query(&self) -> &SqlQuery {
        match self {
            Self::Query(query) => query,
            Self::AutoCdc(changes) => &changes.source,
        }
    }
}

/// A query and what it reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlQuery {
    /// Its bytes.
    pub range: Range<usize>,
    /// What it reads; spans are bytes of the file.
    pub reads: QueryReads,
}

/// `AUTO CDC`: changes that are applied by key.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlAutoCdc {
    /// Where the changes come from.
    pub source: SqlQuery,
    /// The key columns.
    pub keys: Vec<String>,
    /// The bytes of the expression that orders changes.
    pub sequence_by: Option<Range<usize>>,
    /// The bytes of the condition under which a change deletes.
    pub apply_as_deletes: Option<Range<usize>>,
    /// The columns that are kept; `None` keeps all.
    pub columns: Option<ColumnChoice>,
    /// 1 keeps the latest row of a key, 2 all of them.
    pub scd_type: u8,
    /// The columns of which a history is kept; `None` is all.
    pub track_history: Option<ColumnChoice>,
}

/// Some of a table's columns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnChoice {
    /// These.
    Only(Vec<String>),
    /// All but these.
    Except(Vec<String>),
}
