//! `knut run` and `knut dry-run`: registers the project's graph on a server and follows its run.

use std::fs::File;
use std::path::Path;
use std::time::Duration;

use knut_client::{OperationState, RunOptions};
use knut_model::RefreshSelection;
use knut_project::{Code, Project, Severity, Storage};
use knut_viewer::ViewerState;

use super::attach::keep_outcome;
use super::spec_path;
use crate::args::{DryRunArgs, GraphRunArgs, ProjectArgs, RunArgs, ServerArgs};
use crate::connect::{Connected, Environment, choose, connect, resume};
use crate::ctrl_c::{Followed, follow};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::findings;
use crate::places::Places;
use crate::printer::{Printer, Tone};
use crate::report;
use crate::runs::{KeptRun, Run};
use crate::selection;

/// How long a server of an earlier run is looked for.
const PATIENCE: Duration = Duration::from_secs(3);

pub(crate) async fn run(args: RunArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let refresh = args.selection.selection();
    let how = if args.detach { How::Detached } else { How::Followed };
    execute(&args.project, &args.graph, &args.server, refresh, how, printer).await
}

pub(crate) async fn dry_run(args: DryRunArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    execute(&args.project, &args.graph, &args.server, RefreshSelection::All, How::Dry, printer).await
}

/// How to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum How {
    /// To its end.
    Followed,
    /// Started, and left to the server.
    Detached,
    /// Only checked.
    Dry,
}

fn storage_at(written: &str, base: &Path) -> Result<Storage, Failure> {
    Storage::resolve(written, base).map_err(|error| Failure::new(ExitCode::Usage, format!("--storage: {error}")))
}

