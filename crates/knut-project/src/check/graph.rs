//! What is wrong with the datasets and flows of a project taken together.

use std::collections::BTreeMap;

use knut_model::{DatasetKind, Identifier, Topology};

use super::{Checked, FileSpan, Finding};
use crate::code::Code;
use crate::sql::{EdgeSource, SqlContent, SqlDataset};
use crate::suggest::nearest;
use crate::text::quoted;

/// How many files a message names at most.
const MAX_NAMED: usize = 10;

pub(super) fn check(checked: &Checked<'_>) -> Vec<Finding> {
    let mut findings = duplicates(checked);
    findings.extend(targets(checked));
    findings.extend(empty(checked));
    findings.extend(cycle(checked));
    findings.extend(appending_flows(checked));
    findings.extend(names(checked));
    findings
}

/// Datasets and flows with the name of another. Views and tables have names apart.
fn duplicates(checked: &Checked<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut first: BTreeMap<(bool, &Identifier), usize> = BTreeMap::new();
    for (index, dataset) in checked.definitions.datasets.iter().enumerate() {
        let is_view = dataset.kind == DatasetKind::TemporaryView;
        let earlier = *first.entry((is_view, &dataset.name)).or_insert(index);
        let Some(span) = checked.dataset_span(index).filter(|_| earlier != index) else { continue };
        let message = format!("the {} {} is defined twice", dataset.kind, dataset.name);
        let what = format!("first defined here as a {}", checked.definitions.datasets[earlier].kind);
        let finding = Finding::new(Code::DUPLICATE_DATASET, span, message);
        findings.push(finding.related(checked.definition_span(earlier), what));
    }
    let mut first: BTreeMap<&Identifier, usize> = BTreeMap::new();
    for (index, flow) in checked.definitions.flows.iter().enumerate() {
        let earlier = *first.entry(&flow.name).or_insert(index);
        let is_own = |flow: usize| checked.definitions.flows[flow].name == checked.definitions.flows[flow].target;
        // Two own flows of one name are one dataset defined twice, which is told already.
        if earlier != index && !(is_own(earlier) && is_own(index)) {
            let message = format!("the flow {} is defined twice", flow.name);
            let finding = Finding::new(Code::DUPLICATE_FLOW, checked.flow_span(index), message);
            findings.push(finding.related(Some(checked.flow_span(earlier)), "first defined here"));
        }
    }
    findings
}

/// Flows into nothing, datasets without a flow, materialized views with several.
fn targets(checked: &Checked<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut flows_into: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    let is_complete = checked.is_complete();
    for (index, flow) in checked.definitions.flows.iter().enumerate() {
        if let Some(target) = flow.target_dataset {
            flows_into.entry(target).or_default().push(index);
        } else if is_complete {
            let message = format!("the flow {} writes into {}, which no file defines", flow.name, flow.target);
            let finding = Finding::new(Code::UNKNOWN_TARGET, checked.flow_span(index), message);
            let tables =
                checked.definitions.datasets.iter().filter(|dataset| dataset.kind == DatasetKind::StreamingTable);
            let names: Vec<String> = tables.map(|dataset| dataset.name.to_string()).collect();
            let target = flow.target.to_string();
            findings.push(match nearest(&target, names.iter().map(String::as_str)) {
                Some(name) => finding.help(format!("did you mean {name}?")),
                None => finding.help(format!("add `CREATE STREAMING TABLE {}`", flow.target.name())),
            });
        }
    }
    for (index, dataset) in checked.definitions.datasets.iter().enumerate() {
        let Some(span) = checked.dataset_span(index) else { continue };
        let flows = flows_into.get(&index).map_or(&[][..], Vec::as_slice);
        match dataset.kind {
            DatasetKind::StreamingTable if flows.is_empty() && is_complete => {
                let message = format!("nothing fills the streaming table {}", dataset.name);
                let finding = Finding::new(Code::WITHOUT_FLOW, span, message);
                let name = dataset.name.name();
                findings.push(finding.help(format!(
                    "add `AS SELECT … FROM STREAM …`, or a `CREATE FLOW f AS INSERT INTO {name} BY NAME SELECT …`"
                )));
            }
            DatasetKind::MaterializedView if flows.len() > 1 => {
                // Two own flows are one dataset defined twice, which is told already.
                let others = flows.iter().filter(|flow| checked.definitions.flows[**flow].name != dataset.name);
                let others: Vec<_> = others.map(|flow| checked.flow_span(*flow)).collect();
                if !others.is_empty() {
                    let message = format!("{} flows write into the materialized view {}", flows.len(), dataset.name);
                    let finding = Finding::new(Code::TOO_MANY_FLOWS, span, message);
                    let what = "this flow writes into it too";
                    findings.push(others.into_iter().fold(finding, |finding, span| finding.related(Some(span), what)));
                }
            }
            _ => {}
        }
    }
    findings
}

