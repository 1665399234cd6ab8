//! Streams and batches: what may be read as which, and views that mislead.

use std::collections::{BTreeMap, BTreeSet};

use knut_model::DatasetKind;

use super::{Checked, Finding};
use crate::code::Code;
use crate::sql::{Certainty, DefinedEdge, EdgeSource};

/// What is known of a query's rows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rows {
    Batch,
    Streaming,
    Unknown,
}

pub(super) fn check(checked: &Checked<'_>) -> Vec<Finding> {
    let mut edges_of: BTreeMap<usize, Vec<&DefinedEdge>> = BTreeMap::new();
    for edge in &checked.definitions.edges {
        edges_of.entry(edge.flow).or_default().push(edge);
    }
    let rows_of_views = rows_of_views(checked, &edges_of);
    let mut findings = Vec::new();
    for (flow, definition) in checked.definitions.flows.iter().enumerate() {
        let edges = edges_of.get(&flow).map_or(&[][..], Vec::as_slice);
        let kind = definition.target_dataset.map(|target| checked.definitions.datasets[target].kind);
        findings.extend(edges.iter().filter_map(|edge| bad_read(checked, edge, &rows_of_views)));
        findings.extend(bad_rows(checked, flow, kind, edges));
    }
    findings.extend(unused(checked));
    findings.extend(hidden(checked));
    findings
}

/// What the rows of a flow's query are, as far as its own text tells.
fn rows_of(checked: &Checked<'_>, flow: usize, edges: &[&DefinedEdge]) -> Rows {
    if edges.iter().any(|edge| edge.is_streaming && edge.certainty == Certainty::Parsed) {
        return Rows::Streaming;
    }
    match checked.query(flow) {
        Some(query) if query.reads.is_parsed && query.reads.is_complete => Rows::Batch,
        _ => Rows::Unknown,
    }
}

/// The rows of each temporary view.
fn rows_of_views(checked: &Checked<'_>, edges_of: &BTreeMap<usize, Vec<&DefinedEdge>>) -> BTreeMap<usize, Rows> {
    let mut rows = BTreeMap::new();
    for (index, dataset) in checked.definitions.datasets.iter().enumerate() {
        if dataset.kind == DatasetKind::TemporaryView && dataset.statement.is_none() {
            let source = checked.sources().iter().find(|source| source.name == dataset.name);
            let is_streaming = source.is_some_and(|source| source.read.streaming);
            rows.insert(index, if is_streaming { Rows::Streaming } else { Rows::Batch });
        }
    }
    for (flow, definition) in checked.definitions.flows.iter().enumerate() {
        let Some(target) = definition.target_dataset else { continue };
        if checked.definitions.datasets[target].kind == DatasetKind::TemporaryView {
            let edges = edges_of.get(&flow).map_or(&[][..], Vec::as_slice);
            rows.insert(target, rows_of(checked, flow, edges));
        }
    }
    rows
}

/// A view that is read as what it is not.
fn bad_read(checked: &Checked<'_>, edge: &DefinedEdge, rows_of_views: &BTreeMap<usize, Rows>) -> Option<Finding> {
    // Source: Spark 4.3, the conf that turns this check of the server off.
    let off = "pipelines.incompatibleViewCheck.enabled";
    let confs = checked.files.reading.spec.as_ref().map(|spec| &spec.configuration);
    if confs.and_then(|confs| confs.get(off)).is_some_and(|value| value.eq_ignore_ascii_case("false")) {
        return None;
    }
    let EdgeSource::Dataset(read) = &edge.from else { return None };
    let rows = rows_of_views.get(read)?;
    if edge.certainty != Certainty::Parsed {
        return None;
    }
    let name = &checked.definitions.datasets[*read].name;
    let is_source = checked.definitions.datasets[*read].statement.is_none();
    let what = if is_source { "source" } else { "view" };
    let span = checked.edge_span(edge);
    match (rows, edge.is_streaming) {
        (Rows::Batch, true) => {
            let message = format!("the {what} {name} is no stream and cannot be read as one");
            let finding = Finding::new(Code::STREAM_OF_BATCH_VIEW, span, message);
            let finding = finding.related(checked.definition_span(*read), "defined here");
            Some(finding.help(if is_source {
                "set `streaming = true` for it in knut.toml, or leave out STREAM"
            } else {
                "read a stream in the view, or leave out STREAM"
            }))
        }
        (Rows::Streaming, false) => {
            let message = format!("the {what} {name} is a stream and must be read as one");
            let finding = Finding::new(Code::BATCH_OF_STREAMING_VIEW, span, message);
            let finding = finding.related(checked.definition_span(*read), "defined here");
            Some(finding.help(format!("write `STREAM {name}`")))
        }
        _ => None,
    }
}

