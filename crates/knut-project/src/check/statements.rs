//! Statements that the server refuses one by one.

use super::{Checked, Code, FileSpan, Finding};
use crate::sql::{SqlContent, SqlRefusal};

pub(super) fn check(checked: &Checked<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (file, read) in checked.definitions.files.iter().enumerate() {
        for statement in &read.statements {
            findings.extend(statement.refusals.iter().map(|refusal| of_refusal(file, refusal)));
            if let SqlContent::Dataset(dataset) = &statement.content
                && dataset.if_not_exists
                && let Some(name) = &dataset.name
                && dataset.kind.is_table()
            {
                let span = FileSpan { file, range: name.span.clone() };
                let message = format!("`IF NOT EXISTS` means nothing for the {}", dataset.kind);
                findings.push(Finding::new(Code::IF_NOT_EXISTS, span, message).help("leave it out"));
            }
        }
    }
    findings
}

fn of_refusal(file: usize, refusal: &SqlRefusal) -> Finding {
    let span = FileSpan { file, range: refusal.span.clone() };
    let finding = Finding::new(Code::of_refusal(&refusal.reason), span, refusal.message());
    match refusal.help() {
        Some(help) => finding.help(help),
        None => finding,
    }
}
