//! `knut sql`: executes one statement and shows its progress.

use knut_viewer::{RunOutcome, ViewerState};

use super::{nearest_spec, server_folder};
use crate::args::SqlArgs;
use crate::connect::{Environment, choose, connect};
use crate::ctrl_c::{Followed, follow};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::hints;
use crate::plain_log::duration;
use crate::printer::{Printer, Tone};

pub(crate) async fn run(args: SqlArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let folder = server_folder(&args.project)?;
    // A project is not needed, but if there is one its spec may name the server.
    let in_spec = || match nearest_spec(&args.project)? {
        Some(spec) => Ok(knut_project::remote_of(&spec)?),
        None => Ok(None),
    };
    let target = choose(&args.server, Environment::read(), in_spec, &folder)?;
    let connected = connect(target, printer).await?;
    let mut state = ViewerState::default();
    let updates = connected.client.execute_sql(&args.statement);
    if let Followed::Left = follow(&connected, updates, &mut state, printer).await? {
        return Ok(ExitCode::Interrupted);
    }
    let code = report(&state, printer);
    if matches!(state.outcome(), Some(RunOutcome::Succeeded | RunOutcome::Failed(_))) {
        connected.close().await;
    }
    Ok(code)
}

fn report(state: &ViewerState, printer: &mut Printer) -> ExitCode {
    let took = match (state.started_at(), state.last_at()) {
        (Some(start), Some(end)) => end.duration_since(start).map(duration).unwrap_or_default(),
        _ => String::new(),
    };
    let n_tasks: u64 = state.stages().values().map(|stage| stage.n_completed_tasks).sum();
    let code = match crate::report::exit_code(state) {
        // There is no graph that could have been refused: the statement failed.
        ExitCode::Unresolved => ExitCode::Failed,
        code => code,
    };
    let (tone, word) = crate::report::verdict(code);
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