async fn execute(
    project: &ProjectArgs,
    given: &GraphRunArgs,
    server: &ServerArgs,
    refresh: RefreshSelection,
    how: How,
    printer: &mut Printer,
) -> Result<ExitCode, Failure> {
    // Everything that can be wrong without a server is told before one is asked.
    let here = std::env::current_dir()?;
    let storage = given.storage.as_deref().map(|written| storage_at(written, &here)).transpose()?;
    let mut checkup = knut_project::check(&spec_path(project)?, storage);
    // Whether checkpoints land elsewhere depends on the server.
    let is_about_storage = |code: Code| code == Code::CHECKPOINTS_ELSEWHERE;
    // Without files that can be read there is nothing to ask a server.
    let is_shown = |code: Code| {
        let is_wanted = !given.no_check || (checkup.project.is_none() && code.severity() == Severity::Error);
        is_wanted && !is_about_storage(code)
    };
    findings::print(&checkup, checkup.findings.iter().filter(|finding| is_shown(finding.code)), printer);
    let can_be_sent = checkup.project.is_some();
    let Some(project) = checkup.project.take().filter(|_| given.no_check || !checkup.has_errors()) else {
        let (text, hint) = if can_be_sent {
            let hint = "mend the errors above; --no-check asks it all the same";
            ("the server would refuse this project, so it was not asked", hint)
        } else {
            ("the project cannot be sent to a server as it is", "mend the errors above")
        };
        return Err(Failure::new(ExitCode::Invalid, text).hint(hint));
    };
    let graph = project.graph()?;
    let plan = selection::plan(&project.outline(), &refresh)?;
    let target = choose(server, Environment::read(), || Ok(project.spec.remote.clone()), &project.root)?;
    let connected = connect(target, printer).await?;
    let (storage, is_exact) = connected.storage(&project);
    if !is_exact {
        let moved = checkup.findings.iter().filter(|finding| is_about_storage(finding.code));
        findings::print(&checkup, moved, printer);
    }
    let dry_run = how == How::Dry;
    let claimed = if dry_run { Ok(None) } else { claim(&connected, &project).await };
    let _lock = match claimed {
        Ok(lock) => lock,
        Err(failure) => {
            connected.close().await;
            return Err(failure);
        }
    };
    let client = &connected.client;
    let what = if dry_run { "dry-run" } else { "run" };
    let (name, version) = (&project.spec.name, client.spark_version());
    printer.note(&format!("knut {what} {name} on {} (Spark {version})", client.endpoint()));
    if let Some(text) = selection::told(&plan, &refresh) {
        printer.note(&text);
    }

    let places = Places::of(&project);
    let defined = match client.define_graph(&graph).await {
        Ok(defined) => defined,
        Err(error) => {
            connected.close().await;
            let message = error.server().map(|server| server.message.clone());
            let snippet = error.sql_file().zip(message).and_then(|(file, message)| places.of_file(file, &message));
            return Err(Failure::from(error).snippet(snippet));
        }
    };
    for warning in &defined.warnings {
        printer.labelled(Tone::Doubtful, "warning", warning);
    }
    let options = RunOptions::new(storage).refresh(refresh).dry_run(dry_run);
    let kept = |handle| Run { pipeline: name.clone(), is_local: connected.is_local(), handle, outcome: None };
    if how == How::Detached {
        let handle = client.start_detached(defined, &options).await?;
        let id = KeptRun::keep(&project.root, kept(handle.clone())).map(|kept| kept.id()).map_err(|error| {
            // It is going on; without a file only its ids lead to it.
            let text = format!("the run is on its own, and cannot be kept for `knut attach`: {error}");
            let (operation, session) = (handle.operation_id, handle.session_id);
            let hint = format!("it is operation {operation} of session {session} on {}", client.endpoint());
            Failure::new(ExitCode::Unexpected, text).hint(hint)
        })?;
        printer.result(&format!("run {id} is on its own"));
        printer.detail("help", &format!("`knut attach {id}` waits for its end, `knut status {id}` asks for it"));
        return Ok(ExitCode::Ok);
    }
    let mut state = ViewerState::default();
    let updates = client.run_updates(defined, &options);
    // That it cannot be kept is told, and no reason not to run.
    let mut kept = match (!dry_run).then(|| KeptRun::keep(&project.root, kept(updates.handle()))) {
        Some(Ok(kept)) => Some(kept),
        Some(Err(error)) => {
            let text = format!("this run cannot be kept for `knut attach`: {error}");
            printer.labelled(Tone::Doubtful, "warning", &text);
            None
        }
        None => None,
    };
    if let Followed::Left = follow(&connected, updates, &mut state, printer).await? {
        if let Some(kept) = kept {
            printer.detail("help", &format!("`knut attach {}` follows it again, within five minutes", kept.id()));
        }
        return Ok(ExitCode::Interrupted);
    }
    let code = report::report(&state, Some(&places), printer);
    if let Some(kept) = &mut kept {
        keep_outcome(kept, &state);
    }
    // The session ends only when the server does no more work in it; do not wait for that.
    if state.outcome().is_some_and(report::is_over) {
        connected.close().await;
    }
    Ok(code)
}

/// Sees to it that no other run of the project is going on: two write the same tables and ruin each
/// other.
async fn claim(connected: &Connected, project: &Project) -> Result<Option<File>, Failure> {
    let lock = connected.lock()?;
    // The lock goes with its process, a run may go on: one that was left, or runs detached.
    let left = KeptRun::all(&project.root).into_iter().next().filter(|run| run.what.outcome.is_none());
    let Some(left) = left.filter(|run| !run.what.handle.dry_run) else { return Ok(lock) };
    let environment = Environment::read();
    let Ok(Ok(of_left)) = tokio::time::timeout(PATIENCE, resume(&left, None, &environment, &project.root)).await else {
        return Ok(lock);
    };
    match of_left.client.operation_state(left.what.handle.operation_id).await {
        Ok(OperationState::Running) => {
            let id = left.id();
            let failure = Failure::new(ExitCode::Unexpected, format!("run {id} of this project is still going on"));
            Err(failure.hint(format!("`knut attach {id}` follows it, `knut cancel {id}` cancels it")))
        }
        _ => Ok(lock),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_storage_folder_starts_here_and_a_placeholder_is_refused() {
        let uri = |written| storage_at(written, Path::new("/here")).map(|storage| storage.uri).ok();
        assert_eq!(uri("s").as_deref(), Some("file:///here/s"));
        assert_eq!(uri("s3a://b/p").as_deref(), Some("s3a://b/p"));
        assert_eq!(uri("${S}"), None);
    }
}
