//! `knut run` and `knut dry-run`: registers the project's graph on a server and follows its run.

use std::path::Path;

use knut_client::RunOptions;
use knut_model::RefreshSelection;
use knut_project::{Code, Severity, Storage};
use knut_viewer::{RunOutcome, ViewerState};

use super::spec_path;
use crate::args::{DryRunArgs, GraphRunArgs, ProjectArgs, RunArgs, ServerArgs};
use crate::connect::{Environment, choose, connect};
use crate::ctrl_c::{Followed, follow};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::findings;
use crate::places::Places;
use crate::printer::{Printer, Tone};
use crate::report;
use crate::selection;

pub(crate) async fn run(args: RunArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let refresh = args.selection.selection();
    execute(&args.project, &args.graph, &args.server, refresh, false, printer).await
}

pub(crate) async fn dry_run(args: DryRunArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    execute(&args.project, &args.graph, &args.server, RefreshSelection::All, true, printer).await
}

fn storage_at(written: &str, base: &Path) -> Result<Storage, Failure> {
    Storage::resolve(written, base).map_err(|error| Failure::new(ExitCode::Usage, format!("--storage: {error}")))
}

async fn execute(
    project: &ProjectArgs,
    given: &GraphRunArgs,
    server: &ServerArgs,
    refresh: RefreshSelection,
    dry_run: bool,
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
    let _lock = match if dry_run { Ok(None) } else { connected.lock() } {
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
    let mut state = ViewerState::default();
    let updates = client.run_updates(defined, &options);
    if let Followed::Left = follow(&connected, updates, &mut state, printer).await? {
        return Ok(ExitCode::Interrupted);
    }
    let code = report::report(&state, &places, printer);
    // The session ends only when the server does no more work in it; do not wait for that.
    if matches!(state.outcome(), Some(RunOutcome::Succeeded | RunOutcome::Failed(_))) {
        connected.close().await;
    }
    Ok(code)
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
