//! What can be wrong with a graph before any server has seen it.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use crate::auto_cdc::{self, AutoCdcProblem};
use crate::{DataflowGraph, Dataset, DatasetKind, Flow, Identifier, IdentifierError, IdentifierKey, Query};

/// One problem of a graph.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum GraphProblem {
    /// A name cannot be read.
    BadName {
        /// What bears the name: a dataset's kind, `flow`, `target` or `read`.
        what: String,
        /// Why.
        error: IdentifierError,
    },
    /// Two datasets have one name.
    DuplicateDataset {
        /// The name as the second spells it.
        name: Identifier,
        /// The first one's kind.
        first: DatasetKind,
        /// The second one's kind.
        second: DatasetKind,
    },
    /// Two flows have one name.
    DuplicateFlow {
        /// The name as the second spells it.
        name: Identifier,
    },
    /// A temporary view's name has more than one part.
    QualifiedTemporaryView {
        /// The view's name.
        name: Identifier,
    },
    /// A flow that is not its dataset's own has a name of more than one part.
    QualifiedFlow {
        /// The flow's name.
        name: Identifier,
    },
    /// A flow writes into a dataset that the graph does not have.
    UnknownTarget {
        /// The flow's name.
        flow: Identifier,
        /// Its target.
        target: Identifier,
    },
    /// No flow writes into a dataset.
    WithoutFlow {
        /// The dataset's name.
        name: Identifier,
        /// Its kind.
        kind: DatasetKind,
    },
    /// A dataset that takes one flow has more.
    TooManyFlows {
        /// The dataset's name.
        name: Identifier,
        /// Its kind.
        kind: DatasetKind,
        /// How many flows write into it.
        n_flows: usize,
    },
    /// A table is both partitioned and clustered.
    PartitionedAndClustered {
        /// The table's name.
        name: Identifier,
    },
    /// A dataset has a setting that its kind does not take.
    NotForThisKind {
        /// The dataset's name.
        name: Identifier,
        /// Its kind.
        kind: DatasetKind,
        /// What it has and may not have.
        setting: &'static str,
    },
    /// A persisted view stands in a graph; only SQL files can define one.
    PersistedView {
        /// The view's name.
        name: Identifier,
    },
    /// A sink does not say where it writes.
    SinkWithoutFormat {
        /// The sink's name.
        name: Identifier,
    },
    /// A flow that applies changes is not complete.
    AutoCdc {
        /// The flow's name.
        flow: Identifier,
        /// What is wrong.
        problem: AutoCdcProblem,
    },
    /// A dataset takes changes from more than one flow, or changes and other rows.
    AutoCdcNotAlone {
        /// The dataset.
        target: Identifier,
        /// The first flow that applies changes.
        flow: Identifier,
    },
    /// The graph has nothing that a run could fill.
    NothingToRun,
}

impl fmt::Display for GraphProblem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadName { what, error } => write!(f, "bad name of a {what}: {error}"),
            Self::DuplicateDataset { name, first, second } => {
                write!(f, "two datasets are named {name}: a {first} and a {second}")
            }
            Self::DuplicateFlow { name } => write!(f, "two flows are named {name}"),
            Self::QualifiedTemporaryView { name } => {
                write!(f, "the temporary view {name} must have a name of one part")
            }
            Self::QualifiedFlow { name } => {
                write!(f, "the flow {name} must have a name of one part, unless it is the same as its target's")
            }
            Self::UnknownTarget { flow, target } => {
                write!(f, "the flow {flow} writes into {target}, which the graph does not define")
            }
            Self::WithoutFlow { name, kind } => {
                write!(f, "no flow writes into the {kind} {name}: give it a query or add a flow")
            }
            Self::TooManyFlows { name, kind, n_flows } => {
                write!(f, "the {kind} {name} takes one flow and has {n_flows}")
            }
            Self::PartitionedAndClustered { name } => {
                write!(f, "{name} has both partition columns and clustering columns: Spark takes one of them")
            }
            Self::NotForThisKind { name, kind, setting } => write!(f, "the {kind} {name} takes no {setting}"),
            Self::PersistedView { name } => {
                write!(f, "the view {name} can only be defined in a SQL file: the protocol has no message for it")
            }
            Self::SinkWithoutFormat { name } => {
                write!(f, "the sink {name} has no format: say which data source it writes to, such as kafka")
            }
            Self::AutoCdc { flow, problem } => write!(f, "the flow {flow} cannot apply changes: {problem}"),
            Self::AutoCdcNotAlone { target, flow } => {
                write!(f, "{target} takes changes from {flow}, so no other flow may write into it")
            }
            Self::NothingToRun => f.write_str("the graph has no table and no sink, so there is nothing to run"),
        }
    }
}

