//! Partition and clustering columns, beside the columns that a table declares.

use knut_model::DatasetKind;

use super::graph::{is_in_session_catalog, plain_format};
use super::{Checked, FileSpan, Finding};
use crate::code::Code;
use crate::sql::{SqlColumn, SqlContent, SqlDataset};
use crate::suggest::nearest;
use crate::text::quoted;

pub(super) fn check(checked: &Checked<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    for defined in &checked.definitions.datasets {
        let Some(index) = defined.statement else { continue };
        let SqlContent::Dataset(dataset) = checked.content(index) else { continue };
        // What the server refuses anyway is told already.
        if !checked.definitions.files[index.file].statements[index.statement].refusals.is_empty() {
            continue;
        }
        let is_of_session = !checked.files.reading.names_bad && is_in_session_catalog(&defined.name);
        if !dataset.declared_columns.is_empty() {
            findings.extend(partition_columns(index.file, dataset, is_of_session));
            for column in &dataset.clustering_columns {
                if find(dataset, column).is_none() {
                    findings.push(unknown(index.file, dataset, column, "clustering"));
                }
            }
        }
        findings.extend(clustered_view(index.file, dataset, is_of_session));
    }
    findings
}

/// The declared column that a name means. Spark takes no notice of case here.
fn find<'a>(dataset: &'a SqlDataset, column: &SqlColumn) -> Option<&'a SqlColumn> {
    let name = column.name.to_lowercase();
    dataset.declared_columns.iter().find(|declared| declared.name.to_lowercase() == name)
}

fn unknown(file: usize, dataset: &SqlDataset, column: &SqlColumn, what: &str) -> Finding {
    let message = format!("the {what} column {} is none of the declared columns", quoted(&column.name));
    let finding = Finding::new(Code::PARTITION_COLUMNS, FileSpan::new(file, column.span.clone()), message);
    let names: Vec<&str> = dataset.declared_columns.iter().map(|declared| declared.name.as_str()).collect();
    finding.help(match nearest(&column.name, names.iter().copied()) {
        Some(near) => format!("did you mean {}?", quoted(near)),
        None => format!("the columns are {}", names.iter().map(|name| quoted(name)).collect::<Vec<_>>().join(", ")),
    })
}

/// Source: Spark 4.3. Observed: Spark 4.3.0 with the Hive catalog, which alone compares upper and
/// lower case here.
fn partition_columns(file: usize, dataset: &SqlDataset, is_of_session: bool) -> Vec<Finding> {
    // With data types, the columns are no names of declared ones.
    if dataset.has_typed_partitions {
        return Vec::new();
    }
    let mut findings = Vec::new();
    let span = |column: &SqlColumn| FileSpan::new(file, column.span.clone());
    for (position, column) in dataset.partition_columns.iter().enumerate() {
        let Some(declared) = find(dataset, column) else {
            findings.push(unknown(file, dataset, column, "partition"));
            continue;
        };
        let earlier = &dataset.partition_columns[..position];
        if let Some(first) = earlier.iter().find(|first| first.name.eq_ignore_ascii_case(&column.name)) {
            let message = format!("the partition column {} stands twice", quoted(&column.name));
            let finding = Finding::new(Code::PARTITION_COLUMNS, span(column), message);
            findings.push(finding.related(Some(span(first)), "first here").help("leave one of them out"));
        } else if declared.name != column.name && is_of_session {
            let message = format!(
                "the partition column {} is declared as {}: upper and lower case count here",
                quoted(&column.name),
                quoted(&declared.name)
            );
            let finding = Finding::new(Code::PARTITION_COLUMNS, span(column), message);
            let finding = finding.related(Some(span(declared)), "declared here");
            findings.push(finding.help(format!("write {}", quoted(&declared.name))));
        }
    }
    let (Some(first), Some(last)) = (dataset.partition_columns.first(), dataset.partition_columns.last()) else {
        return findings;
    };
    let is_all = dataset.partition_columns.len() >= dataset.declared_columns.len();
    if findings.is_empty() && is_all && is_of_session && plain_format(dataset).is_some() {
        let span = FileSpan::new(file, first.span.start..last.span.end);
        let finding = Finding::new(Code::PARTITION_COLUMNS, span, "all columns of the table are partition columns");
        findings.push(finding.help("leave at least one column that is none"));
    }
    findings
}

/// Observed: Spark 4.3.0; the same clause of a streaming table works.
fn clustered_view(file: usize, dataset: &SqlDataset, is_of_session: bool) -> Option<Finding> {
    let (first, last) = (dataset.clustering_columns.first()?, dataset.clustering_columns.last()?);
    let format = plain_format(dataset).filter(|_| is_of_session && dataset.kind == DatasetKind::MaterializedView)?;
    let span = FileSpan::new(file, first.span.start..last.span.end);
    let message = format!("a run cannot write a materialized view of {format} files with CLUSTER BY");
    let finding = Finding::new(Code::CLUSTERED_VIEW, span, message);
    Some(finding.help("leave it out, or write PARTITIONED BY; a dry run does not notice"))
}
