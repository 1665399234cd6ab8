//! The `knut` binary against a server that plays a script: what no real server does on demand.
#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use knut_proto::spark::connect as proto;
use knut_testkit::scripted::{End, Exchange, ScriptedServer, command_result, complete, event, spark_error};
use knut_tests::{Project, Ran};
use proto::pipeline_command_result::{CreateDataflowGraphResult, ResultType};
use tonic::Status;

/// The script of connecting and registering a project of one SQL file, then `rest`.
fn registered(rest: Vec<Exchange>) -> Vec<Exchange> {
    let created = CreateDataflowGraphResult { dataflow_graph_id: Some("g".to_owned()) };
    let created = Exchange::execute(vec![command_result(Some(ResultType::CreateDataflowGraphResult(created)))]);
    let mut script = vec![Exchange::Version(Ok("4.3.0")), Exchange::Config, created];
    script.push(Exchange::execute(vec![command_result(None)]));
    script.extend(rest);
    script
}

/// Runs `knut run` against the script and proves that it was used up.
async fn run(script: Vec<Exchange>) -> Ran {
    let server = ScriptedServer::start(script).await;
    let remote = format!("sc://127.0.0.1:{}", server.port());
    let ran = tokio::task::spawn_blocking(move || {
        let mut project = Project::with_sql("CREATE MATERIALIZED VIEW a AS SELECT 1 AS x");
        project.run(&["run", "--remote", &remote])
    });
    let ran = ran.await.unwrap();
    server.finish();
    ran
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_connection_is_said_and_survived() {
    let ran = run(registered(vec![
        Exchange::Execute(
            "ExecutePlan",
            vec![event("1", "Flow c.d.a is PLANNING.")],
            End::Error(Status::unavailable("gone")),
        ),
        Exchange::reattach(vec![
            event("2", "Flow c.d.a has COMPLETED."),
            event("3", "Run is COMPLETED."),
            complete("4"),
        ]),
        Exchange::Release,
        Exchange::ReleaseSession,
    ]))
    .await
    .expect(0);
    assert!(ran.stderr.contains("connection lost: gone; try 1 in 0.1s"), "{}", ran.told());
    assert!(ran.stderr.contains("connected again; no event was lost"), "{}", ran.told());
    assert!(ran.stdout.ends_with(": 1 completed\n"), "{}", ran.told());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_run_cancelled_by_someone_else_is_no_failure() {
    let cancelled =
        spark_error("OPERATION_CANCELED", "[OPERATION_CANCELED] Operation has been canceled. SQLSTATE: HY008", None);
    let running = vec![event("1", "Flow c.d.a is RUNNING."), event("2", "Flow c.d.b is QUEUED.")];
    let ran =
        run(registered(vec![Exchange::Execute("ExecutePlan", running, End::Error(cancelled)), Exchange::Release]))
            .await
            .expect(8);
    assert!(ran.stderr.contains("were running and may still commit: c.d.a"), "{}", ran.told());
    assert!(
        ran.stdout.starts_with("run CANCELLED in ") && ran.stdout.ends_with(": 1 not run, 1 unknown\n"),
        "{}",
        ran.told()
    );
}

/// The server forgot the session in mid-run: what became of the run is not guessed.
#[tokio::test(flavor = "multi_thread")]
async fn a_lost_session_is_an_unknown_outcome() {
    let closed =
        spark_error("INVALID_HANDLE.SESSION_CLOSED", "[INVALID_HANDLE.SESSION_CLOSED] closed. SQLSTATE: 08003", None);
    let running = vec![event("1", "Flow c.d.a is RUNNING.")];
    let ran = run(registered(vec![Exchange::Execute("ExecutePlan", running, End::Error(closed))])).await.expect(9);
    assert!(
        ran.stderr.contains("error: nobody can say how the run ended\n  [INVALID_HANDLE.SESSION_CLOSED]"),
        "{}",
        ran.told()
    );
    assert!(ran.stdout.starts_with("run UNKNOWN in ") && ran.stdout.ends_with(": 1 unknown\n"), "{}", ran.told());
}

/// C104: texts of no known form are shown, and what could act on the terminal is not.
#[tokio::test(flavor = "multi_thread")]
async fn unknown_events_are_shown_harmlessly() {
    let ran = run(registered(vec![
        Exchange::execute(vec![
            event("1", "Der Lauf \u{1b}[2Jläuft \u{202e}."),
            event("2", "Run is COMPLETED."),
            complete("3"),
        ]),
        Exchange::Release,
        Exchange::ReleaseSession,
    ]))
    .await
    .expect(0);
    assert!(ran.stderr.contains("msg Der Lauf \\u{1b}[2Jläuft \\u{202e}."), "{}", ran.told());
    assert!(!ran.stderr.contains('\u{1b}'), "{}", ran.told());
}

/// Of a stream the server sometimes does not say that it is complete; its line is there all the same.
#[tokio::test(flavor = "multi_thread")]
async fn a_completion_that_was_not_delivered_follows_from_the_end() {
    let ran = run(registered(vec![
        Exchange::execute(vec![event("1", "Flow c.d.a is RUNNING."), event("2", "Run is COMPLETED."), complete("3")]),
        Exchange::Release,
        Exchange::ReleaseSession,
    ]))
    .await
    .expect(0);
    assert!(ran.stderr.contains("ok [ 1/1 ]          c.d.a  as the run's end says"), "{}", ran.told());
}

/// The server says success when a selection matches nothing.
#[tokio::test(flavor = "multi_thread")]
async fn a_run_of_nothing_is_no_success() {
    let ran = run(registered(vec![
        Exchange::execute(vec![
            event("1", "Flow 'c.d.a' is EXCLUDED."),
            event("2", "Run is COMPLETED."),
            complete("3"),
        ]),
        Exchange::Release,
        Exchange::ReleaseSession,
    ]))
    .await
    .expect(4);
    assert!(ran.stdout.starts_with("run DID NOTHING") && ran.stdout.ends_with(": 1 excluded\n"), "{}", ran.told());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_wants_a_token_says_so() {
    let ran =
        run(vec![Exchange::Version(Err(Status::unauthenticated("No authentication token provided")))]).await.expect(7);
    assert!(ran.stderr.contains("No authentication token provided\n  help: give the server's token"), "{}", ran.told());
}

/// Starts `knut run` against the script, interrupts it when it says `at` and once more when it says
/// `again`, and gives what it did.
#[cfg(unix)]
async fn interrupted(rest: Vec<Exchange>, at: &'static str, again: Option<&'static str>) -> Ran {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Command, Stdio};
    let server = ScriptedServer::start(registered(rest)).await;
    let remote = format!("sc://127.0.0.1:{}", server.port());
    let ran = tokio::task::spawn_blocking(move || {
        let project = Project::with_sql("CREATE MATERIALIZED VIEW a AS SELECT 1 AS x");
        let mut command = project.command(&["run", "--verbose", "--remote", &remote]);
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
        let mut said = Vec::new();
        for text in [Some(at), again].into_iter().flatten() {
            said.extend(lines.by_ref().map(Result::unwrap).take_while(|line| !line.contains(text)));
            let killed = Command::new("kill").args(["-INT", &child.id().to_string()]).status().unwrap();
            assert!(killed.success());
        }
        said.extend(lines.map(Result::unwrap));
        let mut stdout = String::new();
        child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
        Ran { code: child.wait().unwrap().code(), stdout, stderr: said.join("\n") }
    });
    let ran = ran.await.unwrap();
    server.finish();
    ran
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_cancels_on_the_server_and_says_what_still_runs() {
    let cancelled =
        spark_error("OPERATION_CANCELED", "[OPERATION_CANCELED] Operation has been canceled. SQLSTATE: HY008", None);
    let running = vec![event("1", "Flow c.d.b is QUEUED."), event("2", "Flow c.d.a is RUNNING.")];
    let ran = interrupted(
        vec![
            Exchange::Execute("ExecutePlan", running, End::OnInterrupt(cancelled)),
            Exchange::Interrupt(true),
            Exchange::Release,
        ],
        "c.d.a",
        None,
    )
    .await
    .expect(8);
    assert!(ran.stderr.contains("cancelling on the server"), "{}", ran.told());
    assert!(ran.stderr.contains("were running and may still commit: c.d.a"), "{}", ran.told());
    assert!(ran.stdout.starts_with("run CANCELLED in "), "{}", ran.told());
}

#[cfg(unix)]
#[tokio::test(flavor = "multi_thread")]
async fn ctrl_c_twice_leaves_at_once() {
    let running = vec![event("1", "Flow c.d.a is RUNNING.")];
    let ran = interrupted(
        vec![Exchange::Execute("ExecutePlan", running, End::Never), Exchange::Interrupt(true)],
        "c.d.a",
        Some("starts no more flows"),
    )
    .await
    .expect(130);
    assert!(ran.stderr.contains("left: what was running on the server may go on and commit"), "{}", ran.told());
}
