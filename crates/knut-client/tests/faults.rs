//! Every fault that can befall a stream, at every response of it.
#![expect(clippy::unwrap_used, clippy::panic, reason = "a step that fails is a failed test")]

use std::time::Duration;

use futures::StreamExt as _;
use knut_client::{Endpoint, PipelinesClient, RetryPolicy};
use knut_testkit::raw::{Fault, RawServer, Reason};
use knut_viewer::{Evidence, RunEnd, RunOutcome, UpdateKind};

const N_EVENTS: usize = 4;

/// Faults after which a client has to come back, and the run is seen whole.
const HEALING: [Fault; 20] = [
    Fault::HalfAMessageAndOk,
    Fault::HalfAMessage,
    Fault::NoTrailers,
    Fault::Fin,
    Fault::Reset,
    Fault::GoAway(Reason::NO_ERROR),
    Fault::GoAway(Reason::ENHANCE_YOUR_CALM),
    Fault::GoAway(Reason::INTERNAL_ERROR),
    Fault::GoAway(Reason::PROTOCOL_ERROR),
    Fault::ResetStream(Reason::NO_ERROR),
    Fault::ResetStream(Reason::REFUSED_STREAM),
    Fault::ResetStream(Reason::CANCEL),
    Fault::ResetStream(Reason::INTERNAL_ERROR),
    Fault::ResetStream(Reason::PROTOCOL_ERROR),
    Fault::ResetStream(Reason::FLOW_CONTROL_ERROR),
    Fault::ResetStream(Reason::ENHANCE_YOUR_CALM),
    Fault::ResetStream(Reason::STREAM_CLOSED),
    Fault::ResetStream(Reason::HTTP_1_1_REQUIRED),
    Fault::ResetStream(Reason::CONNECT_ERROR),
    Fault::Silence,
];

/// What a run of everything told: the events, and the end.
async fn follow(server: &RawServer) -> (Vec<String>, RunEnd) {
    let client = PipelinesClient::connect_to(Endpoint::new("127.0.0.1", server.port())).await.unwrap();
    let mut retry = RetryPolicy::default();
    retry.first_wait = Duration::from_millis(2);
    retry.silence = Duration::from_millis(300);
    let mut updates = client.with_retry_policy(retry).execute_sql("SELECT 1");
    let mut events = Vec::new();
    while let Some(update) = updates.next().await {
        match update.kind {
            UpdateKind::Event(event) => events.push(event.message),
            UpdateKind::Ended(end) => return (events, end),
            _ => {}
        }
    }
    panic!("a stream without an end");
}

fn all_events() -> Vec<String> {
    (0..N_EVENTS).map(|index| format!("event {index}")).collect()
}

async fn heals(fault: Fault, n_before: usize) {
    let server = RawServer::start(N_EVENTS, fault, n_before).await;
    let (events, end) = follow(&server).await;
    let calls = server.calls();
    assert_eq!(events, all_events(), "{fault:?} after {n_before}: {calls:?} {end:?}");
    assert_eq!(end, RunEnd::new(RunOutcome::Succeeded, Evidence::ResultComplete), "{fault:?} after {n_before}");
    assert!(calls.contains(&"ReattachExecute".to_owned()), "{fault:?} after {n_before} was not committed");
    let n_executes = calls.iter().filter(|call| *call == "ExecutePlan").count();
    assert_eq!(n_executes, 1, "{fault:?} after {n_before}: {calls:?}");
    // Nothing was released before the end, for that would have been a kill.
    assert_eq!(calls.iter().position(|call| call == "ReleaseExecute"), Some(calls.len() - 1), "{calls:?}");
}

#[tokio::test]
async fn every_fault_at_every_response_loses_nothing() {
    for fault in HEALING {
        let at = (0..=N_EVENTS).map(|n_before| heals(fault, n_before));
        futures::future::join_all(at).await;
    }
}

#[tokio::test]
async fn a_proxy_that_is_tired_is_tried_again() {
    for status in [429, 502, 503, 504] {
        heals(Fault::Page(status), 0).await;
        heals(Fault::Status(status), 0).await;
    }
}

/// What no second try mends is said, and neither success nor a verdict.
#[tokio::test]
async fn what_never_heals_is_unknown() {
    for n_before in 0..=N_EVENTS {
        let server = RawServer::start(N_EVENTS, Fault::TooLarge, n_before).await;
        let (events, end) = follow(&server).await;
        assert_eq!(events, all_events()[..n_before]);
        assert_eq!(end.evidence, Evidence::Nothing, "{end:?}");
        let RunOutcome::Unknown(diagnostic) = end.outcome else { panic!("{end:?}") };
        assert!(diagnostic.message.contains("too large"), "{diagnostic:?}");
        assert!(!server.calls().contains(&"ReleaseExecute".to_owned()), "a live run was killed");
    }
}
