//! A query and its rows, as they come.

use std::collections::VecDeque;
use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use futures::stream::BoxStream;
use futures::{Stream, StreamExt as _};
use knut_viewer::{Diagnostic, Evidence, RunEnd, RunOutcome, UpdateKind, ViewerUpdate};
use proto::execute_plan_response::ResponseType;

use knut_proto::spark::connect as proto;

use crate::arrow_batches::Assembler;
use crate::execution::Ending;
use crate::from_proto::response_to_update;
use crate::operation::OperationId;
use crate::response_stream::ResponseStream;
use crate::run::{Told, ended, told};
use crate::session::Session;
use crate::{Error, ErrorKind};

/// What a query's stream gives.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum QueryUpdate {
    /// How it is going.
    Update(ViewerUpdate),
    /// The columns, once and before all rows.
    Columns(SchemaRef),
    /// The next rows, at least one.
    Rows(RecordBatch),
}

/// Rows that were collected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct QueryRows {
    /// The columns; `None` for a statement that gives none.
    pub schema: Option<SchemaRef>,
    /// The rows, in order.
    pub batches: Vec<RecordBatch>,
    /// Whether there were more rows than were asked for.
    pub is_cut: bool,
}

/// A query under way:
/// `Update(RunStarted) (Update(Progress | Connection) | Columns Rows*)* Update(Ended)`.
///
/// Rows are given as they come, each once, also over broken connections; what the server says of
/// their number and order is checked. Only a query whose end is
/// [`Succeeded`](RunOutcome::Succeeded) has given all its rows. Nothing is sent before it is first
/// polled. Dropping it tells the server nothing: it computes on until it notices that nobody
/// listens, after minutes; [`stop`](Self::stop) ends it at once.
pub struct QueryStream {
    operation_id: OperationId,
    session: Session,
    seq: u64,
    steps: BoxStream<'static, RowStep>,
}

/// What happens next in a query.
enum RowStep {
    Told(UpdateKind),
    Columns(SchemaRef),
    Rows(RecordBatch),
    Ended(Ending),
    /// What came cannot be put together.
    Broken(String),
}

impl QueryStream {
    pub(crate) fn new(
        session: Session,
        operation_id: OperationId,
        responses: ResponseStream,
        started: UpdateKind,
    ) -> Self {
        let follower = Follower {
            responses,
            assembler: Assembler::default(),
            due: [RowStep::Told(started)].into(),
            is_over: false,
        };
        let steps = futures::stream::unfold(follower, |mut follower| async move {
            let step = follower.next().await?;
            Some((step, follower))
        });
        Self { operation_id, session, seq: 0, steps: steps.fuse().boxed() }
    }

    /// Which execution on the server this is.
    pub fn operation_id(&self) -> OperationId {
        self.operation_id
    }

    /// Ends the query on the server, whose rows nobody wants any more.
    pub async fn stop(self) {
        self.session.release_all(self.operation_id).await;
    }

    /// The rows alone; a query that does not give all of them ends with an error.
    pub fn batches(self) -> impl Stream<Item = Result<RecordBatch, Error>> + Send + use<> {
        self.steps.filter_map(|step| {
            futures::future::ready(match step {
                RowStep::Rows(batch) => Some(Ok(batch)),
                RowStep::Told(_) | RowStep::Columns(_) | RowStep::Ended(Ending::Complete) => None,
                RowStep::Ended(ending) => Some(Err(error(ending))),
                RowStep::Broken(reason) => Some(Err(Error::new(ErrorKind::Protocol, WHAT).because(reason))),
            })
        })
    }

    /// Collects up to `max_rows` rows; a query that has more is ended on the server.
    ///
    /// # Errors
    /// [`Server`](ErrorKind::Server) for what the server said, [`Cancelled`](ErrorKind::Cancelled),
    /// [`Transport`](ErrorKind::Transport) for a lost connection, and
    /// [`Protocol`](ErrorKind::Protocol) for rows that do not fit together.
    pub async fn collect_rows(mut self, max_rows: usize) -> Result<QueryRows, Error> {
        let mut rows = QueryRows { schema: None, batches: Vec::new(), is_cut: false };
        let mut room = max_rows;
        while let Some(step) = self.steps.next().await {
            match step {
                RowStep::Told(_) => {}
                RowStep::Columns(schema) => rows.schema = Some(schema),
                RowStep::Rows(batch) if batch.num_rows() <= room => {
                    room -= batch.num_rows();
                    rows.batches.push(batch);
                }
                RowStep::Rows(batch) => {
                    if room > 0 {
                        rows.batches.push(batch.slice(0, room));
                    }
                    rows.is_cut = true;
                    self.stop().await;
                    break;
                }
                RowStep::Ended(Ending::Complete) => break,
                RowStep::Ended(ending) => return Err(error(ending)),
                RowStep::Broken(reason) => return Err(Error::new(ErrorKind::Protocol, WHAT).because(reason)),
            }
        }
        Ok(rows)
    }
}

