//! What all SQL files of a project define together, and who reads whom.
//!
//! Names are resolved as the server resolves them. Source: Spark 4.3, `FlowAnalysis` and
//! `SqlGraphRegistrationContext`; observed: unlike elsewhere in Spark, upper and lower case count.

use std::collections::{BTreeMap, HashMap};
use std::num::NonZero;
use std::ops::Range;
use std::sync::Arc;
use std::thread;

use knut_model::{DatasetKind, Identifier, SqlFile};

use crate::sql::file::read_sql;
use crate::sql::reads::{Certainty, ReadSource};
use crate::sql::refusal::{RefusalReason, SqlRefusal};
use crate::sql::split::{PlaceCounter, TextPlace};
use crate::sql::statement::{SqlContent, SqlDataset, SqlFlow, SqlName, SqlQuery, SqlStatement};

/// The definitions of a project's SQL files.
///
/// Indexes in it are positions in its own lists.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlDefinitions {
    /// The files, in the order in which they are registered.
    pub files: Vec<ReadSqlFile>,
    /// Every dataset, also those that are defined twice. Views that the caller named come first.
    pub datasets: Vec<DefinedDataset>,
    /// Every flow; a dataset's own query makes one too.
    pub flows: Vec<DefinedFlow>,
    /// Who reads whom, flow by flow.
    pub edges: Vec<DefinedEdge>,
}

/// A SQL file and its statements.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct ReadSqlFile {
    /// Its path, as in the project.
    pub path: String,
    /// Its statements in order.
    pub statements: Vec<SqlStatement>,
}

/// A place in one of the project's files.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct FilePlace {
    /// The file.
    pub file: String,
    /// The place in it.
    pub place: TextPlace,
}

/// A dataset of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinedDataset {
    /// Its name, with the catalog and database as far as they are known. A temporary view has one
    /// part.
    pub name: Identifier,
    /// Its kind.
    pub kind: DatasetKind,
    /// Where its name stands.
    pub place: FilePlace,
    /// The file and the statement that define it; `None` for views that the caller named.
    pub statement: Option<StatementIndex>,
}

/// A statement by its position.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub struct StatementIndex {
    /// The position of its file.
    pub file: usize,
    /// Its position in the file.
    pub statement: usize,
}

/// A flow of the project.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinedFlow {
    /// Its name, with the catalog and database as far as they are known.
    pub name: Identifier,
    /// The name of the dataset that it writes into.
    pub target: Identifier,
    /// That dataset; `None` if no file defines it.
    pub target_dataset: Option<usize>,
    /// Spark confs that `SET` statements before it in its file have set.
    pub sql_conf: Arc<BTreeMap<String, String>>,
    /// Where its name stands.
    pub place: FilePlace,
    /// The statement that defines it.
    pub statement: StatementIndex,
}

/// One read of one flow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct DefinedEdge {
    /// The flow that reads.
    pub flow: usize,
    /// What it reads.
    pub from: EdgeSource,
    /// Whether as a stream.
    pub is_streaming: bool,
    /// How sure the read is.
    pub certainty: Certainty,
    /// Where the name stands that is read.
    pub place: FilePlace,
    /// Its bytes in that file.
    pub span: Range<usize>,
}

/// What a flow reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum EdgeSource {
    /// A dataset of the project.
    Dataset(usize),
    /// A table or view that no file defines, with the catalog and database as far as they are known.
    External {
        /// Its name.
        name: Identifier,
        /// A dataset whose name differs in upper and lower case only. The server does not take it
        /// for the same.
        differs_in_case: Option<usize>,
    },
    /// Files.
    Files {
        /// The data source.
        format: String,
        /// The file or folder.
        path: String,
    },
}

/// What names without catalog and database mean, and which views exist besides those of SQL files.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SqlContext {
    /// The catalog; `None` if it is not known. Names are then compared as if it were Spark's own,
    /// `spark_catalog`.
    pub catalog: Option<String>,
    /// The database; `None` if it is not known. Names are then compared as if it were Spark's own,
    /// `default`.
    pub database: Option<String>,
    /// Temporary views that are defined elsewhere, each with its place.
    pub temporary_views: Vec<(Identifier, FilePlace)>,
}

impl FilePlace {
    /// A place in a file.
    pub fn new(file: impl Into<String>, place: TextPlace) -> Self {
        Self { file: file.into(), place }
    }
}

impl SqlDefinitions {
    /// Whether every statement was read to its end, so that what is not here is not there.
    pub fn is_complete(&self) -> bool {
        let mut statements = self.files.iter().flat_map(|file| &file.statements);
        statements.all(|statement| !matches!(statement.content, SqlContent::Unread))
    }

