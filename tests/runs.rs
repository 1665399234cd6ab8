//! Runs that outlive the process that began them, on a real Spark server.
#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader};
use std::process::Stdio;

use knut_tests::{Project, Ran};

/// Three flows in a row, the second of which takes some seconds.
fn slow() -> Project {
    Project::with_sql(
        "CREATE MATERIALIZED VIEW first AS SELECT id FROM range(10);
         CREATE MATERIALIZED VIEW slow AS
           SELECT reflect('java.lang.Thread', 'sleep', bigint(6000)) AS x, id FROM first WHERE id < 1;
         CREATE MATERIALIZED VIEW last AS SELECT count(*) AS n FROM slow",
    )
}

/// The flows that a run's log says are complete.
fn completed(ran: &Ran) -> BTreeSet<String> {
    let line = |line: &str| {
        let is_ok = line.split_whitespace().nth(1) == Some("ok");
        is_ok.then(|| line.rsplit('.').next().unwrap_or_default().to_owned())
    };
    ran.stderr.lines().filter_map(line).collect()
}

fn all_three() -> BTreeSet<String> {
    ["first", "slow", "last"].map(str::to_owned).into()
}

/// Follows the run in another process until the first flow is complete, and kills that process.
fn run_and_kill(project: &Project) {
    let mut running = project.command(&["run", "--local"]).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(running.stderr.take().unwrap()).lines().map(Result::unwrap);
    let seen: Vec<String> = lines.by_ref().take_while(|line| !line.contains(".default.first")).collect();
    running.kill().unwrap();
    let status = running.wait().unwrap();
    assert_eq!(status.code(), None, "it ended by itself: {seen:?}");
}

/// One server for all of it: each part begins where no run is going on.
#[test]
fn a_run_outlives_the_process_that_began_it() {
    let mut project = slow();
    project.run(&["local", "start"]).expect(0);
    a_killed_client_is_followed_by_another_one(&mut project);
    a_run_is_cancelled_by_another_process(&mut project);
    a_run_whose_server_has_ended_is_unknown(&mut project);
}

/// A client that is killed takes nothing along: another process sees every event of the run, from
/// the first one on, and its true end.
fn a_killed_client_is_followed_by_another_one(project: &mut Project) {
    run_and_kill(project);
    let status = project.run(&["status"]).expect(0);
    assert!(status.stdout.contains("  running  attached run of test on 127.0.0.1:"), "{}", status.told());
    // Meanwhile a second run would write the same tables.
    let second = project.run(&["run", "--local"]).expect(1);
    assert!(second.stderr.contains("of this project is still going on"), "{}", second.told());

    let attached = project.run(&["attach"]).expect(0);
    assert_eq!(completed(&attached), all_three(), "{}", attached.told());
    assert!(attached.stdout.ends_with(": 3 completed\n"), "{}", attached.told());
    assert!(project.run(&["status"]).expect(0).stdout.contains("  succeeded  "));
    assert_eq!(project.rows("SELECT n FROM last"), [r#"{"n":1}"#]);

    // Its end was read and its session ended: what was seen is told.
    let again = project.run(&["attach"]).expect(0);
    assert!(again.stdout.ends_with(" was seen to its end: succeeded\n"), "{}", again.told());
}

/// A detached run has nobody, and ends all the same.
#[test]
fn a_detached_run_is_waited_for() {
    let mut project = slow();
    project.run(&["local", "start"]).expect(0);
    let begun = project.run(&["run", "--local", "--detach"]).expect(0);
    let id = begun.stdout.split_whitespace().nth(1).unwrap().to_owned();
    assert!(begun.stdout.ends_with(" is on its own\n"), "{}", begun.told());
    let attached = project.run(&["attach", &id]).expect(0);
    assert!(attached.stderr.contains("waiting for its end"), "{}", attached.told());
    assert!(attached.stdout.starts_with("run COMPLETED in "), "{}", attached.told());
    assert_eq!(project.rows("SELECT n FROM last"), [r#"{"n":1}"#]);

    // One that fails says so, and that its reason is lost.
    project.write("transformations/a.sql", "CREATE MATERIALIZED VIEW boom AS SELECT raise_error('kaboom') AS x");
    project.run(&["run", "--local", "--detach"]).expect(0);
    // Observed: of such a run the server says FAILED most often, and sometimes CANCELLED.
    let failed = project.run(&["attach"]);
    let told = match failed.code {
        Some(6) => "the server says that the run failed",
        Some(8) => "it also says of runs that failed with nobody there",
        _ => "a code that is neither",
    };
    assert!(failed.stderr.contains(told), "{}", failed.told());
}

/// Cancelling from another process: what runs goes on, what waits does not start.
fn a_run_is_cancelled_by_another_process(project: &mut Project) {
    run_and_kill(project);
    let cancelled = project.run(&["cancel"]).expect(0);
    assert!(cancelled.stdout.contains(" is cancelled: the server starts no more flows"), "{}", cancelled.told());
    let attached = project.run(&["attach"]).expect(8);
    assert!(attached.stderr.contains("OPERATION_CANCELED"), "{}", attached.told());
    assert!(!completed(&attached).contains("last"), "{}", attached.told());
    let over = project.run(&["cancel"]).expect(0);
    assert!(over.stdout.contains(" is over already: cancelled"), "{}", over.told());
}

/// What the local server knew ends with it, and that is said at once.
fn a_run_whose_server_has_ended_is_unknown(project: &mut Project) {
    run_and_kill(project);
    project.run(&["local", "stop"]).expect(0);
    for command in ["attach", "status", "cancel"] {
        let told = project.run(&[command]).expect(9);
        assert!(told.stderr.contains("the local Spark server of run "), "{}", told.told());
    }
}
