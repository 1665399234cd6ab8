//! What a run will do with each dataset and flow of a graph, told before it runs.
//!
//! The server says nothing of a selection that means nothing: it excludes every flow and reports
//! success. A [`RunPlan`] knows before.

use std::fmt;

use crate::{DataflowGraph, DatasetKind, FlowRead, Identifier, RefreshSelection};

/// The table property that forbids to reset a table, when it is `false`.
const RESET_ALLOWED: &str = "pipelines.reset.allowed";

/// What of a graph decides what a run does: names, kinds, and who reads whom.
///
/// Indexes in it are positions in [`datasets`](Self::datasets).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Outline {
    /// The catalog of names that have none; `None` is not known.
    pub default_catalog: Option<String>,
    /// The database of names that have none; `None` is not known.
    pub default_database: Option<String>,
    /// The datasets.
    pub datasets: Vec<OutlineDataset>,
    /// The flows.
    pub flows: Vec<OutlineFlow>,
    /// Whether these are all; otherwise a name that is not here may still be in the graph.
    pub is_complete: bool,
}

/// A dataset of an [`Outline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineDataset {
    /// Its name.
    pub name: Identifier,
    /// Its kind.
    pub kind: DatasetKind,
    /// Whether it may be reset; see [`is_resettable`].
    pub is_resettable: bool,
}

/// A flow of an [`Outline`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OutlineFlow {
    /// Its name.
    pub name: Identifier,
    /// The dataset it writes into; `None` if that is not in the outline.
    pub target: Option<usize>,
    /// The datasets it reads, as far as they are known.
    pub reads: Vec<usize>,
}

/// Whether a table with these properties may be reset. Source: Spark 4.3, `PipelinesTableProperties`.
pub fn is_resettable(properties: &std::collections::BTreeMap<String, String>) -> bool {
    properties.get(RESET_ALLOWED).is_none_or(|value| !value.trim().eq_ignore_ascii_case("false"))
}

impl Outline {
    /// The outline of a graph built in Rust. What its SQL files define is not in it.
    pub fn of(graph: &DataflowGraph) -> Self {
        Self::with_reads(graph, |_| Vec::new())
    }

    /// As [`Outline::of`], with what `found` knows of a flow's reads besides.
    pub fn with_reads(graph: &DataflowGraph, found: impl Fn(&crate::Flow) -> Vec<FlowRead>) -> Self {
        let mut outline = Self {
            default_catalog: graph.default_catalog().map(str::to_owned),
            default_database: graph.default_database().map(str::to_owned),
            is_complete: graph.sql_files().is_empty(),
            ..Self::default()
        };
        outline.datasets = graph
            .datasets()
            .iter()
            .map(|dataset| OutlineDataset {
                name: dataset.name.clone(),
                kind: dataset.kind,
                is_resettable: is_resettable(&dataset.table.properties),
            })
            .collect();
        let mut places = std::collections::BTreeMap::new();
        for (place, dataset) in graph.datasets().iter().enumerate() {
            places.entry(outline.key(&dataset.name)).or_insert(place);
        }
        let place = |name: &Identifier| places.get(&outline.key(name)).copied();
        let flow = |flow: &crate::Flow| {
            let own = FlowRead::of_query(&flow.query).map(|read| read.name);
            let found = found(flow).into_iter().map(|read| read.name);
            let reads = found.chain(own).chain(flow.reads.iter().cloned());
            let reads = reads.filter_map(|name| place(&name)).collect();
            OutlineFlow { name: flow.name.clone(), target: place(&flow.target), reads }
        };
        outline.flows = graph.flows().iter().map(flow).collect();
        outline
    }

    fn key(&self, name: &Identifier) -> crate::IdentifierKey {
        name.key(self.default_catalog.as_deref(), self.default_database.as_deref())
    }

    /// Whether both name one dataset to the server. Observed: upper and lower case of the name count.
    fn is_same(&self, a: &Identifier, b: &Identifier) -> bool {
        a.name() == b.name() && self.key(a).may_be(&self.key(b))
    }

    fn find(&self, name: &Identifier, fits: impl Fn(DatasetKind) -> bool) -> Option<usize> {
        self.datasets.iter().position(|dataset| fits(dataset.kind) && self.is_same(&dataset.name, name))
    }
}

/// What a run will do.
///
/// A selection runs the flows into the selected tables and nothing else: what is upstream is read
/// as it is, what is downstream keeps its rows. Source: Spark 4.3,
/// `StartRun.refresh_selection` and `full_refresh_selection`; observed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct RunPlan {
    /// What happens to each dataset, in the order of the outline.
    pub datasets: Vec<PlannedDataset>,
    /// Each flow and whether it runs, in the order of the outline.
    pub flows: Vec<PlannedFlow>,
    /// What is wrong with the selection; the server would not tell most of it.
    pub problems: Vec<SelectionProblem>,
    /// Selected names that are not in the outline, which does not hold the whole graph.
    pub undecided: Vec<Identifier>,
}