    /// Reads the files of a project.
    ///
    /// ```
    /// use knut_model::SqlFile;
    /// use knut_project::{EdgeSource, SqlContext, SqlDefinitions};
    ///
    /// let text = "CREATE MATERIALIZED VIEW a AS SELECT 1 AS id; CREATE MATERIALIZED VIEW b AS SELECT * FROM a";
    /// let file = SqlFile { path: "x.sql".to_owned(), text: text.to_owned() };
    /// let definitions = SqlDefinitions::read(&[file], &SqlContext::default());
    /// assert_eq!(definitions.edges[0].from, EdgeSource::Dataset(0));
    /// ```
    pub fn read(files: &[SqlFile], context: &SqlContext) -> Self {
        let mut reader = Reader::default();
        for (name, place) in &context.temporary_views {
            let (name, place) = (name.clone(), place.clone());
            let view = DefinedDataset { name, kind: DatasetKind::TemporaryView, place, statement: None };
            reader.out.datasets.push(view);
        }
        for (file, statements) in files.iter().zip(read_all(files)) {
            reader.file(file, statements, context);
        }
        reader.resolve()
    }
}

/// Reads each file for itself, on as many threads as there are processors: it is most of the work.
fn read_all(files: &[SqlFile]) -> Vec<Vec<SqlStatement>> {
    let n_threads = thread::available_parallelism().map_or(1, NonZero::get);
    let n_each = files.len().div_ceil(n_threads).max(MIN_FILES);
    let read = |files: &[SqlFile]| files.iter().map(|file| read_sql(&file.text)).collect::<Vec<_>>();
    let (first, others) = files.split_at(n_each.min(files.len()));
    thread::scope(|scope| {
        let others: Vec<_> = others.chunks(n_each).map(|files| (files, scope.spawn(move || read(files)))).collect();
        let mut all = read(first);
        for (files, reading) in others {
            // A reader takes any text; should one fail all the same, it fails here as without a thread.
            all.extend(reading.join().unwrap_or_else(|_| read(files)));
        }
        all
    })
}

/// Fewer files than this are not worth a thread.
const MIN_FILES: usize = 32;

/// What `USE` and `SET` have set so far in a file.
struct State {
    catalog: Option<String>,
    database: Option<String>,
    has_no_database: bool,
    sql_conf: Arc<BTreeMap<String, String>>,
}

impl State {
    /// The name with the parts that it lacks.
    fn qualified(&self, name: &Identifier) -> Identifier {
        let mut parts = name.parts().to_vec();
        if parts.len() == 1
            && let Some(database) = &self.database
        {
            parts.insert(0, database.clone());
        }
        if parts.len() == 2
            && let Some(catalog) = &self.catalog
        {
            parts.insert(0, catalog.clone());
        }
        // Never more than three parts, none of them empty.
        Identifier::from_parts(parts).unwrap_or_else(|_| name.clone())
    }
}

/// A read that waits until all files are known.
struct Pending {
    edge: DefinedEdge,
    /// The name as written, if it can be a temporary view's.
    single: Option<String>,
    /// Whether it can be a dataset of the graph at all.
    is_current: bool,
}

#[derive(Default)]
struct Reader {
    out: SqlDefinitions,
    pending: Vec<Pending>,
}

impl Reader {
    fn file(&mut self, file: &SqlFile, mut statements: Vec<SqlStatement>, context: &SqlContext) {
        let mut state = State {
            catalog: context.catalog.clone(),
            database: context.database.clone(),
            has_no_database: false,
            sql_conf: Arc::default(),
        };
        let mut places = PlaceCounter::new(&file.text);
        let mut place = |offset: usize| FilePlace::new(&*file.path, places.of(offset));
        for (index, statement) in statements.iter_mut().enumerate() {
            let at = StatementIndex { file: self.out.files.len(), statement: index };
            let refusal = match &statement.content {
                SqlContent::Dataset(dataset) => self.dataset(dataset, at, &state, &mut place),
                SqlContent::Flow(flow) => self.flow(flow, at, &state, &mut place),
                SqlContent::SetConf { key, value } => {
                    Arc::make_mut(&mut state.sql_conf).insert(key.clone(), value.clone());
                    None
                }
                SqlContent::SetCatalog { catalog } => {
                    // Spark forgets the database with the catalog.
                    (state.catalog, state.database, state.has_no_database) = (catalog.clone(), None, true);
                    None
                }
                SqlContent::UseDatabase { catalog, database } => {
                    state.has_no_database = false;
                    state.database.clone_from(database);
                    if catalog.is_some() {
                        state.catalog.clone_from(catalog);
                    }
                    None
                }
                SqlContent::Unread => None,
            };
            statement.refusals.extend(refusal);
        }
        self.out.files.push(ReadSqlFile { path: file.path.clone(), statements });
    }

    fn dataset(
        &mut self,
        dataset: &SqlDataset,
        at: StatementIndex,
        state: &State,
        place: &mut impl FnMut(usize) -> FilePlace,
    ) -> Option<SqlRefusal> {
        let written = dataset.name.as_ref()?;
        let is_view = dataset.kind == DatasetKind::TemporaryView;
        let name = if is_view { written.identifier.clone() } else { state.qualified(&written.identifier) };
        let name_place = place(written.span.start);
        let refusal = if is_view { None } else { no_database(written, state) };
        let (kind, statement) = (dataset.kind, Some(at));
        self.out.datasets.push(DefinedDataset { name: name.clone(), kind, place: name_place.clone(), statement });
        if let Some(fill) = &dataset.fill {
            self.add_flow(name.clone(), name, name_place, at, state);
            self.reads(fill.query(), state, place);
        }
        refusal
    }

