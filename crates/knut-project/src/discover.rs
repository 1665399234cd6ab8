//! Finds the definition files that a spec's globs name.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use knut_model::SqlFile;

use crate::code::Code;
use crate::library::{Library, LibraryPattern};
use crate::problem::{Place, Problem};
use crate::text::{self, quoted, reason};

/// The largest SQL file that is read. A server takes no larger request by default.
const MAX_SQL_BYTES: u64 = 64 * 1024 * 1024;

/// How many files that cannot be used are told one by one.
const MAX_TOLD: usize = 10;

/// The folder that Python keeps compiled modules in.
const PYTHON_CACHE: &str = "__pycache__";

/// A file under a glob.
#[derive(PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// Relative to the project, parts joined by `/`.
    shown: String,
    path: PathBuf,
}

/// The SQL files under the globs, each once, sorted by path, and what is wrong with the others.
///
/// `spec` names the spec in problems.
pub(crate) fn discover(root: &Path, spec: &str, libraries: &[Library]) -> (Vec<SqlFile>, Vec<Problem>) {
    let mut problems = Vec::new();
    let mut found = BTreeSet::new();
    for library in libraries {
        let mut walk = Walk { spec, root, library, found: Vec::new(), problems: Vec::new() };
        match &library.pattern {
            LibraryPattern::File(path) => walk.file(path),
            LibraryPattern::Folder(path) => walk.folder(path),
        }
        problems.append(&mut walk.problems);
        found.extend(walk.found);
    }
    let mut seen = BTreeSet::new();
    let found: Vec<Found> = found.into_iter().filter(|file| seen.insert(canonical(&file.path))).collect();

    let (sql, others): (Vec<Found>, Vec<Found>) = found.into_iter().partition(|file| has_extension(file, "sql"));
    let (python, others): (Vec<Found>, Vec<Found>) = others.into_iter().partition(|file| has_extension(file, "py"));
    problems.extend(python_problem(spec, libraries, &python));
    unsupported(&others, &mut problems);
    let mut sql_files = Vec::new();
    for file in sql {
        match text::read(&file.path, &file.shown, MAX_SQL_BYTES) {
            Ok(text) => sql_files.push(SqlFile { path: file.shown, text }),
            Err(problem) => problems.push(problem),
        }
    }
    (sql_files, problems)
}

/// The path without links, so that a file found twice is known; as it is when that cannot be said.
fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

fn has_extension(file: &Found, extension: &str) -> bool {
    file.path.extension().is_some_and(|ext| ext == extension)
}

fn python_problem(spec: &str, libraries: &[Library], python: &[Found]) -> Option<Problem> {
    if python.is_empty() {
        return None;
    }
    let names: Vec<String> = python.iter().map(|file| quoted(&file.shown)).collect();
    let message = format!("knut does not run Python definitions yet, and the globs take {}", names.join(", "));
    let place = libraries.first().map_or(Place::new(1, 1, 0), Library::place);
    let help = "nothing was registered, because the graph would lack what they define: write them in SQL, or move them \
                out of the globs";
    Some(Problem::new(Code::PYTHON_DEFINITIONS, spec, message).at(place).help(help))
}

fn unsupported(others: &[Found], problems: &mut Vec<Problem>) {
    for file in others.iter().take(MAX_TOLD) {
        let problem = Problem::new(
            Code::NO_DEFINITION_FILE,
            &*file.shown,
            "not a definition file: only files that end in `.sql` are read",
        );
        let help = if file.path.extension().is_some_and(|ext| ext.eq_ignore_ascii_case("sql")) {
            "give it the lower-case extension `.sql`: Spark's own client reads no other"
        } else {
            "move it out of the globs, which take every file of a folder"
        };
        problems.push(problem.help(help));
    }
    if let Some(next) = others.get(MAX_TOLD) {
        let message =
            format!("{} more files are no definition files, this one and those after it", others.len() - MAX_TOLD);
        problems.push(Problem::new(Code::NO_DEFINITION_FILE, &*next.shown, message));
    }
}

/// The search of one glob.
struct Walk<'a> {
    spec: &'a str,
    root: &'a Path,
    library: &'a Library,
    found: Vec<Found>,
    problems: Vec<Problem>,
}