/// A query whose rows its dataset does not take.
fn bad_rows(checked: &Checked<'_>, flow: usize, kind: Option<DatasetKind>, edges: &[&DefinedEdge]) -> Vec<Finding> {
    let name = &checked.definitions.flows[flow].target;
    let mut findings = Vec::new();
    match (kind, rows_of(checked, flow, edges)) {
        (Some(DatasetKind::StreamingTable), Rows::Batch) if !checked.is_auto_cdc(flow) => {
            let message = format!("nothing in the query of the streaming table {name} is read as a stream");
            let finding = Finding::new(Code::BATCH_INTO_STREAMING_TABLE, checked.flow_span(flow), message);
            // Which of them is meant as the stream, the query does not say.
            let reads = edges.iter().map(|edge| checked.edge_span(edge));
            let finding = reads.fold(finding, |finding, span| finding.related(Some(span), "read as a whole here"));
            findings
                .push(finding.help("write `FROM STREAM name`; files become a stream through a source in knut.toml"));
        }
        (Some(kind @ (DatasetKind::MaterializedView | DatasetKind::PersistedView)), Rows::Streaming) => {
            let streams = edges.iter().filter(|edge| edge.is_streaming);
            findings.extend(streams.map(|edge| {
                let message = format!("the {kind} {name} cannot read a stream");
                let finding = Finding::new(Code::STREAM_INTO_BATCH, checked.edge_span(edge), message);
                finding.help("leave out STREAM, or make it a streaming table")
            }));
        }
        _ => {}
    }
    if kind == Some(DatasetKind::PersistedView) {
        let is_temporary = |edge: &&&DefinedEdge| match edge.from {
            EdgeSource::Dataset(read) => checked.definitions.datasets[read].kind == DatasetKind::TemporaryView,
            _ => false,
        };
        findings.extend(edges.iter().filter(is_temporary).map(|edge| {
            let message = format!("the view {name} outlives the temporary view that it reads");
            let finding = Finding::new(Code::VIEW_OF_TEMPORARY_VIEW, checked.edge_span(edge), message);
            finding.help("make it a temporary view too, or a materialized view")
        }));
    }
    findings
}

/// Temporary views that nothing reads. Sources are left out: a project may keep some ready.
fn unused(checked: &Checked<'_>) -> Vec<Finding> {
    // A view that is read where knut does not understand the text is not told.
    let is_sure = checked.definitions.edges.iter().all(|edge| edge.certainty == Certainty::Parsed)
        && (0..checked.definitions.flows.len())
            .all(|flow| checked.query(flow).is_some_and(|query| query.reads.is_parsed && query.reads.is_complete));
    if !is_sure || !checked.is_complete() {
        return Vec::new();
    }
    let read: BTreeSet<usize> = checked
        .definitions
        .edges
        .iter()
        .filter_map(|edge| match edge.from {
            EdgeSource::Dataset(read) => Some(read),
            _ => None,
        })
        .collect();
    let views = checked.definitions.datasets.iter().enumerate();
    let views = views.filter(|(index, dataset)| dataset.kind == DatasetKind::TemporaryView && !read.contains(index));
    views
        .filter_map(|(index, dataset)| {
            let span = checked.dataset_span(index)?;
            Some(Finding::new(Code::UNUSED_VIEW, span, format!("nothing reads the temporary view {}", dataset.name)))
        })
        .collect()
}

/// Tables that a temporary view of the same name hides.
fn hidden(checked: &Checked<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut tables: BTreeMap<&str, usize> = BTreeMap::new();
    for (index, dataset) in checked.definitions.datasets.iter().enumerate() {
        if dataset.kind != DatasetKind::TemporaryView {
            tables.entry(dataset.name.name()).or_insert(index);
        }
    }
    for (index, dataset) in checked.definitions.datasets.iter().enumerate() {
        if dataset.kind != DatasetKind::TemporaryView {
            continue;
        }
        let Some(table) = tables.get(dataset.name.name()) else { continue };
        let other = &checked.definitions.datasets[*table];
        let Some(span) = checked.definition_span(index) else { continue };
        let message = format!("the temporary view {} hides the {} {}", dataset.name, other.kind, other.name);
        let finding = Finding::new(Code::SHADOWED, span, message);
        let finding = finding.related(checked.dataset_span(*table), "the table that is hidden");
        findings.push(finding.help(format!("the name alone means the view; the table is {}", other.name)));
    }
    findings
}