/// C043: a pipeline in which a run has nothing to make.
fn empty(checked: &Checked<'_>) -> Option<Finding> {
    let has_table = checked.definitions.datasets.iter().any(|dataset| dataset.kind != DatasetKind::TemporaryView);
    if has_table || checked.definitions.files.is_empty() || !checked.is_complete() {
        return None;
    }
    let message = "no file defines a table or a view in the catalog, so there is nothing to run";
    let files: Vec<String> = checked.definitions.files.iter().take(MAX_NAMED).map(|file| quoted(&file.path)).collect();
    let more = match checked.definitions.files.len() - files.len() {
        0 => String::new(),
        more => format!(" and {more} more"),
    };
    let help = format!("add a `CREATE MATERIALIZED VIEW …`; what was read is {}{more}", files.join(", "));
    Some(Finding::new(Code::EMPTY_PIPELINE, FileSpan { file: 0, range: None }, message).help(help))
}

/// The first cycle, told at one read with the other reads as related places.
fn cycle(checked: &Checked<'_>) -> Option<Finding> {
    let mut topology = Topology::default();
    let nodes: Vec<_> =
        (0..checked.definitions.datasets.len()).map(|index| topology.add_node(index.to_string())).collect();
    let mut reads = BTreeMap::new();
    for edge in &checked.definitions.edges {
        let target = checked.definitions.flows[edge.flow].target_dataset;
        if let (EdgeSource::Dataset(from), Some(to)) = (&edge.from, target) {
            topology.add_edge(nodes[*from], nodes[to]);
            reads.entry((*from, to)).or_insert_with(|| checked.edge_span(edge));
        }
    }
    let cycle = topology.topological_order().err()?;
    let names = |index: usize| checked.definitions.datasets[index].name.to_string();
    let round: Vec<usize> = cycle.nodes().iter().map(|node| node.index()).collect();
    let path: Vec<String> = round.iter().chain(round.first()).map(|index| names(*index)).collect();
    let edges = round.iter().zip(round.iter().cycle().skip(1));
    let mut places = edges.filter_map(|(from, to)| {
        let what = format!("{} reads {} here", names(*to), names(*from));
        Some((reads.get(&(*from, *to))?.clone(), what))
    });
    let (span, _) = places.next()?;
    let mut finding =
        Finding::new(Code::CYCLE, span, format!("datasets read each other in a circle: {}", path.join(" → ")));
    finding.related.extend(places);
    Some(finding.help("take one of these reads out"))
}

/// C086: streams that append to one table of files lose rows to each other.
fn appending_flows(checked: &Checked<'_>) -> Vec<Finding> {
    let mut flows_into: BTreeMap<usize, Vec<usize>> = BTreeMap::new();
    for (index, flow) in checked.definitions.flows.iter().enumerate() {
        flows_into.entry(flow.target_dataset.unwrap_or(usize::MAX)).or_default().push(index);
    }
    let mut findings = Vec::new();
    for (index, flows) in flows_into {
        let Some(dataset) = checked.definitions.datasets.get(index) else { continue };
        let (Some(span), Some(statement)) = (checked.dataset_span(index), dataset.statement) else { continue };
        let SqlContent::Dataset(definition) = checked.content(statement) else { continue };
        let Some(format) = plain_format(definition) else { continue };
        if dataset.kind != DatasetKind::StreamingTable || flows.len() < 2 {
            continue;
        }
        let message =
            format!("{} flows append to {}, a plain {format} table: rows may get lost", flows.len(), dataset.name);
        let finding = Finding::new(Code::APPENDING_FLOWS, span, message).help("use one flow with UNION ALL");
        findings.push(
            flows.iter().fold(finding, |finding, flow| {
                finding.related(Some(checked.flow_span(*flow)), "this flow appends to it")
            }),
        );
    }
    findings
}

