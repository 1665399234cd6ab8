//! The stable code of each kind of finding, with what it is about.

use std::fmt;

/// How bad a finding is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Severity {
    /// The server will refuse it.
    Error,
    /// The server takes it, and something probably does not happen as it was meant.
    Warning,
}

/// What kind of thing a finding is; it displays as `K0203`. A code never changes its meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Code(u16);

/// A row of the table of codes: number, severity, title, explanation.
type Row = (u16, Severity, &'static str, &'static str);

use Severity::{Error, Warning};

impl Code {
    pub(crate) const DUPLICATE_DATASET: Self = Self(201);
    pub(crate) const DUPLICATE_FLOW: Self = Self(202);
    pub(crate) const CYCLE: Self = Self(203);
    pub(crate) const UNKNOWN_TARGET: Self = Self(204);
    pub(crate) const WITHOUT_FLOW: Self = Self(205);
    pub(crate) const TOO_MANY_FLOWS: Self = Self(206);
    pub(crate) const BATCH_INTO_STREAMING_TABLE: Self = Self(207);
    pub(crate) const STREAM_INTO_BATCH: Self = Self(208);
    pub(crate) const STREAM_OF_BATCH_VIEW: Self = Self(209);
    pub(crate) const BATCH_OF_STREAMING_VIEW: Self = Self(210);
    pub(crate) const VIEW_OF_TEMPORARY_VIEW: Self = Self(211);
    pub(crate) const EMPTY_PIPELINE: Self = Self(212);
    pub(crate) const NAMES_DIFFER_IN_CASE: Self = Self(301);
    pub(crate) const APPENDING_FLOWS: Self = Self(302);
    pub(crate) const STATIC_CONF: Self = Self(303);
    pub(crate) const NAME_OF_SESSION_CATALOG: Self = Self(304);
    pub(crate) const PARTITION_COLUMNS: Self = Self(305);
    pub(crate) const UNUSED_VIEW: Self = Self(306);
    pub(crate) const IF_NOT_EXISTS: Self = Self(307);
    pub(crate) const SHADOWED: Self = Self(308);
    pub(crate) const UNKNOWN_BUT_SIMILAR: Self = Self(309);
    pub(crate) const CLUSTERED_VIEW: Self = Self(310);
    pub(crate) const SPEC_SYNTAX: Self = Self(401);
    pub(crate) const UNEXPECTED_FIELD: Self = Self(402);
    pub(crate) const MISSING_FIELD: Self = Self(403);
    pub(crate) const WRONG_TYPE: Self = Self(404);
    pub(crate) const SCHEMA_AND_DATABASE: Self = Self(405);
    pub(crate) const MALFORMED_LIBRARY: Self = Self(406);
    pub(crate) const REFUSED_GLOB: Self = Self(407);
    pub(crate) const EMPTY_GLOB: Self = Self(408);
    pub(crate) const NOTHING_TO_RUN: Self = Self(409);
    pub(crate) const UNFIT_STORAGE: Self = Self(410);
    /// Checkpoints land elsewhere than the spec says; a project's local server can avoid it.
    pub const CHECKPOINTS_ELSEWHERE: Self = Self(411);
    pub(crate) const STORAGE_WITHOUT_SCHEME: Self = Self(412);
    pub(crate) const STORAGE_AMONG_TABLES: Self = Self(413);
    pub(crate) const UNREADABLE_FILE: Self = Self(421);
    pub(crate) const NOT_UTF8: Self = Self(422);
    pub(crate) const NO_DEFINITION_FILE: Self = Self(423);
    pub(crate) const PYTHON_DEFINITIONS: Self = Self(424);
    pub(crate) const TOML_SYNTAX: Self = Self(501);
    pub(crate) const UNEXPECTED_KEY: Self = Self(502);
    pub(crate) const BAD_VALUE: Self = Self(503);
    pub(crate) const NAME_OF_SOURCE: Self = Self(504);
    pub(crate) const PATH_OF_SOURCE: Self = Self(505);

    /// The code with a number of the table.
    pub(crate) const fn numbered(number: u16) -> Self {
        Self(number)
    }

