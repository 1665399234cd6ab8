//! `knut sql`: executes one statement and shows its progress.

use knut_project::Project;
use knut_viewer::{RunOutcome, ViewerState};

use super::{server_folder, spec_path};
use crate::args::SqlArgs;
use crate::connect::{choose, connect};
use crate::ctrl_c::{Followed, follow};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::hints;
use crate::plain_log::duration;
use crate::printer::{Printer, Tone};

pub(crate) async fn run(args: SqlArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let folder = server_folder(&args.project)?;
    // A project is not needed, but its spec may name the server.
    let spec = spec_path(&args.project).ok().and_then(|spec| Project::load(&spec).ok());
    let in_spec = spec.and_then(|project| project.spec.remote);
    let client = connect(choose(&args.server, in_spec.as_deref(), &folder)?, printer).await?.client;
    let mut state = ViewerState::default();
    let updates = client.execute_sql(&args.statement);
    if let Followed::Left = follow(&client, updates, &mut state, printer).await? {
        return Ok(ExitCode::Interrupted);
    }
    let code = report(&state, printer);
    if matches!(state.outcome(), Some(RunOutcome::Succeeded | RunOutcome::Failed(_))) {
        // The statement is over and told; whether the server also forgets the session changes nothing.
        let _ = client.close().await;
    }
    Ok(code)
}

fn report(state: &ViewerState, printer: &mut Printer) -> ExitCode {
    let took = match (state.started_at(), state.last_at()) {
        (Some(start), Some(end)) => end.duration_since(start).map(duration).unwrap_or_default(),
        _ => String::new(),
    };
    let n_tasks: u64 = state.stages().values().map(|stage| stage.n_completed_tasks).sum();
    let (code, tone, word) = match state.outcome() {
        Some(RunOutcome::Succeeded) => (ExitCode::Ok, Tone::Good, "COMPLETED"),
        Some(RunOutcome::Cancelled(_)) => (ExitCode::Cancelled, Tone::Doubtful, "CANCELLED"),
        Some(RunOutcome::Failed(_)) => (ExitCode::Failed, Tone::Bad, "FAILED"),
        _ => (crate::report::exit_code(state), Tone::Bad, "UNKNOWN"),
    };
    if let Some(diagnostic) = state.outcome().and_then(RunOutcome::diagnostic) {
        printer.labelled(Tone::Bad, "error", diagnostic.summary());
        if let Some(hint) = hints::for_diagnostic(diagnostic) {
            printer.detail("help", hint);
        }
    }
    let tasks = if n_tasks > 0 { format!(", {n_tasks} tasks") } else { String::new() };
    printer.toned_result("statement ", tone, word, &format!(" in {took}{tasks}"));
    code
}
