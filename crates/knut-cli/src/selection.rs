//! What the options `--refresh` and `--full-refresh` mean for a project, told before anything runs.

use knut_model::{Outline, RefreshSelection, RunPlan, SelectionProblem};

use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// How many names are listed; more are counted only.
const MAX_NAMES: usize = 20;

/// What a run with the selection will do.
///
/// # Errors
/// Every name of the selection that means nothing: the server would take no notice and say success.
pub(crate) fn plan(outline: &Outline, selection: &RefreshSelection) -> Result<RunPlan, Failure> {
    let plan = RunPlan::new(outline, selection);
    // A run of everything needs no selection to be right; what it lacks is the checks' business.
    if !matches!(selection, RefreshSelection::Only { .. }) {
        return Ok(plan);
    }
    let mut failure: Option<Failure> = None;
    let is_contradiction = |problem: &SelectionProblem| matches!(problem, SelectionProblem::Twice { .. });
    let code = if plan.problems.iter().any(is_contradiction) { ExitCode::Usage } else { ExitCode::NothingSelected };
    for problem in &plan.problems {
        let (text, help) = (problem.to_string(), help(problem, outline));
        failure = Some(match failure {
            None => Failure::listing(code, text, help),
            Some(failure) => failure.also(text, help),
        });
    }
    failure.map_or(Ok(plan), Err)
}

fn help(problem: &SelectionProblem, outline: &Outline) -> Option<String> {
    match problem {
        SelectionProblem::Twice { .. } => Some("a full refresh updates it too: leave it out of --refresh".to_owned()),
        SelectionProblem::IsAFlow { target: Some(target), .. } => {
            Some(format!("name the dataset that it writes into, {target}"))
        }
        SelectionProblem::Unknown { name } => {
            let tables = || outline.datasets.iter().filter(|dataset| dataset.kind.is_table());
            match knut_project::nearest(&name.to_string(), tables().map(|table| table.name.name())) {
                Some(near) => Some(format!("did you mean {near}?")),
                None => Some(format!("the project has {}", listed(tables().map(|table| table.name.to_string())))),
            }
        }
        SelectionProblem::NotATable { .. } => {
            Some("a view is computed by what reads it, a sink is written when everything runs".to_owned())
        }
        SelectionProblem::NotResettable { .. } => Some("take --refresh, or change the property".to_owned()),
        _ => None,
    }
}

/// What a selection leaves out, in a line; `None` if everything runs.
pub(crate) fn told(plan: &RunPlan, selection: &RefreshSelection) -> Option<String> {
    if !matches!(selection, RefreshSelection::Only { .. }) {
        return None;
    }
    let n_all = plan.flows.iter().filter(|flow| !flow.is_of_view).count();
    let selected = format!("{} of {n_all} flows selected", plan.n_flows());
    let as_they_are: Vec<String> = plan.read_as_they_are().map(|dataset| dataset.name.to_string()).collect();
    let what = match as_they_are.len() {
        0 => return Some(selected),
        1 => "it is",
        _ => "they are",
    };
    Some(format!("{selected}; read as {what}: {}", listed(as_they_are.into_iter())))
}

fn listed(names: impl Iterator<Item = String>) -> String {
    let names: Vec<String> = names.collect();
    let text = names.iter().take(MAX_NAMES).cloned().collect::<Vec<_>>().join(", ");
    match names.len().saturating_sub(MAX_NAMES) {
        0 => text,
        n_more => format!("{text} and {n_more} more"),
    }
}