const WHAT: &str = "the query did not give its rows";

fn error(ending: Ending) -> Error {
    match ending {
        Ending::Verdict(error) | Ending::Forgotten(error) | Ending::Status(_, Some(error)) => {
            Error::from_server(WHAT, error)
        }
        Ending::SessionLost(reason) => Error::session_lost(WHAT, &reason),
        Ending::Lost(reason) => Error::new(ErrorKind::Transport, WHAT).because(reason),
        Ending::Preempted => {
            Error::new(ErrorKind::Protocol, WHAT).because("another client attached to it, and the server serves one")
        }
        Ending::Complete | Ending::Status(_, None) => {
            Error::new(ErrorKind::Protocol, WHAT).because("the server has no more of its rows")
        }
    }
}

impl Stream for QueryStream {
    type Item = QueryUpdate;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<QueryUpdate>> {
        let step = std::task::ready!(self.steps.poll_next_unpin(cx));
        let kind = match step {
            None => return Poll::Ready(None),
            Some(RowStep::Columns(schema)) => return Poll::Ready(Some(QueryUpdate::Columns(schema))),
            Some(RowStep::Rows(batch)) => return Poll::Ready(Some(QueryUpdate::Rows(batch))),
            Some(RowStep::Told(kind)) => kind,
            Some(RowStep::Ended(ending)) => ended(ending),
            Some(RowStep::Broken(reason)) => {
                let outcome = RunOutcome::Unknown(Diagnostic::from_text(format!("{WHAT}: {reason}")));
                UpdateKind::Ended(RunEnd::new(outcome, Evidence::Nothing))
            }
        };
        self.seq += 1;
        Poll::Ready(Some(QueryUpdate::Update(ViewerUpdate { seq: self.seq, received: SystemTime::now(), kind })))
    }
}

impl fmt::Debug for QueryStream {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("QueryStream").field("operation_id", &self.operation_id).finish_non_exhaustive()
    }
}

/// Turns an execution's steps into rows.
struct Follower {
    responses: ResponseStream,
    assembler: Assembler,
    /// What is known and not given yet.
    due: VecDeque<RowStep>,
    is_over: bool,
}

impl Follower {
    async fn next(&mut self) -> Option<RowStep> {
        loop {
            if let Some(step) = self.due.pop_front() {
                self.is_over |= matches!(step, RowStep::Ended(_) | RowStep::Broken(_));
                return Some(step);
            }
            if self.is_over {
                return None;
            }
            match told(self.responses.next().await) {
                Told::Update(kind) => self.due.push_back(RowStep::Told(kind)),
                Told::Ended(Ending::Complete) => self.due.push_back(match self.assembler.finish() {
                    Ok(()) => RowStep::Ended(Ending::Complete),
                    Err(reason) => RowStep::Broken(reason),
                }),
                Told::Ended(ending) => self.due.push_back(RowStep::Ended(ending)),
                Told::Response(response) => self.take(*response),
            }
        }
    }

    fn take(&mut self, response: proto::ExecutePlanResponse) {
        let Some(ResponseType::ArrowBatch(batch)) = response.response_type else {
            self.due.extend(response_to_update(response).map(RowStep::Told));
            return;
        };
        let had_columns = self.assembler.schema().is_some();
        match self.assembler.take(batch) {
            Ok(batches) => {
                if let Some(schema) = self.assembler.schema().filter(|_| !had_columns) {
                    self.due.push_back(RowStep::Columns(SchemaRef::clone(schema)));
                }
                self.due.extend(batches.into_iter().map(RowStep::Rows));
            }
            Err(reason) => self.due.push_back(RowStep::Broken(reason)),
        }
    }
}
