//! What is wrong, or probably not meant, in a project that could be read: all of it at once, without
//! a server.

mod codes;
mod graph;
mod statements;
mod views;

use std::ops::Range;

use crate::project::Project;
use crate::sql::{DefinedEdge, SqlContent, SqlDefinitions, SqlFill, SqlName, SqlQuery, StatementIndex};

pub use codes::{Code, Severity};

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

/// Bytes of one of the project's SQL files.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FileSpan {
    /// The file's position in [`Project::sql_files`].
    pub file: usize,
    /// Its bytes.
    pub range: Range<usize>,
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

/// Everything found in the SQL files of a project, by place.
///
/// What knut does not understand it does not complain of. Source of the rules: Spark 4.3; each was
/// tried on a real server.
pub fn check(project: &Project) -> Vec<Finding> {
    let definitions = project.sql_definitions();
    let checked = Checked { project, definitions: &definitions };
    let mut findings = statements::check(&checked);
    findings.extend(graph::check(&checked));
    findings.extend(views::check(&checked));
    findings.sort_by_key(|finding| (finding.span.file, finding.span.range.start, finding.code));
    findings
}

/// What the checks look at.
struct Checked<'a> {
    project: &'a Project,
    definitions: &'a SqlDefinitions,
}

impl Checked<'_> {
    fn content(&self, index: StatementIndex) -> &SqlContent {
        &self.definitions.files[index.file].statements[index.statement].content
    }

    /// Where a dataset's name stands; `None` for sources of `knut.toml`.
    fn dataset_span(&self, dataset: usize) -> Option<FileSpan> {
        let index = self.definitions.datasets[dataset].statement?;
        match self.content(index) {
            SqlContent::Dataset(dataset) => dataset.name.as_ref().map(|name| span_of(index, name)),
            _ => None,
        }
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
        name.map_or_else(|| FileSpan { file: index.file, range: statement.range.clone() }, |name| span_of(index, name))
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
        FileSpan { file, range: edge.span.clone() }
    }
}

fn span_of(index: StatementIndex, name: &SqlName) -> FileSpan {
    FileSpan { file: index.file, range: name.span.clone() }
}

#[cfg(test)]
mod tests;