/// Names that the session catalog refuses, and names that differ in case only.
fn names(checked: &Checked<'_>) -> Vec<Finding> {
    let mut findings = Vec::new();
    let mut folded: BTreeMap<String, usize> = BTreeMap::new();
    for (index, dataset) in checked.definitions.datasets.iter().enumerate() {
        let Some(span) = checked.dataset_span(index) else { continue };
        if dataset.kind != DatasetKind::TemporaryView && is_in_session_catalog(&dataset.name) {
            let fits = |c: char| c.is_ascii_alphanumeric() || c == '_';
            if !dataset.name.name().chars().all(fits) {
                let message = format!("Spark's own catalog refuses the name {} when the table is made", dataset.name);
                let finding = Finding::new(Code::NAME_OF_SESSION_CATALOG, span.clone(), message);
                findings.push(finding.help("use letters a to z, digits and _ only; a dry run does not notice"));
            }
        }
        let earlier = *folded.entry(dataset.name.to_string().to_lowercase()).or_insert(index);
        let first = &checked.definitions.datasets[earlier];
        if first.name != dataset.name {
            let message = format!("{} and {} differ in case only", first.name, dataset.name);
            let finding = Finding::new(Code::NAMES_DIFFER_IN_CASE, span, message);
            findings.push(finding.related(checked.dataset_span(earlier), "the other one"));
        }
    }
    findings.extend(reads(checked));
    findings
}

/// How many pairs of names are compared for their likeness. A project that reads thousands of tables of
/// others is told of the first few, and is not kept waiting for a minute.
const MAX_COMPARISONS: usize = 200_000;

/// Reads of names that no file defines and that are so like a dataset's that it may be meant.
fn reads(checked: &Checked<'_>) -> Vec<Finding> {
    let names: Vec<String> = checked.definitions.datasets.iter().map(|dataset| dataset.name.to_string()).collect();
    let is_complete = checked.is_complete();
    let mut looked_up = BTreeMap::new();
    let max_looked_up = MAX_COMPARISONS / names.len().max(1);
    let mut findings = Vec::new();
    for edge in &checked.definitions.edges {
        let EdgeSource::External { name, differs_in_case } = &edge.from else { continue };
        let span: FileSpan = checked.edge_span(edge);
        if let Some(index) = differs_in_case {
            let other = &checked.definitions.datasets[*index];
            let message = format!("{name} is not the {} {}: upper and lower case count here", other.kind, other.name);
            let finding = Finding::new(Code::NAMES_DIFFER_IN_CASE, span, message);
            findings.push(finding.related(checked.definition_span(*index), "defined here"));
        } else if is_complete {
            let text = name.to_string();
            let short = |full: &&String| full.rsplit('.').next() == text.rsplit('.').next();
            // The same table of another database is meant as written.
            let is_new = !looked_up.contains_key(&text);
            if is_new && looked_up.len() >= max_looked_up {
                continue;
            }
            let near = looked_up
                .entry(text.clone())
                .or_insert_with(|| nearest(&text, names.iter().filter(|full| !short(full)).map(String::as_str)));
            if let Some(near) = near {
                let message = format!("no file defines {name}, so Spark looks for it in the catalog");
                let finding = Finding::new(Code::UNKNOWN_BUT_SIMILAR, span, message);
                findings.push(finding.help(format!("did you mean {near}?")));
            }
        }
    }
    findings
}

/// The data source of a table of plain files; `None` if another kind of table format keeps it.
pub(super) fn plain_format(dataset: &SqlDataset) -> Option<String> {
    let format = dataset.format.as_deref().unwrap_or("parquet").to_lowercase();
    ["parquet", "csv", "json", "orc", "text", "avro"].contains(&format.as_str()).then_some(format)
}

pub(super) fn is_in_session_catalog(name: &Identifier) -> bool {
    name.parts().len() < 3 || name.parts()[0] == "spark_catalog"
}
