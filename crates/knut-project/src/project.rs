//! A whole project: its spec, its sources and its SQL files, read and checked together.

use std::path::{Path, PathBuf};

use knut_model::{DataflowGraph, Dataset, SourceLocation, SqlFile};

use crate::discover::discover;
use crate::problem::{Place, Problem, Problems};
use crate::sources::{MAX_TOML_BYTES, Source, read_sources};
use crate::spec::{MAX_SPEC_BYTES, PipelineSpec, Remote, SpecReading, read_spec};
use crate::sql::{FilePlace, SqlContext, SqlDefinitions, TextPlace};
use crate::storage::Storage;
use crate::text::{self, quoted, reason};

/// The file with knut's own settings, beside the spec.
const KNUT_TOML: &str = "knut.toml";

/// The server that a spec names, without reading the rest of its project; `None` if it names none.
///
/// # Errors
/// When the spec cannot be read or is not valid.
pub fn remote_of(spec_path: &Path) -> Result<Option<Remote>, Problems> {
    let shown = spec_path.display().to_string();
    let unreadable = |why: String| Problems::from(Problem::new(&*shown, why));
    let absolute = std::path::absolute(spec_path).map_err(|error| unreadable(reason(&error)))?;
    let root = absolute.parent().unwrap_or(&absolute);
    let text = text::read(&absolute, &shown, MAX_SPEC_BYTES)?;
    let reading = read_spec(&text, &shown, root, None);
    match Problems::from_list(reading.problems) {
        Some(problems) => Err(problems),
        None => Ok(reading.spec.and_then(|spec| spec.remote)),
    }
}

/// A project as it lies on the disk.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Project {
    /// The spec's folder, absolute and without symbolic links. All relative paths start here.
    pub root: PathBuf,
    /// The spec's file name in `root`.
    pub spec_file: String,
    /// What the spec says.
    pub spec: PipelineSpec,
    /// The sources of `knut.toml` in the order written; empty without that file.
    pub sources: Vec<Source>,
    /// The SQL files under the spec's globs, each once, sorted by path.
    pub sql_files: Vec<SqlFile>,
    /// What works, but probably not as meant.
    pub warnings: Vec<Problem>,
}

impl Project {
    /// Reads the project of a spec and everything its spec names.
    ///
    /// # Errors
    /// Every problem of the spec, of `knut.toml` and of the files under the globs; a mistake in one
    /// hides no mistake in another.
    pub fn load(spec_path: &Path) -> Result<Self, Problems> {
        Self::load_with_storage(spec_path, None)
    }

    /// As [`Project::load`], with a `storage` that takes the place of the spec's own, which may then
    /// be missing or unfit. `None` takes the spec's.
    ///
    /// # Errors
    /// As [`Project::load`].
    pub fn load_with_storage(spec_path: &Path, storage: Option<Storage>) -> Result<Self, Problems> {
        Self::load_as(spec_path, storage, true)
    }

    /// As [`Project::load`], for what the project defines alone, as in a copy of its files without
    /// its data: the files of its sources may be missing, and its `storage` may be unfit.
    ///
    /// # Errors
    /// As [`Project::load`].
    pub fn load_definitions(spec_path: &Path) -> Result<Self, Problems> {
        Self::load_as(spec_path, Storage::resolve("file:///none", Path::new("/")).ok(), false)
    }

    fn load_as(spec_path: &Path, storage: Option<Storage>, has_data: bool) -> Result<Self, Problems> {
        let shown = spec_path.display().to_string();
        let unreadable = |why: String| Problems::from(Problem::new(&*shown, why));
        let absolute = std::path::absolute(spec_path).map_err(|error| unreadable(reason(&error)))?;
        let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(unreadable("a folder is no spec".to_owned()));
        };
        let root = folder
            .canonicalize()
            .map_err(|error| unreadable(format!("the folder of the spec cannot be read: {}", reason(&error))))?;
        let spec_file = name.to_string_lossy().into_owned();