impl Walk<'_> {
    fn complain(&mut self, message: String, help: String) {
        self.problems.push(Problem::new(Code::EMPTY_GLOB, self.spec, message).at(self.library.place()).help(help));
    }

    fn nothing(&mut self, why: &str, help: &str) {
        let include = quoted(&self.library.include);
        let message = format!("the glob {include} matches nothing in {}: {why}", quoted(&self.root.to_string_lossy()));
        self.complain(message, help.to_owned());
    }

    fn file(&mut self, include: &str) {
        let path = self.root.join(include);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => {
                let shown = clean(include);
                if !shown.split('/').any(|part| part == PYTHON_CACHE) {
                    self.found.push(Found { shown, path });
                }
            }
            Ok(metadata) if metadata.is_dir() => {
                let all = format!("{}/**", include.trim_end_matches('/'));
                self.nothing("it is a folder", &format!("write {} to take its files", quoted(&all)));
            }
            Ok(_) => self.nothing("it is no regular file", "name a `.sql` file"),
            Err(error) => self.nothing(&reason(&error), "check its spelling; it is relative to the spec's folder"),
        }
    }

    fn folder(&mut self, include: &str) {
        let path = self.root.join(include);
        match fs::metadata(&path) {
            Ok(metadata) if metadata.is_dir() => {}
            Ok(_) => return self.nothing("it is a file", &format!("write {} without `/**`", quoted(include))),
            Err(_) => {
                return self
                    .nothing("there is no such folder", "check its spelling; it is relative to the spec's folder");
            }
        }
        let n_problems = self.problems.len();
        // A list of folders instead of recursion: no depth of them can overflow the stack.
        let mut folders = vec![(clean(include), path)];
        while let Some((shown, folder)) = folders.pop() {
            if let Err(error) = self.read_folder(&shown, &folder, &mut folders) {
                let shown = if shown.is_empty() { "." } else { &shown };
                self.problems.push(Problem::new(
                    Code::UNREADABLE_FILE,
                    shown,
                    format!("the folder cannot be read: {}", reason(&error)),
                ));
            }
        }
        if self.found.is_empty() && self.problems.len() == n_problems {
            self.nothing("the folder has no files", "put a `.sql` file into it, or remove the entry");
        }
    }

    fn read_folder(&mut self, shown: &str, folder: &Path, folders: &mut Vec<(String, PathBuf)>) -> std::io::Result<()> {
        if shown.split('/').any(|part| part == PYTHON_CACHE) {
            return Ok(());
        }
        for entry in fs::read_dir(folder)? {
            let entry = entry?;
            let (path, name) = (entry.path(), entry.file_name());
            let lossy = name.to_string_lossy();
            let shown = if shown.is_empty() { lossy.to_string() } else { format!("{shown}/{lossy}") };
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push((shown, path));
                continue;
            }
            // Follows a link to its file; a folder behind a link is not entered, so that links in a
            // circle end.
            match fs::metadata(&path) {
                Ok(metadata) if metadata.is_file() && name == PYTHON_CACHE => {}
                Ok(metadata) if metadata.is_file() && name.to_str().is_none() => {
                    self.problems.push(
                        Problem::new(Code::UNREADABLE_FILE, shown, "the file's name is not UTF-8").help("rename it"),
                    );
                }
                Ok(metadata) if metadata.is_file() => self.found.push(Found { shown, path }),
                Ok(_) => {}
                Err(_) if lossy.starts_with('.') => {}
                Err(error) => {
                    let message = format!("the file cannot be read: {}", reason(&error));
                    let help = "it is a symbolic link to nothing: mend or remove it";
                    self.problems.push(Problem::new(Code::UNREADABLE_FILE, shown, message).help(help));
                }
            }
        }
        Ok(())
    }
}

/// A relative path as messages show it: without `.` and doubled slashes.
fn clean(path: &str) -> String {
    path.split('/').filter(|part| !part.is_empty() && *part != ".").collect::<Vec<_>>().join("/")
}

#[cfg(test)]
#[path = "discover_tests.rs"]
mod tests;
