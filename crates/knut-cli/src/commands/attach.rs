//! `knut attach`, `status` and `cancel`: what can be done with a run that another process began.

use std::time::{SystemTime, UNIX_EPOCH};

use knut_client::{ErrorKind, OperationState};
use knut_project::Project;
use knut_viewer::{RunOutcome, ViewerState};

use super::{nearest_spec, server_folder};
use crate::args::KeptRunArgs;
use crate::connect::{Environment, resume};
use crate::ctrl_c::{Followed, follow};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::places::Places;
use crate::plain_log::duration;
use crate::printer::{Printer, Tone};
use crate::report;
use crate::runs::KeptRun;

pub(crate) async fn attach(args: &KeptRunArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let folder = server_folder(&args.project)?;
    let mut kept = KeptRun::find(&folder, args.run.as_deref())?;
    if let Some(code) = kept.what.outcome.as_deref().and_then(report::code_of_word) {
        printer.result(&format!(
            "run {} was seen to its end: {}",
            kept.id(),
            kept.what.outcome.as_deref().unwrap_or("")
        ));
        return Ok(code);
    }
    let connected = resume(&kept, args.remote.as_deref(), &Environment::read(), &folder).await?;
    let handle = kept.what.handle.clone().from_start();
    printer.note(&format!(
        "attached to run {} of {} on {}",
        kept.id(),
        kept.what.pipeline,
        connected.client.endpoint()
    ));
    let mut state = ViewerState::default();
    let updates = connected.client.attach(&handle);
    if let Followed::Left = follow(&connected, updates, &mut state, printer).await? {
        return Ok(ExitCode::Interrupted);
    }
    // The files may have changed since; a place that is not there is not shown.
    let project = nearest_spec(&args.project)?.and_then(|spec| Project::load(&spec).ok());
    let places = project.as_ref().map(Places::of);
    let code = report::report(&state, places.as_ref(), printer);
    keep_outcome(&mut kept, &state);
    if state.outcome().is_some_and(report::is_over) {
        connected.end_session().await;
    }
    Ok(code)
}

pub(crate) async fn status(args: &KeptRunArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let folder = server_folder(&args.project)?;
    let kept = KeptRun::find(&folder, args.run.as_deref())?;
    let state = if let Some(outcome) = &kept.what.outcome {
        outcome.clone()
    } else {
        let connected = resume(&kept, args.remote.as_deref(), &Environment::read(), &folder).await?;
        let state = connected.client.operation_state(kept.what.handle.operation_id).await?;
        if state == OperationState::Unknown {
            printer.note("the server does not know the run any more: it ended more than half an hour ago");
        }
        state.to_string()
    };
    let run = &kept.what;
    let started = UNIX_EPOCH + std::time::Duration::from_secs(run.handle.started);
    let ago = SystemTime::now().duration_since(started).map(duration).unwrap_or_default();
    let what = if run.handle.dry_run { "dry run" } else { "run" };
    printer.result(&format!(
        "{}  {state}  {} {what} of {} on {}:{}, started {ago} ago",
        kept.id(),
        run.handle.mode,
        run.pipeline,
        run.handle.host,
        run.handle.port
    ));
    Ok(ExitCode::Ok)
}

pub(crate) async fn cancel(args: &KeptRunArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let folder = server_folder(&args.project)?;
    let kept = KeptRun::find(&folder, args.run.as_deref())?;
    let id = kept.id();
    if let Some(outcome) = kept.what.outcome.as_deref().filter(|word| report::code_of_word(word).is_some()) {
        printer.result(&format!("run {id} is over already: {outcome}"));
        return Ok(ExitCode::Ok);
    }
    let connected = resume(&kept, args.remote.as_deref(), &Environment::read(), &folder).await?;
    // The server interrupts what it does not know without a word, so it is asked first.
    let state = match connected.client.operation_state(kept.what.handle.operation_id).await {
        Err(error) if error.kind() == ErrorKind::Unsupported => OperationState::Running,
        state => state?,
    };
    let was_running = !state.is_final() && connected.client.interrupt(kept.what.handle.operation_id).await?;
    if was_running {
        printer.result(&format!("run {id} is cancelled: the server starts no more flows"));
        let warning = "Spark stops no flow in mid-run: what was running goes on and may still commit";
        printer.labelled(Tone::Doubtful, "warning", warning);
    } else if state.is_final() {
        printer.result(&format!("run {id} is over already: {state}"));
    } else {
        printer.result(&format!("the server has no run {id} going on"));
    }
    Ok(ExitCode::Ok)
}

/// Keeps how the run ended, unless nobody can say: another look may tell.
pub(super) fn keep_outcome(kept: &mut KeptRun, state: &ViewerState) {
    match state.outcome() {
        None | Some(RunOutcome::Unknown(_)) => {}
        Some(outcome) => kept.ended(report::word(outcome)),
    }
}
