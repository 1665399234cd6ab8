//! Following a run while listening for Ctrl-C: once cancels it on the server, twice leaves.

use std::time::SystemTime;

use futures::StreamExt as _;
use knut_client::{OperationId, PipelinesClient, UpdateStream};
use knut_viewer::{FlowStatus, ViewerState};

use crate::failure::Failure;
use crate::plain_log::PlainLog;
use crate::printer::{Printer, Tone};

/// How following a run ended.
pub(crate) enum Followed {
    /// The run ended, or was lost.
    ToTheEnd,
    /// The user left; the run may go on.
    Left,
}

/// Folds the whole stream into `state`, logging as it goes.
pub(crate) async fn follow(
    client: &PipelinesClient,
    mut updates: UpdateStream,
    state: &mut ViewerState,
    printer: &mut Printer,
) -> Result<Followed, Failure> {
    let operation_id = updates.operation_id();
    let mut is_cancelling = false;
    let mut log = PlainLog::default();
    loop {
        tokio::select! {
            update = updates.next() => match update {
                Some(update) => log.apply(state, update, printer),
                None => return Ok(Followed::ToTheEnd),
            },
            signal = tokio::signal::ctrl_c() => {
                signal?;
                if is_cancelling {
                    printer.labelled(Tone::Doubtful, "left", "what was running on the server may go on and commit");
                    return Ok(Followed::Left);
                }
                is_cancelling = true;
                cancel(client, operation_id, state, printer).await;
            }
            () = tokio::time::sleep(log.patience()) => log.silence(state, SystemTime::now(), printer),
        }
    }
}

async fn cancel(client: &PipelinesClient, operation_id: OperationId, state: &ViewerState, printer: &mut Printer) {
    printer.note("cancelling on the server (Ctrl-C again to leave at once)");
    match client.interrupt(operation_id).await {
        Ok(true) => {
            let n_running = state.flows().iter().filter(|flow| flow.status().is_active()).count();
            let n_queued = state.n_flows(&[FlowStatus::Queued]);
            printer.note(&format!(
                "the server starts no more flows ({n_queued} waiting); Spark does not stop the {n_running} that are running"
            ));
        }
        Ok(false) => printer.note("the server says that the run is over already"),
        Err(error) => printer.labelled(Tone::Bad, "error", &format!("{error}; the run goes on")),
    }
}