impl std::error::Error for GraphProblem {}

/// Every problem of a graph; at least one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GraphProblems(pub(crate) Vec<GraphProblem>);

impl GraphProblems {
    /// The problems: names first, then in the order of datasets and flows.
    pub fn problems(&self) -> &[GraphProblem] {
        &self.0
    }
}

impl fmt::Display for GraphProblems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("; ")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for GraphProblems {}

/// Everything wrong with `graph`, in a stable order.
pub(crate) fn problems_of(graph: &DataflowGraph) -> Vec<GraphProblem> {
    let mut problems = Vec::new();
    // SQL files define names that are not known here.
    let complete = graph.sql_files.is_empty();
    let key = |name: &Identifier| name.key(graph.default_catalog(), graph.default_database());

    let mut n_flows_into: BTreeMap<IdentifierKey, usize> = BTreeMap::new();
    for flow in &graph.flows {
        *n_flows_into.entry(key(&flow.target)).or_default() += 1;
    }

    // Without defaults, `orders` and `sales.orders` may be one: the server knows, this graph does not.
    let may_be = |key: &IdentifierKey, known: &BTreeMap<String, Vec<IdentifierKey>>| {
        known.get(key.name()).is_some_and(|keys| keys.iter().any(|other| key.may_be(other)))
    };
    let mut targets: BTreeMap<String, Vec<IdentifierKey>> = BTreeMap::new();
    for key in n_flows_into.keys() {
        targets.entry(key.name().to_owned()).or_default().push(key.clone());
    }
    let mut defined: BTreeMap<String, Vec<IdentifierKey>> = BTreeMap::new();
    let mut by_key: BTreeMap<IdentifierKey, &Dataset> = BTreeMap::new();
    for dataset in &graph.datasets {
        check_dataset(dataset, &mut problems);
        if let Some(first) = by_key.get(&key(&dataset.name)) {
            let (name, first, second) = (dataset.name.clone(), first.kind, dataset.kind);
            problems.push(GraphProblem::DuplicateDataset { name, first, second });
            continue;
        }
        let own = key(&dataset.name);
        let n_flows = n_flows_into.get(&own).copied().unwrap_or_default();
        let may_have_one = !complete || may_be(&own, &targets);
        check_flow_count(dataset, n_flows, may_have_one, &mut problems);
        defined.entry(own.name().to_owned()).or_default().push(own.clone());
        by_key.insert(own, dataset);
    }

    let mut seen: BTreeMap<IdentifierKey, &Flow> = BTreeMap::new();
    for flow in &graph.flows {
        if !flow.is_implicit() && !flow.name.is_single_part() {
            problems.push(GraphProblem::QualifiedFlow { name: flow.name.clone() });
        }
        // Two own queries of one dataset are told as the duplicate dataset that they are.
        if seen.insert(key(&flow.name), flow).is_some_and(|first| !(first.is_implicit() && flow.is_implicit())) {
            problems.push(GraphProblem::DuplicateFlow { name: flow.name.clone() });
        }
        if complete && !may_be(&key(&flow.target), &defined) {
            problems.push(GraphProblem::UnknownTarget { flow: flow.name.clone(), target: flow.target.clone() });
        }
    }

    check_auto_cdc(graph, &n_flows_into, &mut problems);

    let runs = |dataset: &Dataset| dataset.kind.is_table() || dataset.kind == DatasetKind::Sink;
    if complete && !graph.datasets.iter().any(runs) {
        problems.push(GraphProblem::NothingToRun);
    }
    problems
}