/// What a run does with a dataset.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedDataset {
    /// Its name.
    pub name: Identifier,
    /// Its kind.
    pub kind: DatasetKind,
    /// What happens to it.
    pub action: PlannedAction,
    /// Whether a flow that runs reads it, directly or through views.
    pub is_read: bool,
}

/// What happens to a dataset.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum PlannedAction {
    /// Its flows run: a streaming table and a sink go on from their checkpoints, a materialized
    /// view is computed anew.
    Update,
    /// It is emptied and its checkpoints are forgotten, then its flows run.
    FullRefresh,
    /// It holds no rows: what reads it computes it.
    View,
    /// Nothing; flows that run read it as it is.
    LeftOut(LeftOutReason),
}

/// Why a dataset is left out of a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LeftOutReason {
    /// It is not selected.
    NotSelected,
    /// It is a sink: those are written only when everything is.
    Sink,
    /// No flow writes into it.
    NoFlow,
}

/// What a run does with a flow.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PlannedFlow {
    /// Its name.
    pub name: Identifier,
    /// Whether it runs.
    pub runs: bool,
    /// Whether it writes into a view, and so never runs by itself.
    pub is_of_view: bool,
}

/// What is wrong with a selection.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SelectionProblem {
    /// A name stands in both lists. The server refuses that.
    Twice {
        /// The name as it stands among the datasets to refresh.
        name: Identifier,
    },
    /// A name is not in the graph. The server would ignore it.
    Unknown {
        /// The name.
        name: Identifier,
    },
    /// A name is that of a flow.
    IsAFlow {
        /// The name.
        name: Identifier,
        /// The dataset that it writes into; `None` if that is not known.
        target: Option<Identifier>,
    },
    /// A name is that of a view or a sink. The server would ignore it.
    NotATable {
        /// The name.
        name: Identifier,
        /// What it is.
        kind: DatasetKind,
    },
    /// A table that must not be reset is selected for a full refresh. The server fails with an
    /// internal error.
    NotResettable {
        /// The name.
        name: Identifier,
    },
    /// No flow would run.
    NothingToRun,
}

impl fmt::Display for SelectionProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Twice { name } => write!(f, "{name} is selected for a refresh and for a full refresh"),
            Self::Unknown { name } => write!(f, "no table is called {name}"),
            Self::IsAFlow { name, .. } => write!(f, "{name} is a flow, not a table"),
            Self::NotATable { name, kind } => write!(f, "{name} is a {kind}, and only tables can be selected"),
            Self::NotResettable { name } => {
                write!(f, "{name} must not be reset: its table property {RESET_ALLOWED} is false")
            }
            Self::NothingToRun => f.write_str("no flow writes into what is selected, so nothing would run"),
        }
    }
}

impl std::error::Error for SelectionProblem {}

impl RunPlan {
    /// What a run with `selection` will do.
    pub fn new(outline: &Outline, selection: &RefreshSelection) -> Self {
        let mut plan = Self::default();
        let mut actions: Vec<PlannedAction> = match selection {
            RefreshSelection::All => vec![PlannedAction::Update; outline.datasets.len()],
            RefreshSelection::FullAll => outline.datasets.iter().map(reset).collect(),
            RefreshSelection::Only { .. } => outline.datasets.iter().map(unselected).collect(),
        };
        if let RefreshSelection::Only { refresh, full_refresh } = selection {
            for name in refresh {
                // Told even where only the case differs: both are surely meant to be one.
                if full_refresh.iter().any(|other| outline.key(name).may_be(&outline.key(other))) {
                    plan.problems.push(SelectionProblem::Twice { name: name.clone() });
                }
            }
            let updated = refresh.iter().map(|name| (name, PlannedAction::Update));
            let reset = full_refresh.iter().map(|name| (name, PlannedAction::FullRefresh));
            for (name, action) in updated.chain(reset) {
                plan.select(outline, name, action, &mut actions);
            }
        }
        let mut has_flow = vec![false; outline.datasets.len()];
        for target in outline.flows.iter().filter_map(|flow| flow.target) {
            has_flow[target] = true;
        }
        for (place, dataset) in outline.datasets.iter().enumerate() {
            if is_view(dataset.kind) {
                actions[place] = PlannedAction::View;
            } else if !has_flow[place] && outline.is_complete && runs(actions[place]) {
                actions[place] = PlannedAction::LeftOut(LeftOutReason::NoFlow);
            }
        }
        let flow_runs = |target: Option<usize>| match target {
            Some(target) => runs(actions[target]),
            None => !matches!(selection, RefreshSelection::Only { .. }),
        };
        plan.flows = outline
            .flows
            .iter()
            .map(|flow| PlannedFlow {
                name: flow.name.clone(),
                runs: flow_runs(flow.target),
                is_of_view: flow.target.is_some_and(|target| is_view(outline.datasets[target].kind)),
            })
            .collect();
        let is_read = read_by_runs(outline, &plan.flows);
        plan.datasets = (outline.datasets.iter().zip(&actions).zip(is_read))
            .map(|((dataset, action), is_read)| PlannedDataset {
                name: dataset.name.clone(),
                kind: dataset.kind,
                action: *action,
                is_read,
            })
            .collect();
        if plan.n_flows() == 0 && plan.problems.is_empty() && plan.undecided.is_empty() && outline.is_complete {
            plan.problems.push(SelectionProblem::NothingToRun);
        }
        plan
    }

