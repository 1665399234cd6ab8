//! Spark stages of a run, as the server's progress messages tell them.

use std::collections::BTreeMap;

use crate::StageProgress;

/// What is known of one Spark stage.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StageState {
    /// How many tasks it has.
    pub n_tasks: u64,
    /// How many of them are done.
    pub n_completed_tasks: u64,
    /// Bytes its completed tasks have read.
    pub input_bytes_read: u64,
    /// Whether the server said that it is done. A stage that Spark skips never is.
    pub done: bool,
}

/// Folds one report in; figures only grow, so a late report takes nothing back.
pub(crate) fn fold(stages: &mut BTreeMap<i64, StageState>, report: StageProgress) {
    let stage = stages.entry(report.stage_id).or_insert(StageState {
        n_tasks: 0,
        n_completed_tasks: 0,
        input_bytes_read: 0,
        done: false,
    });
    stage.n_tasks = stage.n_tasks.max(report.n_tasks);
    stage.n_completed_tasks = stage.n_completed_tasks.max(report.n_completed_tasks);
    stage.input_bytes_read = stage.input_bytes_read.max(report.input_bytes_read);
    stage.done |= report.done;
}