fn check_auto_cdc(
    graph: &DataflowGraph,
    n_flows_into: &BTreeMap<IdentifierKey, usize>,
    problems: &mut Vec<GraphProblem>,
) {
    let mut told = BTreeSet::new();
    for flow in &graph.flows {
        let Query::AutoCdc(cdc) = &flow.query else { continue };
        for problem in auto_cdc::problems_of(cdc) {
            problems.push(GraphProblem::AutoCdc { flow: flow.name.clone(), problem });
        }
        let target = flow.target.key(graph.default_catalog(), graph.default_database());
        if n_flows_into.get(&target).is_some_and(|n_flows| *n_flows > 1) && told.insert(target) {
            let (target, flow) = (flow.target.clone(), flow.name.clone());
            problems.push(GraphProblem::AutoCdcNotAlone { target, flow });
        }
    }
}

fn check_dataset(dataset: &Dataset, problems: &mut Vec<GraphProblem>) {
    let Dataset { name, kind, table, sink, .. } = dataset;
    match kind {
        DatasetKind::TemporaryView if !name.is_single_part() => {
            problems.push(GraphProblem::QualifiedTemporaryView { name: name.clone() });
        }
        DatasetKind::PersistedView => problems.push(GraphProblem::PersistedView { name: name.clone() }),
        _ => {}
    }
    if *kind == DatasetKind::Sink && sink.format.as_ref().is_none_or(|format| format.trim().is_empty()) {
        problems.push(GraphProblem::SinkWithoutFormat { name: name.clone() });
    }
    if !table.partition_columns.is_empty() && !table.clustering_columns.is_empty() {
        problems.push(GraphProblem::PartitionedAndClustered { name: name.clone() });
    }
    let table_settings = [
        ("schema", table.schema.is_some()),
        ("format", table.format.is_some()),
        ("table properties", !table.properties.is_empty()),
        ("partition columns", !table.partition_columns.is_empty()),
        ("clustering columns", !table.clustering_columns.is_empty()),
    ];
    let sink_settings = [("options", !sink.options.is_empty())];
    let refused = table_settings
        .into_iter()
        .filter(|_| !kind.is_table())
        .chain(sink_settings.into_iter().filter(|_| *kind != DatasetKind::Sink));
    for (setting, _) in refused.filter(|(_, given)| *given) {
        problems.push(GraphProblem::NotForThisKind { name: name.clone(), kind: *kind, setting });
    }
}

