//! Reads a Spark Declarative Pipelines project into a dataflow graph.
//!
//! A project is a folder with a `spark-pipeline.yml` (the [`PipelineSpec`]), the `.sql` files its
//! globs name, and optionally knut's own `knut.toml` with [`Source`]s. Everything that is wrong
//! with it is told at once, each [`Problem`] with its place.
//!
//! ```
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let parent = tempfile::tempdir()?;
//! # let folder = parent.path().join("shop");
//! knut_project::init(&folder, "shop")?;
//! let spec = knut_project::find_spec(&folder)?;
//! let project = knut_project::Project::load(&spec)?;
//! let graph = project.graph()?;
//! assert_eq!(graph.datasets().len(), 1);
//! assert_eq!(graph.sql_files().len(), 2);
//! # Ok(())
//! # }
//! ```
//!
//! # Which files are read
//!
//! As the reference client does, an `include` is either the path of one file or `folder/**`, which
//! takes every file at any depth. A file with a part named `__pycache__` in its path is left out;
//! nothing else is, not even hidden files: `.DS_Store` or an editor's `.a.sql.swp` is an error that
//! names the file. Folders that are symbolic links are not entered, files that are links are read;
//! a broken link is an error, unless its name begins with a dot (Emacs' lock files). Only the
//! lower-case extension `.sql` is read; `.SQL` is an error here as it is there. Unlike the
//! reference, a file named by two globs is read once, files come in sorted order, and a byte order
//! mark is taken off.
//!
//! # What SQL means
//!
//! The server tells neither what SQL files define nor what their queries read, and one mistake at a
//! time. [`Project::sql_definitions`] reads all of it without a server: each statement with its
//! place, who reads whom, and what will be refused with what to write instead. It is compared with
//! a real server's answers to hundreds of statements; where it cannot tell, it says so
//! ([`Verdict::Undecided`], [`Certainty::Inferred`]).
//!
//! This crate must not know gRPC or an async runtime, and never talks to a server.

mod check;
mod code;
mod discover;
mod find;
mod flow_reads;
mod init;
mod library;
mod outline;
mod picture;
mod problem;
mod project;
mod project_files;
mod scalar;
mod secrets;
mod source_path;
mod sources;
mod spec;
mod sql;
mod storage;
mod suggest;
mod text;
mod unchecked;
mod yaml;

pub use check::{CheckedFile, Checkup, FileSpan, Finding, check};
pub use code::{Code, Severity};
pub use find::{find_spec, nearest_spec, spec_at};
pub use flow_reads::flow_reads;
pub use init::init;
pub use library::{Library, LibraryPattern};
pub use problem::{Problem, Problems};
pub use project::{Project, remote_of, spec_of};
pub use sources::Source;
pub use spec::{PipelineSpec, Remote};
pub use sql::{
    Certainty, ColumnChoice, DefinedDataset, DefinedEdge, DefinedFlow, EdgeSource, FilePlace, QueryReads, ReadSource,
    ReadSqlFile, RefusalReason, SqlAutoCdc, SqlChunk, SqlColumn, SqlContent, SqlContext, SqlDataset, SqlDefinitions,
    SqlFill, SqlFlow, SqlName, SqlQuery, SqlRead, SqlRefusal, SqlStatement, StatementIndex, TextPlace, Verdict,
    query_reads, read_sql, reported_chunk, reported_place, split_sql,
};
pub use storage::{Storage, StorageError};
pub use suggest::nearest;
#[doc(hidden)]
pub use unchecked::{source_problems, spec_problems};
