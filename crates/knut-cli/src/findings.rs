//! Findings of the offline check, as people and machines read them.

use std::fmt::Write as _;

use annotate_snippets::{Annotation, AnnotationKind, Element, Level, Origin, Renderer, Snippet};
use knut_project::{Checkup, FileSpan, Finding, Severity};
use knut_viewer::visible;

use crate::printer::Printer;

/// Prints findings with the lines they are about, to stderr.
pub(crate) fn print<'a>(checkup: &Checkup, findings: impl IntoIterator<Item = &'a Finding>, printer: &mut Printer) {
    for finding in findings {
        printer.rendered(&format!("{}\n", human(checkup, finding)));
    }
}

/// In the shape that Rust's compiler gave such messages.
fn human(checkup: &Checkup, finding: &Finding) -> String {
    let level = match finding.code.severity() {
        Severity::Error => Level::ERROR,
        Severity::Warning => Level::WARNING,
    };
    let code = finding.code.to_string();
    let message = one_line(&finding.message);
    let mut elements: Vec<Element<'_>> = Vec::new();
    let primary = (&finding.span, None, AnnotationKind::Primary);
    let related = finding.related.iter().map(|(span, what)| (span, Some(one_line(what)), AnnotationKind::Context));
    // One snippet for each file, with all of its places; a file without places is only named.
    let mut files: Vec<(usize, Vec<Annotation<'_>>)> = Vec::new();
    for (span, label, kind) in [primary].into_iter().chain(related) {
        let annotation = span.range.clone().map(|range| kind.span(range).label(label));
        match files.iter_mut().find(|(file, _)| *file == span.file) {
            Some((_, annotations)) => annotations.extend(annotation),
            None => files.push((span.file, annotation.into_iter().collect())),
        }
    }
    for (file, annotations) in files {
        let file = &checkup.files[file];
        let path = visible(&file.path).into_owned();
        elements.push(if annotations.is_empty() {
            Origin::path(path).into()
        } else {
            Snippet::source(file.text.as_str()).path(path).annotations(annotations).into()
        });
    }
    if let Some(help) = &finding.help {
        let lines: Vec<String> = help.split('\n').map(one_line).collect();
        elements.push(Level::HELP.message(lines.join("\n")).into());
    }
    Renderer::styled().render(&[level.primary_title(message).id(code).elements(elements)])
}

/// Pieces of a project's files stand in messages, so they must not break out of their line.
fn one_line(text: &str) -> String {
    visible(text).replace(['\n', '\t'], " ")
}

/// One JSON object on one line. A finding about a file as a whole has no line and no column.
pub(crate) fn json(checkup: &Checkup, finding: &Finding) -> String {
    let at = |span: &FileSpan| {
        let file = &checkup.files[span.file].path;
        match checkup.places(span) {
            Some((start, end)) => serde_json::json!({
                "file": file,
                "line": start.line,
                "column": start.column,
                "end_line": end.line,
                "end_column": end.column,
            }),
            None => serde_json::json!({ "file": file }),
        }
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
pub(crate) fn github(checkup: &Checkup, finding: &Finding) -> String {
    let escape = |text: &str| text.replace('%', "%25").replace('\r', "%0D").replace('\n', "%0A");
    let property = |text: &str| escape(text).replace(':', "%3A").replace(',', "%2C");
    let mut text =
        format!("::{} file={}", word(finding.code.severity()), property(&checkup.files[finding.span.file].path));
    let help = finding.help.as_deref().map(|help| format!("\n{help}")).unwrap_or_default();
    // Writing to a string cannot fail.
    if let Some((start, _)) = checkup.places(&finding.span) {
        let _ = write!(text, ",line={},col={}", start.line, start.column);
    }
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
