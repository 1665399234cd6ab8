//! What is wrong, or probably not meant, in a project: all of it at once, without a server.

mod columns;
mod graph;
mod spec;
mod statements;
mod static_confs;
mod views;

use std::ops::Range;
use std::path::Path;

use crate::code::{Code, Severity};
use crate::problem::{Lines, Problem};
use crate::project::Project;
use crate::project_files::{KNUT_TOML, ProjectFiles, sql_context};
use crate::secrets::masked;
use crate::sources::Source;
use crate::sql::{DefinedEdge, SqlContent, SqlDefinitions, SqlFill, SqlName, SqlQuery, StatementIndex, TextPlace};
use crate::storage::Storage;
use crate::text;

/// How much of a file that is not UTF-8 is shown at most.
const MAX_SHOWN_BYTES: u64 = 256 * 1024;

/// One thing that [`check`] found.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Finding {
    /// What kind of thing.
    pub code: Code,
    /// What is wrong, as a lowercase fragment.
    pub message: String,
    /// Where.
    pub span: FileSpan,
    /// Other places that belong to it, each with what it is.
    pub related: Vec<(FileSpan, String)>,
    /// What to do about it; `None` where the message says all.
    pub help: Option<String>,
}

/// A place in one of the files that were looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileSpan {
    /// The file's position in [`Checkup::files`].
    pub file: usize,
    /// Bytes of its text; `None` means the file as a whole.
    pub range: Option<Range<usize>>,
}

impl FileSpan {
    fn new(file: usize, range: Range<usize>) -> Self {
        Self { file, range: Some(range) }
    }

    fn start(&self) -> usize {
        self.range.as_ref().map_or(0, |range| range.start)
    }
}

/// A file that findings speak of.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct CheckedFile {
    /// Relative to the project where it lies in one.
    pub path: String,
    /// Its text, with tokens hidden; empty if it cannot be read, with replacement characters where it is not UTF-8.
    pub text: String,
}

/// What [`check`] found out about a project.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Checkup {
    /// The project; `None` when its spec, its `knut.toml` or one of its files is wrong in a way that
    /// leaves nothing to send.
    pub project: Option<Project>,
    /// The files that were looked at.
    pub files: Vec<CheckedFile>,
    /// What was found: in the spec, in `knut.toml` and in the other files in sorted order, each by place.
    pub findings: Vec<Finding>,
}

impl Checkup {
    /// Whether the project cannot run as it is.
    pub fn has_errors(&self) -> bool {
        self.findings.iter().any(|finding| finding.code.severity() == Severity::Error)
    }

    /// Where a span begins and ends; `None` for a file as a whole.
    pub fn places(&self, span: &FileSpan) -> Option<(TextPlace, TextPlace)> {
        let lines = Lines::new(&self.files.get(span.file)?.text);
        let place = |offset: usize| {
            let place = lines.place(offset);
            TextPlace { line: place.line, column: place.column }
        };
        let range = span.range.as_ref()?;
        Some((place(range.start), place(range.end)))
    }
}

impl Checkup {
    /// Whatever is shown of it, in whichever form, shows no token.
    fn without_secrets(mut self) -> Self {
        for file in &mut self.files {
            file.text = masked(&file.text);
        }
        for finding in &mut self.findings {
            finding.message = masked(&finding.message);
            finding.help = finding.help.as_deref().map(masked);
        }
        self
    }
}

impl Finding {
    fn new(code: Code, span: FileSpan, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), span, related: Vec::new(), help: None }
    }

    fn related(mut self, span: Option<FileSpan>, what: impl Into<String>) -> Self {
        self.related.extend(span.map(|span| (span, what.into())));
        self
    }

    fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

/// Looks at the project of a spec and at everything that its spec names, without a server.
///
/// A `storage` that is given takes the place of the spec's own, as in [`Project::load_with_storage`].
/// A mistake in one file hides none in another; what is not understood is not complained of. Source
/// of the rules: Spark 4.3; each was tried on a real server.
pub fn check(spec_path: &Path, storage: Option<Storage>) -> Checkup {
    let files = match ProjectFiles::read(spec_path, storage, true) {
        Ok(files) => files,
        Err(problem) => {
            let mut shown = ShownFiles { root: Path::new(""), files: Vec::new() };
            let findings = vec![shown.finding(problem)];
            return Checkup { project: None, files: shown.files, findings };
        }
    };
    let reading = &files.reading;
    let context = sql_context(reading.catalog.as_deref(), reading.database.as_deref(), &files.sources);
    let definitions = SqlDefinitions::read(&files.sql_files, &context);
    let checked = Checked { files: &files, definitions: &definitions };

    let mut findings = statements::check(&checked);
    findings.extend(columns::check(&checked));
    // A name would mean another table.
    if !reading.names_bad {
        findings.extend(graph::check(&checked));
        findings.extend(views::check(&checked));
    }
    let mut shown = ShownFiles::of(&files);
    findings
        .extend(spec::check(&files).into_iter().chain(files.problems.clone()).map(|problem| shown.finding(problem)));
    let paths: Vec<_> =
        shown.files.iter().map(|file| (rank(&file.path, &files.spec_file), file.path.clone())).collect();
    findings.sort_by_key(|finding| (&paths[finding.span.file], finding.span.start(), finding.code));
    Checkup { findings, files: shown.files, project: files.into_project().ok() }.without_secrets()
}

fn rank(path: &str, spec_file: &str) -> u8 {
    match path {
        _ if path == spec_file => 0,
        KNUT_TOML => 1,
        _ => 2,
    }
}

