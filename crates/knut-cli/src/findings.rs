//! Findings of the offline check, as people and machines read them.

use std::fmt::Write as _;

use annotate_snippets::{Annotation, AnnotationKind, Element, Level, Renderer, Snippet};
use knut_project::{FileSpan, Finding, Project, Severity};
use knut_viewer::visible;

use crate::printer::Printer;

/// Prints findings with the lines they are about, to stderr.
pub(crate) fn print(project: &Project, findings: &[Finding], printer: &mut Printer) {
    for finding in findings {
        printer.rendered(&format!("{}\n", human(project, finding)));
    }
}

/// In the shape that Rust's compiler gave such messages.
fn human(project: &Project, finding: &Finding) -> String {
    let level = match finding.code.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let code = finding.code.to_string();
    let message = one_line(&finding.message);
    let mut elements: Vec<Element<'_>> = Vec::new();
    let primary = (&finding.span, None, AnnotationKind::Primary);
    let related = finding.related.iter().map(|(span, what)| (span, Some(one_line(what)), AnnotationKind::Context));
    // One snippet for each file, with all of its places.
    let mut files: Vec<(usize, Vec<Annotation<'_>>)> = Vec::new();
    for (span, label, kind) in [primary].into_iter().chain(related) {
        let annotation = kind.span(span.range.clone()).label(label);
        match files.iter_mut().find(|(file, _)| *file == span.file) {
            Some((_, annotations)) => annotations.push(annotation),
            None => files.push((span.file, vec![annotation])),
        }
    }
    for (file, annotations) in files {
        let file = &project.sql_files[file];
        let snippet =
            Snippet::source(file.text.as_str()).path(visible(&file.path).into_owned()).annotations(annotations);
        elements.push(snippet.into());
    }
    if let Some(help) = &finding.help {
        elements.push(Level::HELP.message(one_line(help)).into());
    }
    Renderer::styled().render(&[level.primary_title(message).id(code).elements(elements)])
}

/// Pieces of a project's files stand in messages, so they must not break out of their line.
fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// Line and column of a place, both counted from 1, the column in characters.
pub(crate) fn place(project: &Project, span: &FileSpan) -> (usize, usize) {
    let before = &project.sql_files[span.file].text[..span.range.start];
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}

/// One JSON object on one line.
pub(crate) fn json(project: &Project, finding: &Finding) -> String {
    let at = |span: &FileSpan| {
        let (line, column) = place(project, span);
        serde_json::json!({ "file": project.sql_files[span.file].path, "line": line, "column": column })
    };
    let related: Vec<_> =
        finding.related.iter().map(|(span, what)| serde_json::json!({ "at": at(span), "message": what })).collect();
    serde_json::json!({
        "v": 1,
        "code": finding.code.to_string(),
        "severity": word(finding.code.severity()),
        "message": finding.message,
        "at": at(&finding.span),
        "related": related,
        "help": finding.help,
    })
    .to_string()
}

/// An annotation for GitHub's log.
pub(crate) fn github(project: &Project, finding: &Finding) -> String {
    let (line, column) = place(project, &finding.span);
    let escape = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escape(text).replace(':', "%3A").replace(',', "%2C");
    let mut text = format!(
        "::{} file={},line={line},col={column}",
        word(finding.code.severity()),
        property(&project.sql_files[finding.span.file].path)
    );
    let help = finding.help.as_deref().map(|help| format!("\n{help}")).unwrap_or_default();
    // Writing to a string cannot fail.
    let _ = write!(
        text,
        ",title={}::{}",
        property(&format!("{} {}", finding.code, finding.code.title())),
        escape(&format!("{}{help}", finding.message))
    );
    text
}

/// `error` or `warning`.
pub(crate) fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    }
}
