//! The state of one run, folded from its updates.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::time::SystemTime;

use knut_model::DatasetKind;

use crate::{
    ConnectionChange, DatasetNode, EventText, ExecutionProgress, FlowState, FlowStatus, GraphDefined, PipelineEvent,
    RunEnd, RunOutcome, RunStarted, StageState, UpdateKind, ViewerUpdate, stage,
};

/// How many messages of unknown form are kept; older ones are counted only.
const MAX_KEPT_MESSAGES: usize = 1000;

/// A flow's place in [`ViewerState::flows`]; it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct FlowId(usize);

/// That an update changed a flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct FlowChange {
    /// Which flow.
    pub flow: FlowId,
    /// Where it stood before.
    pub before: FlowStatus,
}

/// Where a run stands.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RunPhase {
    /// It has not been started.
    #[default]
    Defining,
    /// It is going on.
    Running,
    /// It is over, or lost from sight.
    Ended(RunEnd),
}

/// Everything a viewer shows of one run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ViewerState {
    last_seq: u64,
    n_ignored: u64,
    phase: RunPhase,
    started: Option<RunStarted>,
    started_at: Option<SystemTime>,
    last_at: Option<SystemTime>,
    run_completed: bool,
    datasets: Vec<DatasetNode>,
    flows: Vec<FlowState>,
    flow_ids: HashMap<String, FlowId>,
    stages: BTreeMap<i64, StageState>,
    n_inflight_tasks: u64,
    connection: Option<ConnectionChange>,
    messages: VecDeque<PipelineEvent>,
    n_dropped_messages: u64,
}

impl ViewerState {
    /// Folds in one update and tells which flows it changed.
    ///
    /// An update whose `seq` is not above the last one's was folded in before and is ignored, as
    /// is anything after the end.
    pub fn apply(&mut self, update: ViewerUpdate) -> Vec<FlowChange> {
        if update.seq <= self.last_seq || matches!(self.phase, RunPhase::Ended(_)) {
            self.n_ignored += 1;
            return Vec::new();
        }
        self.last_seq = update.seq;
        self.last_at = Some(update.received);
        match update.kind {
            UpdateKind::GraphDefined(graph) => self.define(graph),
            UpdateKind::RunStarted(started) => {
                self.started = Some(started);
                self.started_at = Some(update.received);
                self.phase = RunPhase::Running;
            }
            UpdateKind::Event(event) => return self.event(event).into_iter().collect(),
            UpdateKind::Progress(progress) => self.progress(&progress),
            UpdateKind::Connection(ConnectionChange::Reattached) => self.connection = None,
            UpdateKind::Connection(change) => self.connection = Some(change),
            UpdateKind::Ended(end) => return self.end(end),
        }
        Vec::new()
    }

    /// Where the run stands.
    pub fn phase(&self) -> &RunPhase {
        &self.phase
    }

    /// How the run ended; `None` while it goes on.
    pub fn outcome(&self) -> Option<&RunOutcome> {
        self.end_of_run().map(|end| &end.outcome)
    }

    /// How the run ended and what that is known from; `None` while it goes on.
    pub fn end_of_run(&self) -> Option<&RunEnd> {
        match &self.phase {
            RunPhase::Ended(end) => Some(end),
            RunPhase::Defining | RunPhase::Running => None,
        }
    }

    /// What was asked of the server; `None` before the run began.
    pub fn started(&self) -> Option<&RunStarted> {
        self.started.as_ref()
    }

    /// When the run began, by the client's clock; `None` before it did.
    pub fn started_at(&self) -> Option<SystemTime> {
        self.started_at
    }

    /// When the last update was received, by the client's clock; `None` before the first.
    pub fn last_at(&self) -> Option<SystemTime> {
        self.last_at
    }

    /// Whether the server sent `Run is COMPLETED.`
    pub fn is_run_completed(&self) -> bool {
        self.run_completed
    }

    /// The datasets that the client defined itself.
    pub fn datasets(&self) -> &[DatasetNode] {
        &self.datasets
    }

    /// The flows, in the order they became known.
    pub fn flows(&self) -> &[FlowState] {
        &self.flows
    }