    /// Reads `K0203`, in upper or lower case; `None` if there is no such code.
    pub fn parse(text: &str) -> Option<Self> {
        let number = text.strip_prefix(['K', 'k'])?.parse().ok()?;
        TABLE.iter().any(|row| row.0 == number).then_some(Self(number))
    }

    /// All codes in order.
    pub fn all() -> impl Iterator<Item = Self> {
        TABLE.iter().map(|row| Self(row.0))
    }

    /// How bad it is.
    pub fn severity(self) -> Severity {
        self.row().1
    }

    /// What it is, in a few words.
    pub fn title(self) -> &'static str {
        self.row().2
    }

    /// What it is about and what to do, in full sentences.
    pub fn explanation(self) -> &'static str {
        self.row().3
    }

    fn row(self) -> &'static Row {
        TABLE.iter().find(|row| row.0 == self.0).unwrap_or(&TABLE[0])
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "K{:04}", self.0)
    }
}

const TABLE: &[Row] = &[
    (
        101,
        Error,
        "not a definition",
        "A pipeline's SQL files define datasets and flows; they run no statements. Of what is not a definition only SET, \
         SET CATALOG and USE DATABASE are allowed, and act for the rest of their file.",
    ),
    (102, Error, "syntax error", "The statement does not go on as Spark's grammar wants. The whole file is refused."),
    (
        103,
        Error,
        "text that is not closed, or a stray character",
        "A string, a name in backticks, a bracket or a comment has no end, or a character stands outside of quotes that no \
         SQL text has there: often a zero-width space or a typographic quote that came along when text was copied.",
    ),
    (
        104,
        Error,
        "bad name",
        "A name has one to three parts: catalog, database, name. Parts with characters other than letters, digits and _ \
         stand in backticks. A name that is defined cannot be computed with IDENTIFIER(…), except from one string.",
    ),
    (
        105,
        Error,
        "another system's SQL",
        "Databricks has statements and clauses that Apache Spark has not: CREATE OR REFRESH, LIVE tables, APPLY CHANGES, \
         expectations, sinks in SQL. The finding says what to write instead.",
    ),
    (
        106,
        Error,
        "bad SET or USE",
        "Files know `SET key = value`, `SET TIME ZONE …`, `SET CATALOG name` and `USE DATABASE name`. After SET CATALOG \
         there is no current database until a USE DATABASE names one.",
    ),
    (
        107,
        Error,
        "clause that does not fit",
        "Datasets of a pipeline take columns, USING, PARTITIONED BY, CLUSTER BY, COMMENT and TBLPROPERTIES, each once. \
         Where their files lie is the catalog's business, so LOCATION, OPTIONS and the like are refused.",
    ),
    (
        108,
        Error,
        "partitioned and clustered",
        "A table has partition columns or clustering columns, not both. The server only says so in the run.",
    ),
    (
        109,
        Error,
        "qualified name where one part is allowed",
        "Temporary views and flows live in the pipeline, not in a database, so their names have one part. Only the flow that \
         a dataset's own query makes has the dataset's whole name.",
    ),
    (
        110,
        Error,
        "flow that does not insert by name",
        "A flow appends rows by column name: `CREATE FLOW f AS INSERT INTO target BY NAME SELECT …`. It cannot overwrite, \
         name columns or write into one partition.",
    ),
    (
        111,
        Error,
        "bad AUTO CDC",
        "AUTO CDC applies changes from a stream to a streaming table: it needs KEYS and SEQUENCE BY, reads `STREAM source`, \
         and keeps history only as SCD type 2.",
    ),
    (
        112,
        Error,
        "stream of files in SQL",
        "Apache Spark's pipeline SQL cannot stream from files: read_files does not exist and STREAM csv.`path` is read as a \
         batch. A source in knut.toml can be read as a stream: `FROM STREAM name`.",
    ),
    (
        201,
        Error,
        "dataset defined twice",
        "Two statements define a dataset of the same name. The server notices at the start of the run.",
    ),
    (
        202,
        Error,
        "flow defined twice",
        "Two flows have the same name. Each flow has a checkpoint of its own under its name.",
    ),
    (
        203,
        Error,
        "cycle",
        "Datasets read each other in a circle, so that none can be filled first. The server names two of them and stops.",
    ),
    (204, Error, "flow into nothing", "A flow writes into a dataset that no file defines."),
    (
        205,
        Error,
        "dataset without flow",
        "Nothing fills the streaming table: give it a query, or a `CREATE FLOW … AS INSERT INTO … BY NAME …`.",
    ),
    (
        206,
        Error,
        "several flows into a materialized view",
        "A materialized view is the result of one query. A streaming table takes several flows.",
    ),
    (
        207,
        Error,
        "batch query in a streaming table",
        "A streaming table is fed by streams: at least one input must be read as `STREAM name`. Files become a stream \
         through a source in knut.toml with `streaming = true`.",
    ),
    (
        208,
        Error,
        "stream in a materialized view",
        "A materialized view, and a view in the catalog, is computed from whole tables: take the word STREAM out, or make it a streaming table.",
    ),
    (209, Error, "stream of a batch view", "A view is a query. One that reads no stream cannot be read as one."),
    (
        210,
        Error,
        "batch read of a streaming view",
        "A view that reads a stream is one, and must be read as `STREAM name`.",
    ),
    (
        211,
        Error,
        "view of a temporary view",
        "A view in the catalog outlives the pipeline, so it cannot read a temporary view, which does not.",
    ),
    (
        212,
        Error,
        "pipeline without tables",
        "A run needs at least one streaming table, materialized view or view in the catalog. Temporary views alone are gone \
         with the run, so the server refuses to begin it (RUN_EMPTY_PIPELINE).",
    ),
    (
        301,
        Warning,
        "names that differ in case only",
        "Inside a pipeline Spark takes `Orders` and `orders` for two datasets, elsewhere for one table. Runs then overwrite \
         each other's rows, or a read finds an older table instead of the pipeline's.",
    ),
    (
        302,
        Warning,
        "several flows into a plain table",
        "Two streams that append to one table of files at the same time can lose rows: the server says so only in a retry's \
         error, if at all. Use one flow with UNION ALL, or a table format that takes concurrent writers.",
    ),
    (
        303,
        Warning,
        "conf that is fixed when the server starts",
        "Some confs of Spark, such as spark.sql.warehouse.dir or spark.executor.memory, are set where the server is started \
         and never again. A dry run passes over them; a run sets them before each flow, is refused, and fails after its \
         retries. The same holds for SET in a SQL file.",
    ),
    (
        304,
        Warning,
        "name that the session catalog refuses",
        "Spark's own catalog takes names of letters a to z, digits and _. A dry run does not notice; the run fails when it \
         makes the table.",
    ),
    (
        305,
        Warning,
        "partition columns that do not fit",
        "PARTITIONED BY and CLUSTER BY name columns of the table. Where the columns are declared, each must be among them, \
         once, and one must be left over. A dry run does not look; the run fails when it makes the table. Partition columns \
         of Spark's own catalog must even be written as declared, in upper and lower case.",
    ),
    (
        306,
        Warning,
        "view that nobody reads",
        "A temporary view exists only inside the pipeline; one that nothing reads does nothing.",
    ),
    (307, Warning, "IF NOT EXISTS means nothing", "A run updates what is there, with or without the words."),
    (
        308,
        Warning,
        "table hidden by a view",
        "Where a temporary view and a table have the same name, the name alone means the view. The table is reached by its \
         name with the database.",
    ),
    (
        309,
        Warning,
        "unknown name like a known one",
        "No file defines this name, so Spark looks for it in the catalog. A dataset of the pipeline has a name so like it \
         that it may be meant.",
    ),
    (
        310,
        Warning,
        "clustered materialized view of files",
        "In Spark's own catalog a run cannot write a materialized view of files with CLUSTER BY: it asks for partitions \
         instead, and fails with SPECIFY_CLUSTER_BY_WITH_PARTITIONED_BY_IS_NOT_ALLOWED. A streaming table can have it. A dry \
         run does not notice.",
    ),
    (
        401,
        Error,
        "the spec is not valid YAML",
        "The spec is read as YAML: one document of strings, lists and mappings, indented with spaces. Tags of programs are \
         not allowed and never run.",
    ),
    (
        402,
        Error,
        "field that no spec has",
        "A spec has the fields name, storage, catalog, database (or schema), configuration and libraries. Fields of other \
         systems' bundles, such as clusters or target, mean nothing to Apache Spark, whose own client refuses them too.",
    ),
    (403, Error, "missing field", "A spec needs a `name` and a `storage`, and what is begun needs a value."),
    (
        404,
        Error,
        "value of the wrong kind",
        "Names, paths and the values of confs are strings. YAML reads `4`, `yes` and `2024-01-01` as something else: put \
         such values in quotes.",
    ),
    (
        405,
        Error,
        "schema and database differ",
        "`schema` and `database` are two words for one field. Spark's own client takes `database` without a word.",
    ),
    (
        406,
        Error,
        "malformed entry of libraries",
        "`libraries` is a list; each entry is a mapping `glob`, with a mapping `include` that holds one path. Nothing else is \
         read, so that nothing is silently left out.",
    ),
    (
        407,
        Error,
        "glob that is refused",
        "An include is the path of one file, or a folder followed by `/**`, which takes every file under it. Spark's own \
         client takes no other pattern.",
    ),
    (
        408,
        Error,
        "glob that matches nothing",
        "An entry of `libraries` names no file. Paths start at the spec's folder.",
    ),
    (409, Error, "nothing to run", "The globs take no SQL file, so that the pipeline has no datasets."),
    (
        410,
        Error,
        "storage that no run can use",
        "`storage` is where streaming checkpoints are kept. It is a URI or a path, with every placeholder such as `${ROOT}`, \
         `{bucket}` or `__REPO__` filled in; no shell expands `~`.",
    ),
    (
        411,
        Warning,
        "checkpoints land elsewhere",
        "Spark encodes some characters of the storage's path, such as a space or `%`, once more than it decodes them. \
         Checkpoints then lie in a folder of another name than the one that the spec says, whatever spelling is sent.",
    ),
    (
        412,
        Warning,
        "storage without a scheme",
        "knut takes a storage without a scheme for a folder of this machine, relative to the spec, and sends it as a `file:` \
         URI. Spark's own client refuses it, and a server elsewhere looks on its own disk. Folders under `.knut` are left \
         out: a project's own server keeps its things there.",
    ),
    (
        413,
        Warning,
        "storage among the tables",
        "The storage lies in the folder that tables are kept in. A table of the same name takes that folder for its own, and \
         when the table is dropped or fully refreshed, checkpoints go with it.",
    ),
    (
        421,
        Error,
        "file that cannot be read",
        "A file of the project is not there, is too large, is not a regular file, or may not be read.",
    ),
    (
        422,
        Error,
        "text that is not UTF-8",
        "Specs, knut.toml and SQL files are UTF-8, with a byte order mark or without. What is not is never guessed at: the \
         server would be sent something else than the file says.",
    ),
    (
        423,
        Error,
        "file that defines nothing",
        "A glob takes every file of its folder, and only files that end in `.sql` define datasets. Spark's own client \
         refuses others too.",
    ),
    (
        424,
        Error,
        "Python definitions",
        "knut does not run Python. It refuses a project whose globs take Python files, because the graph would lack what \
         they define.",
    ),
    (501, Error, "knut.toml is not valid TOML", "knut.toml is read as TOML: tables named `[sources.NAME]`."),
    (
        502,
        Error,
        "key that knut.toml has not",
        "knut.toml has tables `[sources.NAME]` with format, path, schema, streaming and options. What the data source itself \
         takes stands under options.",
    ),
    (
        503,
        Error,
        "bad value in knut.toml",
        "A source needs a `format`; `path` is a string or a list of strings, `schema` a string, `streaming` true or false, \
         and options are strings, numbers or booleans.",
    ),
    (
        504,
        Error,
        "bad name of a source",
        "A source is read in SQL by its name, which has one part. Two sources whose names differ in case only are one to \
         Spark.",
    ),
    (
        505,
        Error,
        "bad path of a source",
        "A path without a scheme is one of this machine, relative to the project, and must exist. A path of the server's \
         machine is written as a URI.",
    ),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_read_and_print_and_are_in_order() {
        assert_eq!(Code::parse("k0203"), Some(Code::CYCLE));
        assert_eq!(Code::CYCLE.to_string(), "K0203");
        assert_eq!(Code::parse("K9999"), None);
        assert_eq!(Code::parse("203"), None);
        assert!(TABLE.windows(2).all(|rows| rows[0].0 < rows[1].0));
    }
}
