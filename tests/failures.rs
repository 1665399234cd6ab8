//! Pipelines that fail on a real Spark server: what is said, in which order, with which exit code.

use knut_tests::{Project, Ran};

/// The lines of the log about flows: the word and what follows the catalog and database.
fn log(ran: &Ran) -> Vec<String> {
    let line = |line: &str| {
        let word = line.split_whitespace().nth(1)?;
        let (_, flow) = line.split_once(" spark_catalog.default.")?;
        let is_log = line.as_bytes().get(10) == Some(&b'T') && line.contains(" [");
        is_log.then(|| format!("{word} {}", flow.split_whitespace().collect::<Vec<_>>().join(" ")))
    };
    ran.stderr.lines().filter_map(line).collect()
}

fn has(ran: &Ran, texts: &[&str]) {
    for text in texts {
        assert!(ran.stderr.contains(text), "no {text:?} in {}", ran.told());
    }
}

/// C091, C095, C105: statuses, attempts, the skipped victim, the message once, the exit code.
#[test]
fn a_flow_that_fails_is_tried_three_times_and_takes_its_victims_along() {
    let mut project = Project::with_sql(
        "CREATE MATERIALIZED VIEW src AS SELECT id FROM range(10);
         CREATE MATERIALIZED VIEW boom AS SELECT raise_error('kaboom ünï ' || chr(27) || '[31m') AS x FROM src;
         CREATE MATERIALIZED VIEW down AS SELECT * FROM boom;
         CREATE MATERIALIZED VIEW side AS SELECT count(*) AS n FROM src",
    );
    let ran = project.run(&["run", "--local"]).expect(6);
    let name = |flow: &str| format!("spark_catalog.default.{flow}");
    let of_boom: Vec<_> = log(&ran).into_iter().filter(|line| line.contains("boom")).collect();
    assert_eq!(
        of_boom,
        [
            "FAIL boom attempt 1: USER_RAISED_EXCEPTION",
            "try boom attempt 2",
            "FAIL boom attempt 2: USER_RAISED_EXCEPTION",
            "try boom attempt 3",
            "FAIL boom attempt 3: USER_RAISED_EXCEPTION"
        ]
    );
    let boom = name("boom");
    has(
        &ran,
        &[
            &format!("error: flow {boom} failed 3 times"),
            "[USER_RAISED_EXCEPTION] kaboom ünï \\u{1b}[31m SQLSTATE: P0001",
        ],
    );
    has(&ran, &[&format!("skipped because their upstream failed: {}", name("down"))]);
    assert_eq!(ran.stderr.matches("kaboom").count(), 1, "{}", ran.told());
    assert!(ran.stdout.starts_with("run FAILED in "), "{}", ran.told());
    assert!(ran.stdout.ends_with(": 2 completed, 1 failed, 1 skipped\n"), "{}", ran.told());
    assert_eq!(project.rows("SELECT n FROM side"), [r#"{"n":10}"#]);
}

/// What the server refuses before anything runs: one server for all of them.
#[test]
fn graphs_that_the_server_refuses() {
    let mut project = Project::with_sql("");
    let mut refused = |sql: &str, code: i32, texts: &[&str]| {
        project.write("transformations/a.sql", sql);
        // knut sees most of these by itself; here the server is the one to say it.
        let ran = project.run(&["run", "--local", "--no-check"]).expect(code);
        has(&ran, texts);
        ran
    };
    refused(
        "CREATE MATERIALIZED VIEW a AS SELEC 1",
        5,
        &["cannot register transformations/a.sql", "near 'SELEC'", "--> transformations/a.sql:1:31"],
    );
    let unresolved = "CREATE MATERIALIZED VIEW a AS SELECT * FROM nowhere;
        CREATE MATERIALIZED VIEW b AS SELECT * FROM a;
        CREATE MATERIALIZED VIEW c AS SELECT idd FROM range(3)";
    let ran = refused(
        unresolved,
        5,
        &[
            "error: flow spark_catalog.default.a could not be resolved",
            "[TABLE_OR_VIEW_NOT_FOUND]",
            "error: flow spark_catalog.default.c could not be resolved",
            "Did you mean one of the following? [`id`]",
            // Lines of the file, not of the statement (C028, C092).
            "--> transformations/a.sql:1:45",
            "--> transformations/a.sql:3:46",
            "not resolved because of what they read: spark_catalog.default.b",
        ],
    );
    assert!(ran.stdout.ends_with(": 3 failed\n"), "{}", ran.told());
    let cycle = "CREATE MATERIALIZED VIEW a AS SELECT * FROM b; CREATE MATERIALIZED VIEW b AS SELECT * FROM a";
    refused(cycle, 5, &["Circular dependencies are not supported", "help: take one of these reads out"]);
    refused("CREATE STREAMING TABLE lonely", 5, &["[PIPELINE_DATASET_WITHOUT_FLOW]", "help: give the table a query"]);
    refused(
        "CREATE STREAMING TABLE st AS SELECT 1 AS x",
        5,
        &["BATCH_RELATION_FOR_STREAMING_TABLE", "help: read at least one"],
    );
    refused("CREATE TEMPORARY VIEW v AS SELECT 1 AS x", 5, &["[RUN_EMPTY_PIPELINE]", "help: define at least one"]);
    refused("DROP TABLE x", 5, &["cannot register transformations/a.sql", "Unsupported plan DropTable"]);

    // A name that the catalog does not take passes a dry run and fails when its table is made (C037).
    project.write("transformations/a.sql", "CREATE MATERIALIZED VIEW `hy-phen` AS SELECT 1 AS x");
    let ran = project.run(&["dry-run", "--local"]).expect(0);
    assert!(ran.stdout.starts_with("dry run COMPLETED"), "{}", ran.told());
    has(&project.run(&["run", "--local"]).expect(6), &["[INVALID_SCHEMA_OR_RELATION_NAME] `hy-phen`"]);

    // C090: the database of the spec is not made for its user.
    let spec = "name: n\nstorage: s\ndatabase: nosuch\nlibraries:\n  - glob:\n      include: transformations/**\n";
    project.write("spark-pipeline.yml", spec);
    has(
        &project.run(&["run", "--local"]).expect(5),
        &["[SCHEMA_NOT_FOUND]", "help: a pipeline does not create its schema"],
    );

    let ran = project.run(&["sql", "--local", "SELECT * FROM nosuch"]).expect(6);
    has(&ran, &["[TABLE_OR_VIEW_NOT_FOUND]"]);
}

/// A stream's COMPLETED is not believed before its FAILED has had time to come.
#[test]
fn a_failing_stream_is_never_said_to_be_complete() {
    let mut project = Project::with_sql(
        "CREATE MATERIALIZED VIEW src AS SELECT id FROM range(5);
         SET spark.sql.pipelines.maxFlowRetryAttempts=0;
         CREATE STREAMING TABLE s AS SELECT 1 / (id - 3) AS x FROM STREAM src",
    );
    let ran = project.run(&["run", "--local"]).expect(6);
    let lines = log(&ran);
    assert_eq!(lines, ["ok src", "FAIL s attempt 1: STREAM_FAILED"]);
    has(&ran, &["error: flow spark_catalog.default.s failed", "[DIVIDE_BY_ZERO]", "--> transformations/a.sql:3:45"]);
}

/// A local server that is gone answers nobody any more, so nobody is asked for minutes; and two runs
/// of one project never go on at once.
#[cfg(unix)]
#[test]
fn a_local_server_that_dies_ends_the_run() {
    use std::io::{BufRead as _, BufReader, Read as _};
    use std::process::{Command, Stdio};
    let mut project = Project::with_sql(
        "CREATE MATERIALIZED VIEW slow AS SELECT id, reflect('java.lang.Thread', 'sleep', 600000L + id) AS z FROM range(1)",
    );
    let started = project.run(&["local", "start"]).expect(0);
    let pid = started.stdout.split("(process ").nth(1).and_then(|rest| rest.split(')').next()).unwrap().to_owned();

    let mut command = project.command(&["run", "--local", "--verbose"]);
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines().map(Result::unwrap);
    assert!(lines.any(|line| line.contains("run [") && line.ends_with("spark_catalog.default.slow")));

    let second = project.run(&["run", "--local"]).expect(1);
    has(&second, &["another run of this project is going on"]);

    assert!(Command::new("kill").args(["-KILL", &pid]).status().unwrap().success());
    let stderr: Vec<String> = lines.collect();
    let mut stdout = String::new();
    child.stdout.take().unwrap().read_to_string(&mut stdout).unwrap();
    let ran = Ran { code: child.wait().unwrap().code(), stdout, stderr: stderr.join("\n") }.expect(7);
    has(&ran, &["connection lost", "the local Spark server has ended"]);
    assert!(ran.stdout.starts_with("run UNKNOWN in ") && ran.stdout.ends_with(": 1 unknown\n"), "{}", ran.told());
}

/// A port that another program has is not quietly left for the next one.
#[test]
fn a_port_that_is_taken_is_told() {
    let taken = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = taken.local_addr().unwrap().port().to_string();
    let mut project = Project::with_sql("");
    let ran = project.run(&["local", "start", "--port", &port]).expect(7);
    has(&ran, &[&port, "  help: "]);
    let status = project.run(&["local", "status"]).expect(0);
    assert!(status.stdout.contains("server: not running"), "{}", status.told());
}
