//! Following a run while listening for Ctrl-C: once cancels it on the server, twice leaves.

use std::time::{Duration, SystemTime};

use futures::future::{BoxFuture, OptionFuture};
use futures::{Stream, StreamExt as _};
use knut_client::{OperationId, PipelinesClient, QueryStream, QueryUpdate, UpdateStream};
use knut_viewer::{ConnectionChange, Diagnostic, FlowStatus, RunOutcome, UpdateKind, ViewerState, ViewerUpdate};

use crate::args::RowFormat;
use crate::connect::Connected;
use crate::failure::Failure;
use crate::plain_log::PlainLog;
use crate::printer::{Printer, Tone};
use crate::rows::RowsWriter;

/// How long the server may take to answer that it cancels.
const CANCEL_TIMEOUT: Duration = Duration::from_secs(10);

/// How following a run ended.
pub(crate) enum Followed {
    /// The run ended, or was lost.
    ToTheEnd,
    /// The user left; the run may go on.
    Left,
    /// Enough rows came.
    Enough,
}

/// Folds the whole stream into `state`, logging as it goes.
pub(crate) async fn follow(
    connected: &Connected,
    updates: UpdateStream,
    state: &mut ViewerState,
    printer: &mut Printer,
) -> Result<Followed, Failure> {
    let operation_id = updates.operation_id();
    let mut rows = RowsWriter::new(RowFormat::Table, None);
    follow_stream(connected, operation_id, updates.map(QueryUpdate::Update), &mut rows, state, printer).await
}

/// As [`follow`], writing the rows that come. Once there are enough the query is ended.
pub(crate) async fn follow_rows(
    connected: &Connected,
    mut query: QueryStream,
    rows: &mut RowsWriter,
    state: &mut ViewerState,
    printer: &mut Printer,
) -> Result<Followed, Failure> {
    let followed = follow_stream(connected, query.operation_id(), &mut query, rows, state, printer).await?;
    if let Followed::Enough = followed {
        query.stop().await;
    }
    Ok(followed)
}

async fn follow_stream(
    connected: &Connected,
    operation_id: OperationId,
    mut updates: impl Stream<Item = QueryUpdate> + Unpin,
    rows: &mut RowsWriter,
    state: &mut ViewerState,
    printer: &mut Printer,
) -> Result<Followed, Failure> {
    let client = &connected.client;
    let mut interrupts = Interrupts::listen()?;
    let mut is_cancelling = false;
    let mut answer: Option<BoxFuture<'_, Result<bool, String>>> = None;
    let mut log = PlainLog::default();
    loop {
        let quiet = tokio::time::sleep(log.patience(SystemTime::now()));
        tokio::select! {
            update = updates.next() => match update {
                Some(QueryUpdate::Update(update)) => {
                    let seq = update.seq;
                    let is_lost = matches!(update.kind, UpdateKind::Connection(ConnectionChange::Lost { .. }));
                    log.apply(state, update, printer);
                    if is_lost && connected.is_gone() {
                        // Nobody will answer any more, so nobody is asked for five minutes.
                        let gone = RunOutcome::Unknown(Diagnostic::from_text("the local Spark server has ended"));
                        let (received, kind) = (SystemTime::now(), UpdateKind::Ended(gone.into()));
                        log.apply(state, ViewerUpdate { seq: seq + 1, received, kind }, printer);
                        return Ok(Followed::ToTheEnd);
                    }
                }
                Some(QueryUpdate::Columns(schema)) => rows.columns(&schema, printer),
                Some(QueryUpdate::Rows(batch)) => {
                    if !rows.rows(&batch, printer) {
                        return Ok(Followed::Enough);
                    }
                }
                Some(_) => {}
                None => return Ok(Followed::ToTheEnd),
            },
            () = interrupts.next() => {
                if is_cancelling {
                    printer.labelled(Tone::Doubtful, "left", "what was running on the server may go on and commit");
                    return Ok(Followed::Left);
                }
                printer.note("cancelling on the server (Ctrl-C again to leave at once)");
                is_cancelling = true;
                answer = Some(Box::pin(cancel(client, operation_id)));
            }
            told = OptionFuture::from(answer.as_mut()), if answer.is_some() => {
                answer = None;
                tell(told.unwrap_or(Ok(false)), state, printer);
            }
            () = quiet => log.silence(state, SystemTime::now(), printer),
        }
    }
}

/// Whether the run was there to be cancelled, or why nobody knows.
async fn cancel(client: &PipelinesClient, operation_id: OperationId) -> Result<bool, String> {
    match tokio::time::timeout(CANCEL_TIMEOUT, client.interrupt(operation_id)).await {
        Ok(Ok(was_running)) => Ok(was_running),
        Ok(Err(error)) => Err(error.to_string()),
        Err(_) => Err(format!("no answer within {} s", CANCEL_TIMEOUT.as_secs())),
    }
}

fn tell(told: Result<bool, String>, state: &ViewerState, printer: &mut Printer) {
    match told {
        Ok(true) => {
            let n_running = state.flows().iter().filter(|flow| flow.status().is_active()).count();
            let n_queued = state.n_flows(&[FlowStatus::Queued]);
            printer.note(&format!(
                "the server starts no more flows ({n_queued} waiting); Spark does not stop the {n_running} that are running"
            ));
        }
        Ok(false) => printer.note("the server says that the run is over already"),
        Err(reason) => printer.labelled(Tone::Bad, "error", &format!("cannot cancel: {reason}; the run may go on")),
    }
}

/// Ctrl-C, and on Unix the polite request to end, as one stream that misses none.
struct Interrupts {
    #[cfg(unix)]
    interrupt: tokio::signal::unix::Signal,
    #[cfg(unix)]
    terminate: tokio::signal::unix::Signal,
    #[cfg(windows)]
    interrupt: tokio::signal::windows::CtrlC,
}

impl Interrupts {
    #[cfg(unix)]
    fn listen() -> std::io::Result<Self> {
        use tokio::signal::unix::{SignalKind, signal};
        Ok(Self { interrupt: signal(SignalKind::interrupt())?, terminate: signal(SignalKind::terminate())? })
    }

    #[cfg(windows)]
    fn listen() -> std::io::Result<Self> {
        Ok(Self { interrupt: tokio::signal::windows::ctrl_c()? })
    }

    #[cfg(unix)]
    async fn next(&mut self) {
        tokio::select! {
            _ = self.interrupt.recv() => {}
            _ = self.terminate.recv() => {}
        }
    }

    #[cfg(windows)]
    async fn next(&mut self) {
        self.interrupt.recv().await;
    }
}