    /// How many flows run.
    pub fn n_flows(&self) -> usize {
        self.flows.iter().filter(|flow| flow.runs).count()
    }

    /// The tables that flows of the run read and that the run does not touch: they are read as they are.
    pub fn read_as_they_are(&self) -> impl Iterator<Item = &PlannedDataset> {
        self.datasets.iter().filter(|dataset| dataset.is_read && matches!(dataset.action, PlannedAction::LeftOut(_)))
    }

    fn select(&mut self, outline: &Outline, name: &Identifier, action: PlannedAction, actions: &mut [PlannedAction]) {
        if let Some(place) = outline.find(name, DatasetKind::is_table) {
            if action == PlannedAction::FullRefresh && !outline.datasets[place].is_resettable {
                self.problems.push(SelectionProblem::NotResettable { name: name.clone() });
            }
            actions[place] = action;
        } else if !outline.is_complete {
            self.undecided.push(name.clone());
        } else if let Some(place) = outline.find(name, |kind| !kind.is_table()) {
            let kind = outline.datasets[place].kind;
            self.problems.push(SelectionProblem::NotATable { name: name.clone(), kind });
        } else if let Some(flow) = outline.flows.iter().find(|flow| flow.name.name() == name.name()) {
            let target = flow.target.map(|target| outline.datasets[target].name.clone());
            self.problems.push(SelectionProblem::IsAFlow { name: name.clone(), target });
        } else {
            self.problems.push(SelectionProblem::Unknown { name: name.clone() });
        }
    }
}

fn is_view(kind: DatasetKind) -> bool {
    matches!(kind, DatasetKind::TemporaryView | DatasetKind::PersistedView)
}

fn runs(action: PlannedAction) -> bool {
    matches!(action, PlannedAction::Update | PlannedAction::FullRefresh)
}

/// Observed: a full refresh of everything skips the reset of what must not be reset.
fn reset(dataset: &OutlineDataset) -> PlannedAction {
    if dataset.is_resettable { PlannedAction::FullRefresh } else { PlannedAction::Update }
}

/// Observed: with any selection the flows into sinks are excluded.
fn unselected(dataset: &OutlineDataset) -> PlannedAction {
    let is_sink = dataset.kind == DatasetKind::Sink;
    PlannedAction::LeftOut(if is_sink { LeftOutReason::Sink } else { LeftOutReason::NotSelected })
}