    fn flow(
        &mut self,
        flow: &SqlFlow,
        at: StatementIndex,
        state: &State,
        place: &mut impl FnMut(usize) -> FilePlace,
    ) -> Option<SqlRefusal> {
        let (name, target) = (flow.name.as_ref()?, flow.target.as_ref()?);
        let name_place = place(name.span.start);
        let target_name = state.qualified(&target.identifier);
        self.add_flow(state.qualified(&name.identifier), target_name, name_place, at, state);
        self.reads(flow.fill.query(), state, place);
        no_database(name, state)
    }

    fn add_flow(&mut self, name: Identifier, target: Identifier, place: FilePlace, at: StatementIndex, state: &State) {
        let sql_conf = Arc::clone(&state.sql_conf);
        self.out.flows.push(DefinedFlow { name, target, target_dataset: None, sql_conf, place, statement: at });
    }

    fn reads(&mut self, query: &SqlQuery, state: &State, place: &mut impl FnMut(usize) -> FilePlace) {
        let flow = self.out.flows.len().saturating_sub(1);
        for read in &query.reads.reads {
            let (from, single, is_current) = match &read.source {
                ReadSource::Name(name) => {
                    let single = name.is_single_part().then(|| name.name().to_owned());
                    (EdgeSource::External { name: state.qualified(name), differs_in_case: None }, single, true)
                }
                ReadSource::TimeTravel(name) => {
                    (EdgeSource::External { name: state.qualified(name), differs_in_case: None }, None, false)
                }
                ReadSource::Path { format, path } => {
                    (EdgeSource::Files { format: format.clone(), path: path.clone() }, None, true)
                }
            };
            let (is_streaming, certainty) = (read.is_streaming, read.certainty);
            let (span, place) = (read.span.clone(), place(read.span.start));
            let edge = DefinedEdge { flow, from, is_streaming, certainty, place, span };
            self.pending.push(Pending { edge, single, is_current });
        }
    }

    /// Finds the datasets that the reads and targets mean.
    fn resolve(mut self) -> SqlDefinitions {
        let (mut views, mut tables) = (Index::default(), Index::default());
        for (index, dataset) in self.out.datasets.iter().enumerate() {
            if dataset.kind == DatasetKind::TemporaryView {
                views.add(dataset.name.name().to_owned(), index);
            } else {
                tables.add(full_name(&dataset.name), index);
            }
        }
        for flow in &mut self.out.flows {
            let view = if flow.name == flow.target { views.exact(flow.target.name()) } else { None };
            // A view's own flow is its own even if its name has more parts than it may have.
            flow.target_dataset = view.filter(|view| self.out.datasets[*view].place == flow.place);
            let view = view.filter(|_| flow.target.is_single_part());
            flow.target_dataset = flow.target_dataset.or_else(|| tables.exact(&full_name(&flow.target))).or(view);
        }
        for Pending { mut edge, single, is_current } in self.pending {
            if let (EdgeSource::External { name, .. }, true) = (&edge.from, is_current) {
                let full = full_name(name);
                let exact = single.as_deref().and_then(|single| views.exact(single)).or_else(|| tables.exact(&full));
                let similar =
                    || single.as_deref().and_then(|single| views.similar(single)).or_else(|| tables.similar(&full));
                edge.from = match exact {
                    Some(index) => EdgeSource::Dataset(index),
                    None => EdgeSource::External { name: name.clone(), differs_in_case: similar() },
                };
            }
            self.out.edges.push(edge);
        }
        self.out
    }
}

/// Observed: a name that needs the current database fails while there is none.
fn no_database(name: &SqlName, state: &State) -> Option<SqlRefusal> {
    let fails = state.has_no_database && name.identifier.is_single_part();
    fails.then(|| SqlRefusal::new(RefusalReason::NoDatabase, name.span.clone()))
}

/// The name for comparison. A NUL cannot be confused with a dot in a part.
fn full_name(name: &Identifier) -> String {
    let defaults = ["spark_catalog", "default"];
    let missing = 3_usize.saturating_sub(name.parts().len());
    let all = defaults.iter().take(missing).copied().chain(name.parts().iter().map(String::as_str));
    all.collect::<Vec<_>>().join("\0")
}

/// Datasets by name; the first of a name counts.
#[derive(Default)]
struct Index {
    exact: HashMap<String, usize>,
    folded: HashMap<String, usize>,
}

impl Index {
    fn add(&mut self, name: String, index: usize) {
        self.folded.entry(name.to_lowercase()).or_insert(index);
        self.exact.entry(name).or_insert(index);
    }

    fn exact(&self, name: &str) -> Option<usize> {
        self.exact.get(name).copied()
    }

    fn similar(&self, name: &str) -> Option<usize> {
        self.folded.get(&name.to_lowercase()).copied()
    }
}

#[cfg(test)]
#[path = "definitions_tests.rs"]
mod tests;