fn check_flow_count(dataset: &Dataset, n_flows: usize, may_have_one: bool, problems: &mut Vec<GraphProblem>) {
    let (name, kind) = (dataset.name.clone(), dataset.kind);
    let takes_one = matches!(kind, DatasetKind::MaterializedView | DatasetKind::TemporaryView);
    // A sink without a flow is accepted by the server and simply gets nothing.
    if n_flows == 0 && !may_have_one && kind != DatasetKind::Sink {
        problems.push(GraphProblem::WithoutFlow { name, kind });
    } else if n_flows > 1 && takes_one {
        problems.push(GraphProblem::TooManyFlows { name, kind, n_flows });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::AutoCdc;
    use crate::builder::GraphBuilder;

    fn problems(builder: GraphBuilder) -> Vec<String> {
        builder.build().unwrap_err().problems().iter().map(ToString::to_string).collect()
    }

    #[test]
    fn all_problems_are_told_at_once() {
        let builder = DataflowGraph::builder()
            .default_database("db")
            .dataset(Dataset::materialized_view("hy-phen").query("SELECT 1"))
            .dataset(Dataset::materialized_view("a").query("SELECT 1").partition_by("x").cluster_by("y"))
            .dataset(Dataset::streaming_table("DB.A").query("SELECT 1"))
            .dataset(Dataset::temporary_view("q.v").query("SELECT 1").format("csv"))
            .dataset(Dataset::streaming_table("lonely"))
            .flow(Flow::builder("q.f", "ghost", "SELECT 1"));
        assert_eq!(
            problems(builder),
            [
                "bad name of a materialized view: `hy-phen` is not a valid name: a part with characters other than \
                 letters, digits and _ must stand in backticks",
                "a has both partition columns and clustering columns: Spark takes one of them",
                "the materialized view a takes one flow and has 2",
                "two datasets are named DB.A: a materialized view and a streaming table",
                "the temporary view q.v must have a name of one part",
                "the temporary view q.v takes no format",
                "no flow writes into the streaming table lonely: give it a query or add a flow",
                "the flow q.f must have a name of one part, unless it is the same as its target's",
                "the flow q.f writes into ghost, which the graph does not define",
            ]
        );
    }

    #[test]
    fn changes_are_applied_by_one_flow_alone() {
        let changes = || AutoCdc::new("raw", ["id"], "at");
        let builder = DataflowGraph::builder()
            .dataset(Dataset::streaming_table("t").query(AutoCdc { keys: vec![], ..changes() }))
            .flow(Flow::builder("more", "t", changes()));
        assert_eq!(
            problems(builder),
            [
                "the flow t cannot apply changes: it has no key columns",
                "t takes changes from t, so no other flow may write into it"
            ]
        );
    }

    #[test]
    fn a_graph_of_views_only_has_nothing_to_run() {
        let builder = DataflowGraph::builder().dataset(Dataset::temporary_view("v").query("SELECT 1"));
        assert_eq!(problems(builder), ["the graph has no table and no sink, so there is nothing to run"]);
    }

    #[test]
    fn a_sink_needs_no_flow_and_a_table_takes_several() {
        let graph = DataflowGraph::builder()
            .dataset(Dataset::sink("out", "console").option("numRows", "5"))
            .dataset(Dataset::streaming_table("t"))
            .flow(Flow::builder("one", "t", "SELECT 1"))
            .flow(Flow::builder("two", "t", "SELECT 2"))
            .build()
            .unwrap();
        assert_eq!(graph.datasets()[0].sink.format.as_deref(), Some("console"));
        assert!(graph.flows().iter().all(|flow| !flow.is_implicit()));
    }

    #[test]
    fn a_sink_says_where_it_writes() {
        let builder = DataflowGraph::builder().dataset(Dataset::sink("out", " "));
        assert_eq!(
            problems(builder),
            ["the sink out has no format: say which data source it writes to, such as kafka"]
        );
    }

    #[test]
    fn names_that_may_be_one_are_not_said_to_be_two() {
        let graph = |database: Option<&str>| {
            let builder = DataflowGraph::builder().dataset(Dataset::streaming_table("orders")).flow(Flow::builder(
                "f",
                "default.orders",
                "SELECT 1",
            ));
            database.into_iter().fold(builder, GraphBuilder::default_database).build()
        };
        assert!(graph(None).is_ok());
        assert!(graph(Some("default")).is_ok());
        assert_eq!(graph(Some("sales")).unwrap_err().problems().len(), 2);
    }

    #[test]
    fn what_sql_files_define_is_not_asked_for() {
        let graph = DataflowGraph::builder()
            .dataset(Dataset::temporary_view("v").query("SELECT 1"))
            .flow(Flow::builder("f", "defined_in_sql", "SELECT 1"))
            .sql_file("a.sql", "CREATE STREAMING TABLE defined_in_sql")
            .build();
        assert!(graph.is_ok());
    }
}
