//! Reads all files of a project, as far as they can be read, and keeps every problem. What follows
//! from the files as a whole is the business of `project` and `check`.

use std::path::{Path, PathBuf};

use knut_model::SqlFile;

use crate::code::Code;
use crate::discover::discover;
use crate::problem::{Place, Problem, Problems};
use crate::project::Project;
use crate::sources::{MAX_TOML_BYTES, Source, read_sources};
use crate::spec::{MAX_SPEC_BYTES, SpecReading, read_spec};
use crate::sql::{FilePlace, SqlContext, TextPlace};
use crate::storage::Storage;
use crate::text::{self, reason};

/// The file with knut's own settings, beside the spec.
pub(crate) const KNUT_TOML: &str = "knut.toml";

/// What could be read of a project.
pub(crate) struct ProjectFiles {
    /// The spec's folder, absolute and without symbolic links.
    pub(crate) root: PathBuf,
    /// The spec's file name in `root`.
    pub(crate) spec_file: String,
    /// The spec's text; `None` if it cannot be read.
    pub(crate) spec_text: Option<String>,
    /// What the spec says; its problems are in `problems`.
    pub(crate) reading: SpecReading,
    /// The text of `knut.toml`; `None` if there is none or it cannot be read.
    pub(crate) toml_text: Option<String>,
    /// The sources that are right, whatever else is wrong.
    pub(crate) sources: Vec<Source>,
    /// The SQL files that can be read, sorted by path.
    pub(crate) sql_files: Vec<SqlFile>,
    /// Everything that is wrong: the spec's problems by place, then `knut.toml`'s, then those of the
    /// files in sorted order.
    pub(crate) problems: Vec<Problem>,
    /// Whether these are all the definitions, so that what is not here is not there.
    pub(crate) is_whole: bool,
}

impl ProjectFiles {
    /// Reads what a spec names. A `storage` that is given takes the place of the spec's own. Without
    /// `has_data` the files of the sources may be missing.
    ///
    /// # Errors
    /// When the spec's folder cannot be read.
    pub(crate) fn read(spec_path: &Path, storage: Option<Storage>, has_data: bool) -> Result<Self, Problem> {
        let shown = spec_path.display().to_string();
        let unreadable = |why: String| Problem::new(Code::UNREADABLE_FILE, &*shown, why);
        let absolute = std::path::absolute(spec_path).map_err(|error| unreadable(reason(&error)))?;
        let (Some(folder), Some(name)) = (absolute.parent(), absolute.file_name()) else {
            return Err(unreadable("a folder is no spec".to_owned()));
        };
        let root = folder
            .canonicalize()
            .map_err(|error| unreadable(format!("the folder of the spec cannot be read: {}", reason(&error))))?;
        let spec_file = name.to_string_lossy().into_owned();

        let (spec_text, mut reading) = match text::read(&absolute, &spec_file, MAX_SPEC_BYTES) {
            Ok(text) => {
                let reading = read_spec(&text, &spec_file, &root, storage);
                (Some(text), reading)
            }
            Err(problem) => {
                (None, SpecReading { problems: vec![problem], is_graph_bad: true, ..SpecReading::default() })
            }
        };
        let mut problems = std::mem::take(&mut reading.problems);
        let (toml_text, sources, source_problems) = load_sources(&root, has_data);
        let (sql_files, file_problems) = discover(&root, &spec_file, &reading.libraries);
        let has_all_files = file_problems.is_empty() && !reading.libraries_bad;
        let is_whole = has_all_files && source_problems.is_empty() && !reading.is_graph_bad;
        problems.extend(source_problems);
        problems.extend(file_problems);
        if let (Some(place), true, true) = (reading.libraries_place, sql_files.is_empty(), has_all_files) {
            problems.push(nothing_to_run(&spec_file, place));
        }
        Ok(Self { root, spec_file, spec_text, reading, toml_text, sources, sql_files, problems, is_whole })
    }

    /// The project, if nothing is wrong with its files.
    ///
    /// # Errors
    /// Every problem.
    pub(crate) fn into_project(self) -> Result<Project, Problems> {
        match (self.reading.spec, Problems::from_list(self.problems)) {
            (Some(spec), None) => Ok(Project {
                root: self.root,
                spec_file: self.spec_file,
                spec,
                sources: self.sources,
                sql_files: self.sql_files,
            }),
            (_, Some(problems)) => Err(problems),
            // Not reached: a spec is only withheld with a reason.
            (None, None) => Err(Problem::new(Code::UNREADABLE_FILE, self.spec_file, "the spec cannot be read").into()),
        }
    }
}

/// How names of the project's SQL files are read: its defaults, and its sources as temporary views.
pub(crate) fn sql_context(catalog: Option<&str>, database: Option<&str>, sources: &[Source]) -> SqlContext {
    let view = |source: &Source| {
        let place = TextPlace { line: source.line, column: 1 };
        (source.name.clone(), FilePlace::new(KNUT_TOML, place))
    };
    SqlContext {
        catalog: catalog.map(str::to_owned),
        database: database.map(str::to_owned),
        temporary_views: sources.iter().map(view).collect(),
    }
}

fn load_sources(root: &Path, must_exist: bool) -> (Option<String>, Vec<Source>, Vec<Problem>) {
    let path = root.join(KNUT_TOML);
    // A broken link is somebody's `knut.toml` and must not pass for none.
    if path.symlink_metadata().is_err_and(|error| error.kind() == std::io::ErrorKind::NotFound) {
        return (None, Vec::new(), Vec::new());
    }
    match text::read(&path, KNUT_TOML, MAX_TOML_BYTES) {
        Ok(text) => {
            let (sources, problems) = read_sources(&text, KNUT_TOML, root, must_exist);
            (Some(text), sources, problems)
        }
        Err(problem) => (None, Vec::new(), vec![problem]),
    }
}

fn nothing_to_run(spec_file: &str, place: Place) -> Problem {
    let help = "name them under `libraries`\n- glob:\n    include: transformations/**";
    let message = "the project has no SQL files, so there is nothing to run";
    Problem::new(Code::NOTHING_TO_RUN, spec_file, message).at(place).help(help)
}