/// Which datasets are read by a flow that runs, directly or through views.
fn read_by_runs(outline: &Outline, flows: &[PlannedFlow]) -> Vec<bool> {
    let mut into: Vec<Vec<usize>> = vec![Vec::new(); outline.datasets.len()];
    for (index, flow) in outline.flows.iter().enumerate() {
        if let Some(target) = flow.target {
            into[target].push(index);
        }
    }
    let mut is_read = vec![false; outline.datasets.len()];
    let running = outline.flows.iter().zip(flows).filter(|(_, planned)| planned.runs);
    let mut open: Vec<usize> = running.flat_map(|(flow, _)| flow.reads.iter().copied()).collect();
    while let Some(dataset) = open.pop() {
        if !std::mem::replace(&mut is_read[dataset], true) && is_view(outline.datasets[dataset].kind) {
            open.extend(into[dataset].iter().flat_map(|flow| outline.flows[*flow].reads.iter().copied()));
        }
    }
    is_read
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Dataset, Flow};

    fn graph() -> DataflowGraph {
        DataflowGraph::builder()
            .default_database("db")
            .dataset(Dataset::streaming_table("raw").query("SELECT 1").property(RESET_ALLOWED, "false"))
            .dataset(Dataset::temporary_view("cleaned").query("SELECT 1").reads("raw"))
            .dataset(Dataset::streaming_table("orders"))
            .flow(Flow::builder("web", "orders", "SELECT 1").reads("cleaned"))
            .flow(Flow::builder("shop", "orders", "SELECT 1"))
            .dataset(Dataset::materialized_view("totals").query("SELECT 1").reads("orders"))
            .dataset(Dataset::sink("out", "noop"))
            .flow(Flow::builder("to_out", "out", "SELECT 1").reads("orders"))
            .build()
            .unwrap()
    }

    fn names(names: &[&str]) -> Vec<Identifier> {
        names.iter().map(|name| Identifier::parse(name).unwrap()).collect()
    }

    fn plan(refresh: &[&str], full_refresh: &[&str]) -> RunPlan {
        let selection = RefreshSelection::only(names(refresh), names(full_refresh)).unwrap();
        RunPlan::new(&Outline::of(&graph()), &selection)
    }

    fn told(plan: &RunPlan) -> String {
        let word = |dataset: &PlannedDataset| match dataset.action {
            PlannedAction::Update => "update",
            PlannedAction::FullRefresh => "full",
            PlannedAction::View => "view",
            PlannedAction::LeftOut(LeftOutReason::NotSelected) => "-",
            PlannedAction::LeftOut(LeftOutReason::Sink) => "sink",
            PlannedAction::LeftOut(LeftOutReason::NoFlow) => "no flow",
        };
        let datasets = plan.datasets.iter().map(|dataset| {
            format!("{} {}{}", dataset.name, word(dataset), if dataset.is_read { " (read)" } else { "" })
        });
        let flows = plan.flows.iter().filter(|flow| flow.runs).map(|flow| flow.name.to_string());
        format!("{}; runs {}", datasets.collect::<Vec<_>>().join(", "), flows.collect::<Vec<_>>().join(" "))
    }

    #[test]
    fn everything_runs_unless_something_is_selected() {
        let outline = Outline::of(&graph());
        assert_eq!(
            told(&RunPlan::new(&outline, &RefreshSelection::All)),
            "raw update (read), cleaned view (read), orders update (read), totals update, out update; runs raw web shop \
             totals to_out"
        );
        // What must not be reset is only updated.
        assert_eq!(
            told(&RunPlan::new(&outline, &RefreshSelection::FullAll)),
            "raw update (read), cleaned view (read), orders full (read), totals full, out full; runs raw web shop totals \
             to_out"
        );
    }

    #[test]
    fn a_selection_runs_nothing_upstream_or_downstream() {
        let plan = plan(&["orders"], &["db.totals"]);
        assert_eq!(
            told(&plan),
            "raw - (read), cleaned view (read), orders update (read), totals full, out sink; runs web shop totals"
        );
        let as_is: Vec<_> = plan.read_as_they_are().map(|dataset| dataset.name.to_string()).collect();
        assert_eq!(as_is, ["raw"]);
        assert_eq!(plan.problems, []);
    }

    #[test]
    fn a_selection_that_means_nothing_is_told() {
        let problems = |refresh: &[&str], full_refresh: &[&str]| {
            plan(refresh, full_refresh).problems.iter().map(ToString::to_string).collect::<Vec<_>>().join("; ")
        };
        assert_eq!(
            problems(&["orders", "nosuch", "Totals", "web", "cleaned", "out", "other.orders"], &["db.orders", "raw"]),
            "orders is selected for a refresh and for a full refresh; no table is called nosuch; no table is called \
             Totals; web is a flow, not a table; cleaned is a temporary view, and only tables can be selected; out is a \
             sink, and only tables can be selected; no table is called other.orders; raw must not be reset: its table \
             property pipelines.reset.allowed is false"
        );
    }

    #[test]
    fn what_is_not_known_is_not_called_wrong() {
        let graph = DataflowGraph::builder().sql_file("a.sql", "CREATE …").build().unwrap();
        let outline = Outline::of(&graph);
        let selection = RefreshSelection::only(names(&["t"]), vec![]).unwrap();
        let plan = RunPlan::new(&outline, &selection);
        assert_eq!((plan.problems, plan.undecided), (vec![], names(&["t"])));
    }

    #[test]
    fn a_table_without_flow_does_not_run() {
        let sink = DataflowGraph::builder().dataset(Dataset::sink("out", "noop")).build().unwrap();
        let plan = RunPlan::new(&Outline::of(&sink), &RefreshSelection::All);
        assert_eq!(told(&plan), "out no flow; runs ");
        assert_eq!(plan.problems, [SelectionProblem::NothingToRun]);
    }
}