/// The files of a checkup while it is made. SQL files that can be read come first, so that their
/// positions are those of the definitions.
struct ShownFiles<'a> {
    root: &'a Path,
    files: Vec<CheckedFile>,
}

impl<'a> ShownFiles<'a> {
    fn of(files: &'a ProjectFiles) -> Self {
        let shown = |path: &str, text: &str| CheckedFile { path: path.to_owned(), text: text.to_owned() };
        let mut all: Vec<_> = files.sql_files.iter().map(|file| shown(&file.path, &file.text)).collect();
        all.extend(files.spec_text.as_deref().map(|text| shown(&files.spec_file, &with_line_feeds(text))));
        all.extend(files.toml_text.as_deref().map(|text| shown(KNUT_TOML, text)));
        Self { root: &files.root, files: all }
    }

    fn finding(&mut self, problem: Problem) -> Finding {
        let file = self.files.iter().position(|file| file.path == problem.file).unwrap_or_else(|| {
            // A file without a place is one of which nothing can be shown.
            let path = self.root.join(&problem.file);
            let text = problem.line.and_then(|_| text::read_lossy(&path, MAX_SHOWN_BYTES)).unwrap_or_default();
            self.files.push(CheckedFile { path: problem.file.clone(), text });
            self.files.len() - 1
        });
        let range = problem.line.zip(problem.column).map(|(line, column)| {
            let columns = column..problem.end_column.unwrap_or(column);
            Lines::new(&self.files[file].text).range(line, columns)
        });
        let code = problem.code.unwrap_or(Code::UNREADABLE_FILE);
        Finding { help: problem.help, ..Finding::new(code, FileSpan { file, range }, problem.message) }
    }
}

/// A text whose lines all end in a line feed, byte for byte as long: YAML takes a lone carriage
/// return for the end of a line.
fn with_line_feeds(text: &str) -> String {
    let mut rest = text.chars().peekable();
    let mut out = String::with_capacity(text.len());
    while let Some(c) = rest.next() {
        out.push(if c == '\r' && rest.peek() != Some(&'\n') { '\n' } else { c });
    }
    out
}

/// What the checks look at.
struct Checked<'a> {
    files: &'a ProjectFiles,
    definitions: &'a SqlDefinitions,
}

impl Checked<'_> {
    /// Whether every definition was read, so that what is not here is not there.
    fn is_complete(&self) -> bool {
        let mut statements = self.definitions.files.iter().flat_map(|file| &file.statements);
        let is_nameless =
            |content: &SqlContent| matches!(content, SqlContent::Dataset(dataset) if dataset.name.is_none());
        self.files.is_whole
            && self.definitions.is_complete()
            && !statements.any(|statement| is_nameless(&statement.content))
    }

    fn sources(&self) -> &[Source] {
        &self.files.sources
    }

    fn content(&self, index: StatementIndex) -> &SqlContent {
        &self.definitions.files[index.file].statements[index.statement].content
    }

    /// Where a dataset's name stands in a SQL file; `None` for sources of `knut.toml`.
    fn dataset_span(&self, dataset: usize) -> Option<FileSpan> {
        let index = self.definitions.datasets[dataset].statement?;
        match self.content(index) {
            SqlContent::Dataset(dataset) => dataset.name.as_ref().map(|name| span_of(index, name)),
            _ => None,
        }
    }

    /// Where a dataset is defined, in a SQL file or in `knut.toml`.
    fn definition_span(&self, dataset: usize) -> Option<FileSpan> {
        self.dataset_span(dataset).or_else(|| {
            let name = &self.definitions.datasets[dataset].name;
            let source = self.sources().iter().find(|source| source.name == *name)?;
            let place = source.place;
            let range = Lines::new(self.files.toml_text.as_deref()?).range(place.line, place.column..place.end_column);
            // In the order of `ShownFiles::of`.
            let file = self.files.sql_files.len() + usize::from(self.files.spec_text.is_some());
            Some(FileSpan::new(file, range))
        })
    }

    /// Where a flow's name stands; for a dataset's own flow the dataset's.
    fn flow_span(&self, flow: usize) -> FileSpan {
        let index = self.definitions.flows[flow].statement;
        let statement = &self.definitions.files[index.file].statements[index.statement];
        let name = match &statement.content {
            SqlContent::Dataset(dataset) => dataset.name.as_ref(),
            SqlContent::Flow(flow) => flow.name.as_ref(),
            _ => None,
        };
        name.map_or_else(|| FileSpan::new(index.file, statement.range.clone()), |name| span_of(index, name))
    }

    /// A flow's query; `None` where it has none that was read.
    fn query(&self, flow: usize) -> Option<&SqlQuery> {
        match self.content(self.definitions.flows[flow].statement) {
            SqlContent::Dataset(dataset) => dataset.fill.as_ref().map(SqlFill::query),
            SqlContent::Flow(flow) => Some(flow.fill.query()),
            _ => None,
        }
    }

    /// Whether a flow applies changes.
    fn is_auto_cdc(&self, flow: usize) -> bool {
        match self.content(self.definitions.flows[flow].statement) {
            SqlContent::Dataset(dataset) => matches!(dataset.fill, Some(SqlFill::AutoCdc(_))),
            SqlContent::Flow(flow) => matches!(flow.fill, SqlFill::AutoCdc(_)),
            _ => false,
        }
    }

    /// Where the name stands that an edge reads.
    fn edge_span(&self, edge: &DefinedEdge) -> FileSpan {
        let file = self.definitions.flows[edge.flow].statement.file;
        FileSpan::new(file, edge.span.clone())
    }
}

fn span_of(index: StatementIndex, name: &SqlName) -> FileSpan {
    FileSpan::new(index.file, name.span.clone())
}

#[cfg(test)]
mod tests;
