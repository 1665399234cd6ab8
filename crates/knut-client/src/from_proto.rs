//! From the protocol's messages to the values of the model and the viewer.
//!
//! The server is not trusted: what it leaves out or gets wrong becomes a value that says so.

use std::time::{Duration, SystemTime};

use knut_model::ResolvedIdentifier;
use knut_proto::spark::connect as proto;
use knut_viewer::{Diagnostic, ExecutionProgress, PipelineEvent, StageProgress, UpdateKind};
use proto::execute_plan_response::ResponseType;

use crate::ServerError;

/// The update in a response: pipeline events and execution progress become one; result batches and
/// results of SQL are dropped, and kinds that this client does not know are skipped.
pub(crate) fn response_to_update(response: proto::ExecutePlanResponse) -> Option<UpdateKind> {
    match response.response_type? {
        ResponseType::PipelineEventResult(result) => Some(UpdateKind::Event(pipeline_event(result.event?))),
        ResponseType::ExecutionProgress(progress) => Some(UpdateKind::Progress(execution_progress(&progress))),
        _ => None,
    }
}

fn pipeline_event(event: proto::PipelineEvent) -> PipelineEvent {
    PipelineEvent { at: event.timestamp.as_ref().and_then(system_time), message: event.message.unwrap_or_default() }
}

/// The last second that protobuf's timestamps can mean, in the year 9999.
const MAX_SECONDS: u64 = 253_402_300_799;

/// `None` for a time that is none.
fn system_time(timestamp: &prost_types::Timestamp) -> Option<SystemTime> {
    let nanos = u32::try_from(timestamp.nanos).ok().filter(|nanos| *nanos < 1_000_000_000)?;
    let seconds = u64::try_from(timestamp.seconds).ok().filter(|seconds| *seconds <= MAX_SECONDS)?;
    SystemTime::UNIX_EPOCH.checked_add(Duration::new(seconds, nanos))
}

fn execution_progress(progress: &proto::execute_plan_response::ExecutionProgress) -> ExecutionProgress {
    // Negative figures mean nothing.
    let figure = |n: i64| u64::try_from(n).unwrap_or(0);
    let stages = progress.stages.iter().map(|stage| StageProgress {
        stage_id: stage.stage_id,
        n_tasks: figure(stage.num_tasks),
        n_completed_tasks: figure(stage.num_completed_tasks),
        input_bytes_read: figure(stage.input_bytes_read),
        done: stage.done,
    });
    ExecutionProgress { stages: stages.collect(), n_inflight_tasks: figure(progress.num_inflight_tasks) }
}

/// The name that the server gave; `None` when it has no last part.
pub(crate) fn resolved_identifier(identifier: proto::ResolvedIdentifier) -> Option<ResolvedIdentifier> {
    let proto::ResolvedIdentifier { catalog_name, namespace, table_name } = identifier;
    (!table_name.is_empty()).then(|| ResolvedIdentifier {
        catalog: Some(catalog_name).filter(|catalog| !catalog.is_empty()),
        namespace,
        name: table_name,
    })
}

/// A server's error as views show it.
pub(crate) fn diagnostic(error: ServerError) -> Diagnostic {
    Diagnostic {
        error_class: error.error_class,
        sql_state: error.sql_state,
        exception: error.classes.into_iter().next(),
        message: error.message,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn update(response_type: ResponseType) -> Option<UpdateKind> {
        response_to_update(proto::ExecutePlanResponse { response_type: Some(response_type), ..Default::default() })
    }

    #[test]
    fn events_and_progress_become_updates_and_the_rest_does_not() {
        let timestamp = Some(prost_types::Timestamp { seconds: 1, nanos: 500 });
        let event = proto::PipelineEvent { timestamp, message: Some("Run is COMPLETED.".to_owned()) };
        let at = Some(SystemTime::UNIX_EPOCH + Duration::new(1, 500));
        assert_eq!(
            update(ResponseType::PipelineEventResult(proto::PipelineEventResult { event: Some(event) })),
            Some(UpdateKind::Event(PipelineEvent { at, message: "Run is COMPLETED.".to_owned() }))
        );
        assert_eq!(update(ResponseType::PipelineEventResult(proto::PipelineEventResult { event: None })), None);
        assert_eq!(update(ResponseType::ResultComplete(proto::execute_plan_response::ResultComplete {})), None);
        assert_eq!(update(ResponseType::ArrowBatch(proto::execute_plan_response::ArrowBatch::default())), None);
        assert_eq!(update(ResponseType::PipelineCommandResult(proto::PipelineCommandResult::default())), None);
        assert_eq!(response_to_update(proto::ExecutePlanResponse::default()), None);
    }

    #[test]
    fn times_and_figures_that_mean_nothing_are_left_out() {
        for (seconds, nanos) in [(-1, 0), (0, -1), (0, 1_000_000_000), (i64::MAX, 0)] {
            assert_eq!(system_time(&prost_types::Timestamp { seconds, nanos }), None, "{seconds} {nanos}");
        }
        let progress = proto::execute_plan_response::ExecutionProgress { stages: Vec::new(), num_inflight_tasks: -3 };
        assert_eq!(execution_progress(&progress).n_inflight_tasks, 0);
    }
}