        let mut reading = match text::read(&absolute, &spec_file, MAX_SPEC_BYTES) {
            Ok(text) => read_spec(&text, &spec_file, &root, storage),
            Err(problem) => SpecReading { problems: vec![problem], ..SpecReading::default() },
        };
        let mut problems = std::mem::take(&mut reading.problems);
        let (sources, source_problems) = load_sources(&root, has_data);
        problems.extend(source_problems);
        let (sql_files, file_problems) = discover(&root, &spec_file, &reading.libraries);
        let is_complete = file_problems.is_empty() && !reading.libraries_bad;
        problems.extend(file_problems);
        if let (Some(place), true, true) = (reading.libraries_place, sql_files.is_empty(), is_complete) {
            problems.push(nothing_to_run(&spec_file, place));
        }
        match (reading.spec, Problems::from_list(problems)) {
            (Some(spec), None) => {
                let warnings = storage_warning(&spec_file, reading.storage_place, &spec).into_iter().collect();
                Ok(Self { root, spec_file, spec, sources, sql_files, warnings })
            }
            (_, Some(problems)) => Err(problems),
            // Not reached: a spec is only withheld with a reason.
            (None, None) => Err(unreadable("the spec cannot be read".to_owned())),
        }
    }

    /// What the SQL files define and read; the sources of `knut.toml` are temporary views in it.
    ///
    /// It is for checks and pictures. What is registered is [`Project::graph`], with the SQL files
    /// as they are.
    pub fn sql_definitions(&self) -> SqlDefinitions {
        let view = |source: &Source| {
            let place = TextPlace { line: source.line, column: 1 };
            (source.name.clone(), FilePlace::new(KNUT_TOML, place))
        };
        let context = SqlContext {
            catalog: self.spec.catalog.clone(),
            database: self.spec.database.clone(),
            temporary_views: self.sources.iter().map(view).collect(),
        };
        SqlDefinitions::read(&self.sql_files, &context)
    }

    /// The project as the graph that is registered on a server: sources as temporary views first,
    /// then the SQL files.
    ///
    /// # Errors
    /// What is wrong with the graph as a whole. A project that [`Project::load`] accepted has
    /// nothing of that kind unless its fields were changed.
    pub fn graph(&self) -> Result<DataflowGraph, Problems> {
        let mut graph = DataflowGraph::builder();
        if let Some(catalog) = &self.spec.catalog {
            graph = graph.default_catalog(catalog);
        }
        if let Some(database) = &self.spec.database {
            graph = graph.default_database(database);
        }
        for (key, value) in &self.spec.configuration {
            graph = graph.sql_conf(key, value);
        }
        for source in &self.sources {
            let location = SourceLocation { file: KNUT_TOML.to_owned(), line: Some(source.line) };
            let view = Dataset::temporary_view(source.name.to_string()).query(source.read.clone());
            graph = graph.dataset(view.source_location(location));
        }
        for file in &self.sql_files {
            graph = graph.sql_file(&*file.path, &*file.text);
        }
        graph.build().map_err(|error| {
            let told = error.problems().iter().map(|problem| Problem::new(KNUT_TOML, problem.to_string()));
            Problems::from_list(told.collect()).unwrap_or_else(|| Problem::new(KNUT_TOML, error.to_string()).into())
        })
    }
}

fn load_sources(root: &Path, must_exist: bool) -> (Vec<Source>, Vec<Problem>) {
    let path = root.join(KNUT_TOML);
    // A broken link is somebody's `knut.toml` and must not pass for none.
    if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return (Vec::new(), Vec::new());
    }
    match text::read(&path, KNUT_TOML, MAX_TOML_BYTES) {
        Ok(text) => read_sources(&text, KNUT_TOML, root, must_exist),
        Err(problem) => (Vec::new(), vec![problem]),
    }
}

fn nothing_to_run(spec_file: &str, place: Place) -> Problem {
    let help = "name them under `libraries`\n- glob:\n    include: transformations/**";
    Problem::new(spec_file, "the project has no SQL files, so there is nothing to run").at(place).help(help)
}

/// Tells of a storage whose path Spark will not keep; see [`Storage::checkpoint_uri`](crate::Storage::checkpoint_uri).
fn storage_warning(spec_file: &str, place: Option<Place>, spec: &PipelineSpec) -> Option<Problem> {
    let really = spec.storage.checkpoint_uri();
    if really == spec.storage.uri {
        return None;
    }
    let message =
        format!("Spark will keep the checkpoints under {}, not under {}", quoted(&really), quoted(&spec.storage.uri));
    let help = "its path has a character that Spark encodes, such as a space: choose a storage of plain characters";
    let problem = Problem::new(spec_file, message).help(help);
    Some(match place {
        Some(place) => problem.at(place),
        None => problem,
    })
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
