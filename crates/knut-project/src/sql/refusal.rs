//! What the server refuses, why, and what to write instead: in our words, in one place.

use std::ops::Range;

/// Something in a SQL file that the server will refuse.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlRefusal {
    /// Why.
    pub reason: RefusalReason,
    /// The bytes that it concerns.
    pub span: Range<usize>,
}

/// Why the server refuses something. Source: Spark 4.3, each tried on a real server.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefusalReason {
    /// The statement is no definition; the first words of it.
    NotADefinition(String),
    /// The text does not go on as the grammar wants.
    Syntax {
        /// The word that stands there; empty at the end of the statement.
        found: String,
        /// What should stand there.
        wanted: &'static str,
    },
    /// A string, name, comment or bracket is not closed.
    Unclosed,
    /// A character that no SQL text has outside of quotes, such as a zero-width space.
    StrayCharacter(String),
    /// A name that must stand in backticks.
    NeedsBackticks(String),
    /// `IDENTIFIER(…)` with anything but one string, where a name is defined.
    ComputedName,
    /// A name of four or more parts.
    TooManyNameParts,
    /// The same in a read; found when the query is resolved.
    ReadOfManyParts,
    /// `CREATE OR REFRESH`.
    OrRefresh,
    /// `CREATE OR REPLACE` of something that cannot be replaced.
    OrReplace,
    /// `CREATE … LIVE TABLE` or `LIVE VIEW`.
    Live,
    /// `APPLY CHANGES INTO`, or `AUTO CDC INTO` outside of a flow.
    ApplyChanges,
    /// `CONSTRAINT … EXPECT …`.
    Expectation,
    /// A primary key, check or other constraint.
    Constraint,
    /// `CREATE SINK`.
    Sink,
    /// `USE x`, `USE c.x` or `USE CATALOG c`.
    UseWithoutKind,
    /// `SET k` without a value.
    SetWithoutValue,
    /// A `SET` of a form that Spark does not know.
    SetSyntax,
    /// `SET TIME ZONE` with something that is neither a string, `LOCAL` nor an interval.
    TimeZone,
    /// `SET CATALOG a.b`.
    MultipartCatalog,
    /// A name without database after `SET CATALOG`, which leaves none.
    NoDatabase,
    /// A materialized view without a query.
    NoQuery,
    /// A clause that pipeline datasets cannot have.
    Clause(&'static str),
    /// A clause that is there twice.
    DuplicateClause(&'static str),
    /// `PARTITIONED BY` with a function.
    PartitionTransform,
    /// A partition or clustering column with a dot.
    NestedColumn,
    /// `PARTITIONED BY` and `CLUSTER BY` together.
    PartitionAndCluster,
    /// A table property that Spark keeps for itself.
    ReservedProperty(String),
    /// A table property without a value.
    PropertyWithoutValue(String),
    /// A table property that is there twice.
    DuplicateProperty(String),
    /// `IF NOT EXISTS` where there is no such thing, or with `OR REPLACE`.
    IfNotExists,
    /// A temporary view with a database.
    QualifiedTemporaryView,
    /// `CREATE TEMPORARY VIEW … USING …`.
    ViewOfDataSource,
    /// A flow with a name of more than one part.
    MultipartFlowName,
    /// `INSERT INTO` without `BY NAME`.
    NotByName,
    /// `INSERT OVERWRITE` or `REPLACE WHERE`.
    InsertOverwrite,
    /// Columns or a partition for the target of a flow.
    FlowTargetDetails,
    /// `AUTO CDC` of a materialized view.
    CdcOfMaterializedView,
    /// `AUTO CDC` into a table with a list of columns.
    CdcWithColumns,
    /// `AUTO CDC` from something that is no stream.
    CdcFromBatch,
    /// `AUTO CDC` without `SEQUENCE BY`.
    CdcWithoutSequence,
    /// `STORED AS SCD TYPE` with another type than 1 and 2.
    ScdType,
    /// `TRACK HISTORY` without `STORED AS SCD TYPE 2`.
    HistoryWithoutScd2,
    /// `IGNORE NULL UPDATES` or `APPLY AS TRUNCATE`.
    CdcClause(&'static str),
    /// `read_files` and other functions that only Databricks has.
    FileFunction(String),
    /// ``STREAM csv.`/x` ``.
    StreamOfFiles,
}

impl SqlRefusal {
    pub(crate) fn new(reason: RefusalReason, span: Range<usize>) -> Self {
        Self { reason, span }
    }

    /// Whether the file is accepted and the graph is refused later, when its queries are resolved.
    pub fn is_late(&self) -> bool {
        use RefusalReason::{FileFunction, ReadOfManyParts, StreamOfFiles};
        matches!(self.reason, FileFunction(_) | ReadOfManyParts | StreamOfFiles)
    }

    /// What is wrong, as a lowercase fragment. Pieces of the file are in it as they are.
    pub fn message(&self) -> String {
        use RefusalReason as R;
        match &self.reason {
            R::NotADefinition(words) => format!("{words} is no definition of a dataset or flow"),
            R::Syntax { found, wanted } if found.is_empty() => {
                format!("the statement ends where {wanted} should follow")
            }
            R::Syntax { found, wanted } => format!("found `{found}` where {wanted} should stand"),
            R::Unclosed => "this is not closed".to_owned(),
            R::StrayCharacter(text) => {
                let code = text.chars().next().map_or(0, u32::from);
                format!("the character U+{code:04X} can only stand in quotes")
            }
            R::NeedsBackticks(name) => {
                format!("the name `{name}` has characters other than letters a to z, digits and _")
            }
            R::ComputedName => "a name that is defined cannot be computed".to_owned(),
            R::TooManyNameParts | R::ReadOfManyParts => "a name has at most three parts".to_owned(),
            R::OrRefresh => "`OR REFRESH` is not Spark's".to_owned(),
            R::OrReplace => "only views can be created with `OR REPLACE`".to_owned(),
            R::Live => "`LIVE` is not Spark's".to_owned(),
            R::ApplyChanges => "changes are applied by a flow, not by a statement of their own".to_owned(),
            R::Expectation => "Spark has no expectations".to_owned(),
            R::Constraint => "datasets of a pipeline have no constraints".to_owned(),
            R::Sink => "a sink cannot be defined in SQL".to_owned(),
            R::UseWithoutKind => "`USE` must say `DATABASE`, `SCHEMA` or `NAMESPACE`".to_owned(),
            R::SetWithoutValue => "`SET` without a value".to_owned(),
            R::SetSyntax => "this is no `SET key = value`".to_owned(),
            R::TimeZone => "this is no time zone".to_owned(),
            R::MultipartCatalog => "a catalog's name has one part".to_owned(),
            R::NoDatabase => "there is no current database after `SET CATALOG`".to_owned(),
            R::NoQuery => "a materialized view needs a query".to_owned(),
            R::Clause(clause) => format!("{clause} is not allowed here"),
            R::DuplicateClause(clause) => format!("{clause} is there twice"),
            R::PartitionTransform => "datasets of a pipeline are partitioned by plain columns only".to_owned(),
            R::NestedColumn => "a column to partition or cluster by cannot lie within another".to_owned(),
            R::PartitionAndCluster => "`PARTITIONED BY` and `CLUSTER BY` exclude each other".to_owned(),
            R::ReservedProperty(key) => format!("the table property `{key}` is Spark's own"),
            R::PropertyWithoutValue(key) => format!("the table property `{key}` has no value"),
            R::DuplicateProperty(key) => format!("the table property `{key}` is there twice"),
            R::IfNotExists => "`IF NOT EXISTS` is not allowed here".to_owned(),
            R::QualifiedTemporaryView => "a temporary view has a name of one part".to_owned(),
            R::ViewOfDataSource => "a temporary view of a pipeline needs a query".to_owned(),
            R::MultipartFlowName => "a flow has a name of one part".to_owned(),
            R::NotByName => "a flow must insert `BY NAME`".to_owned(),
            R::InsertOverwrite => "a flow can only append".to_owned(),
            R::FlowTargetDetails => "a flow's target takes no columns and no partition".to_owned(),
            R::CdcOfMaterializedView => "only a streaming table takes changes".to_owned(),
            R::CdcWithColumns => "a table that takes changes must not list its columns".to_owned(),
            R::CdcFromBatch => "changes must come from a stream".to_owned(),
            R::CdcWithoutSequence => "`AUTO CDC` needs `SEQUENCE BY`".to_owned(),
            R::ScdType => "there are only SCD types 1 and 2".to_owned(),
            R::HistoryWithoutScd2 => "only SCD type 2 keeps a history".to_owned(),
            R::CdcClause(clause) => format!("Spark's `AUTO CDC` has no `{clause}`"),
            R::FileFunction(name) => format!("Spark has no function `{name}`"),
            R::StreamOfFiles => "Spark's SQL cannot stream from files".to_owned(),
        }
    }

    /// What to write instead; `None` where the message says it.
    pub fn help(&self) -> Option<&'static str> {
        use RefusalReason as R;
        Some(match &self.reason {
            R::NotADefinition(_) => {
                "a file may hold CREATE MATERIALIZED VIEW, CREATE STREAMING TABLE, CREATE [TEMPORARY] VIEW, CREATE FLOW, \
                 SET, SET CATALOG and USE DATABASE"
            }
            R::StrayCharacter(_) => "delete it; it often comes along when text is copied",
            R::NeedsBackticks(_) => "write the name in backticks",
            R::TooManyNameParts | R::ReadOfManyParts => "write `catalog.database.name`",
            R::OrRefresh => "leave it out: a run always refreshes",
            R::OrReplace => "leave it out: a run updates what is there",
            R::Live => "write `CREATE STREAMING TABLE`, `CREATE MATERIALIZED VIEW` or `CREATE TEMPORARY VIEW`",
            R::ApplyChanges => {
                "write `CREATE FLOW name AS AUTO CDC INTO target FROM STREAM source KEYS (…) SEQUENCE BY …`"
            }
            R::Expectation => "filter in the query, or read the rows that break the rule into a table of their own",
            R::Constraint => "leave it out",
            R::Sink => "define it in Rust or Python",
            R::UseWithoutKind => "write `USE DATABASE name`, and `SET CATALOG name` before it for another catalog",
            R::SetWithoutValue | R::SetSyntax => "write `SET key = value`; other characters in the key need backticks",
            R::TimeZone => "write `SET TIME ZONE 'Europe/Berlin'`",
            R::NoDatabase => "write `USE DATABASE name` after it, or the whole name",
            R::NoQuery => "add `AS SELECT …`",
            R::PartitionTransform => "compute the column in the query and partition by it",
            R::ReservedProperty(_) => "leave it out; the format is set with `USING`",
            R::QualifiedTemporaryView | R::MultipartFlowName => "leave out all but the last part",
            R::ViewOfDataSource => "write `AS SELECT * FROM format.`path``, or a source in `knut.toml`",
            R::NotByName => "write `INSERT INTO target BY NAME SELECT …`",
            R::InsertOverwrite => "write `INSERT INTO target BY NAME SELECT …`, or define a materialized view",
            R::CdcFromBatch => "write `FROM STREAM source`",
            R::HistoryWithoutScd2 => "add `STORED AS SCD TYPE 2`",
            R::FileFunction(_) | R::StreamOfFiles => {
                "add the files as a streaming source to `knut.toml` and read it with `FROM STREAM name`"
            }
            _ => return None,
        })
    }
}