    /// One flow.
    ///
    /// # Panics
    /// If the id is from another state.
    pub fn flow(&self, id: FlowId) -> &FlowState {
        &self.flows[id.0]
    }

    /// The flow of that name, as events spell it; `None` when none is known.
    pub fn flow_named(&self, name: &str) -> Option<&FlowState> {
        self.flow_ids.get(name).map(|id| self.flow(*id))
    }

    /// The Spark stages by number. Empty often means that the server sent none, not that none ran.
    pub fn stages(&self) -> &BTreeMap<i64, StageState> {
        &self.stages
    }

    /// Spark tasks running now, as far as the server tells.
    pub fn n_inflight_tasks(&self) -> u64 {
        self.n_inflight_tasks
    }

    /// What is wrong with the connection; `None` while all is well.
    pub fn connection(&self) -> Option<&ConnectionChange> {
        self.connection.as_ref()
    }

    /// Events of no known form, oldest first; at most the last 1000.
    pub fn messages(&self) -> impl Iterator<Item = &PipelineEvent> {
        self.messages.iter()
    }

    /// How many older messages are no longer kept.
    pub fn n_dropped_messages(&self) -> u64 {
        self.n_dropped_messages
    }

    /// How many updates were ignored because they came twice or after the end.
    pub fn n_ignored(&self) -> u64 {
        self.n_ignored
    }

    /// How many flows have one of `statuses`.
    pub fn n_flows(&self, statuses: &[FlowStatus]) -> usize {
        self.flows.iter().filter(|flow| statuses.contains(&flow.status())).count()
    }

    fn define(&mut self, graph: GraphDefined) {
        self.datasets.extend(graph.datasets);
        for node in graph.flows {
            let id = self.flow_id(&node.name);
            self.flows[id.0].set_target(node.target);
        }
    }

    /// The flow of that name, made if it is new: the client may not know what SQL files define.
    fn flow_id(&mut self, name: &str) -> FlowId {
        if let Some(id) = self.flow_ids.get(name) {
            return *id;
        }
        let id = FlowId(self.flows.len());
        self.flows.push(FlowState::new(name.to_owned(), None));
        self.flow_ids.insert(name.to_owned(), id);
        id
    }

    fn event(&mut self, event: PipelineEvent) -> Option<FlowChange> {
        match EventText::parse(&event.message) {
            EventText::Flow { flow, event: flow_event } => {
                let id = self.flow_id(&flow);
                let flow = &mut self.flows[id.0];
                let before = flow.mark();
                flow.apply(flow_event, event.at);
                (flow.mark() != before).then_some(FlowChange { flow: id, before: before.0 })
            }
            EventText::RunCompleted => {
                self.run_completed = true;
                None
            }
            EventText::RunFailed { .. } | EventText::Unknown => {
                if self.messages.len() == MAX_KEPT_MESSAGES {
                    self.messages.pop_front();
                    self.n_dropped_messages += 1;
                }
                self.messages.push_back(event);
                None
            }
        }
    }

    fn progress(&mut self, progress: &ExecutionProgress) {
        self.n_inflight_tasks = progress.n_inflight_tasks;
        for report in &progress.stages {
            stage::fold(&mut self.stages, *report);
        }
    }

    fn end(&mut self, end: RunEnd) -> Vec<FlowChange> {
        let dry_run = self.started.as_ref().is_some_and(|started| started.dry_run);
        let views: BTreeSet<&str> = self
            .datasets
            .iter()
            .filter(|dataset| matches!(dataset.kind, DatasetKind::TemporaryView | DatasetKind::PersistedView))
            .map(|dataset| dataset.name.as_str())
            .collect();
        let mut changes = Vec::new();
        for (index, flow) in self.flows.iter_mut().enumerate() {
            let is_view = flow.target().is_some_and(|target| views.contains(target));
            let before = flow.status();
            flow.settle(&end.outcome, dry_run, is_view);
            if flow.status() != before {
                changes.push(FlowChange { flow: FlowId(index), before });
            }
        }
        self.n_inflight_tasks = 0;
        self.connection = None;
        self.phase = RunPhase::Ended(end);
        changes
    }
}

#[cfg(test)]
mod tests;
