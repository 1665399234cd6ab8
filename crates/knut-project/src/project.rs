//! A whole project: its spec, its sources and its SQL files, read and checked together.

use std::path::{Path, PathBuf};

use knut_model::{DataflowGraph, Dataset, SourceLocation, SqlFile};

use crate::code::Code;
use crate::problem::{Problem, Problems};
use crate::project_files::{KNUT_TOML, ProjectFiles, sql_context};
use crate::sources::Source;
use crate::spec::{MAX_SPEC_BYTES, PipelineSpec, Remote, read_spec};
use crate::sql::SqlDefinitions;
use crate::storage::Storage;
use crate::text::{self, reason};

/// The server that a spec names, without reading the rest of its project; `None` if it names none.
///
/// # Errors
/// When the spec cannot be read or is not valid.
pub fn remote_of(spec_path: &Path) -> Result<Option<Remote>, Problems> {
    Ok(spec_of(spec_path)?.and_then(|spec| spec.remote))
}

/// What a spec says, without reading the rest of its project; `None` if it says nothing.
///
/// # Errors
/// When the spec cannot be read or is not valid.
pub fn spec_of(spec_path: &Path) -> Result<Option<PipelineSpec>, Problems> {
    let shown = spec_path.display().to_string();
    let unreadable = |why: String| Problems::from(Problem::new(Code::UNREADABLE_FILE, &*shown, why));
    let absolute = std::path::absolute(spec_path).map_err(|error| unreadable(reason(&error)))?;
    let root = absolute.parent().unwrap_or(&absolute);
    let text = text::read(&absolute, &shown, MAX_SPEC_BYTES)?;
    let reading = read_spec(&text, &shown, root, None);
    match Problems::from_list(reading.problems) {
        Some(problems) => Err(problems),
        None => Ok(reading.spec),
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
        ProjectFiles::read(spec_path, storage, true)?.into_project()
    }

    /// As [`Project::load`], for what the project defines alone, as in a copy of its files without
    /// its data: the files of its sources may be missing, and its `storage` may be unfit.
    ///
    /// # Errors
    /// As [`Project::load`].
    pub fn load_definitions(spec_path: &Path) -> Result<Self, Problems> {
        let storage = Storage::resolve("file:///none", Path::new("/")).ok();
        ProjectFiles::read(spec_path, storage, false)?.into_project()
    }

    /// What the SQL files define and read; the sources of `knut.toml` are temporary views in it.
    ///
    /// It is for checks and pictures. What is registered is [`Project::graph`], with the SQL files
    /// as they are.
    pub fn sql_definitions(&self) -> SqlDefinitions {
        let (catalog, database) = (self.spec.catalog.as_deref(), self.spec.database.as_deref());
        let context = sql_context(catalog, database, &self.sources);
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
            let told =
                error.problems().iter().map(|problem| Problem::new(Code::BAD_VALUE, KNUT_TOML, problem.to_string()));
            Problems::from_list(told.collect())
                .unwrap_or_else(|| Problem::new(Code::BAD_VALUE, KNUT_TOML, error.to_string()).into())
        })
    }
}

#[cfg(test)]
#[path = "project_tests.rs"]
mod tests;
