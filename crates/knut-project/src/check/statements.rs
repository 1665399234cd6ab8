//! Statements that the server refuses one by one.

use super::{Checked, FileSpan, Finding, static_confs};
use crate::code::Code;
use crate::sql::{RefusalReason, SqlContent, SqlRefusal, SqlStatement};

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
                let span = FileSpan::new(file, name.span.clone());
                let message = format!("`IF NOT EXISTS` means nothing for the {}", dataset.kind);
                findings.push(Finding::new(Code::IF_NOT_EXISTS, span, message).help("leave it out"));
            }
        }
        // A conf acts on the flows behind it.
        let is_flow = |statement: &SqlStatement| match &statement.content {
            SqlContent::Dataset(dataset) => dataset.fill.is_some(),
            SqlContent::Flow(_) => true,
            _ => false,
        };
        let n_acting = read.statements.iter().rposition(is_flow).unwrap_or_default();
        for statement in read.statements.iter().take(n_acting) {
            if let SqlContent::SetConf { key, .. } = &statement.content
                && static_confs::is_static(key)
            {
                let span = FileSpan::new(file, statement.range.clone());
                let finding = Finding::new(Code::STATIC_CONF, span, static_confs::message(key));
                findings.push(finding.help(static_confs::HELP));
            }
        }
    }
    findings
}

fn of_refusal(file: usize, refusal: &SqlRefusal) -> Finding {
    let span = FileSpan::new(file, refusal.span.clone());
    let finding = Finding::new(code_of(&refusal.reason), span, refusal.message());
    match refusal.help() {
        Some(help) => finding.help(help),
        None => finding,
    }
}

/// The code of a statement's refusal.
fn code_of(reason: &RefusalReason) -> Code {
    use RefusalReason as R;
    Code::numbered(match reason {
        R::NotADefinition(_) => 101,
        R::Unclosed | R::StrayCharacter(_) => 103,
        R::NeedsBackticks(_) | R::ComputedName | R::TooManyNameParts | R::ReadOfManyParts => 104,
        R::OrRefresh | R::OrReplace | R::Live | R::ApplyChanges | R::Expectation | R::Constraint | R::Sink => 105,
        R::UseWithoutKind | R::SetWithoutValue | R::SetSyntax | R::TimeZone | R::MultipartCatalog | R::NoDatabase => {
            106
        }
        R::NoQuery
        | R::Clause(_)
        | R::DuplicateClause(_)
        | R::PartitionTransform
        | R::NestedColumn
        | R::ReservedProperty(_)
        | R::PropertyWithoutValue(_)
        | R::DuplicateProperty(_)
        | R::IfNotExists
        | R::ViewOfDataSource => 107,
        R::PartitionAndCluster => 108,
        R::QualifiedTemporaryView | R::MultipartFlowName => 109,
        R::NotByName | R::InsertOverwrite | R::FlowTargetDetails => 110,
        R::CdcOfMaterializedView
        | R::CdcWithColumns
        | R::CdcFromBatch
        | R::CdcWithoutSequence
        | R::ScdType
        | R::HistoryWithoutScd2
        | R::CdcClause(_) => 111,
        R::FileFunction(_) | R::StreamOfFiles => 112,
        _ => 102,
    })
}
