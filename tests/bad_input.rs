//! Bad input that needs no server to be seen: each ends with a message that names the thing, the
//! next step and its exit code, and asks no server anything.

use insta::assert_snapshot;
use knut_tests::{Project, Ran};

/// Runs `knut` in `project`, which goes away with it.
fn told(mut project: Project, args: &[&str]) -> String {
    let folder = project.path().canonicalize().map_or_else(|_| String::new(), |path| path.display().to_string());
    let Ran { code, stdout, stderr } = project.run(args);
    let shown = |text: String| if folder.is_empty() { text } else { text.replace(&folder, "FOLDER") };
    Ran { code, stdout: shown(stdout), stderr: shown(stderr) }.told()
}

fn spec(spec: &str) -> Project {
    Project::empty()
        .file("spark-pipeline.yml", spec)
        .file("transformations/a.sql", "CREATE MATERIALIZED VIEW a AS SELECT 1")
}

const LIBRARIES: &str = "libraries:\n  - glob:\n      include: transformations/**\n";
const SQL: &str = "CREATE MATERIALIZED VIEW a AS SELECT 1 AS x";

/// No test of this suite may reach a server: the run would fail with another code.
const RUN: [&str; 3] = ["run", "--remote", "sc://127.0.0.1:1"];

#[test]
fn no_spec() {
    assert_snapshot!(told(Project::empty(), &RUN));
}

#[test]
fn two_specs() {
    assert_snapshot!(told(spec("name: a").file("spark-pipeline.yaml", "name: b"), &RUN));
}

#[test]
fn unknown_and_missing_fields() {
    assert_snapshot!(told(spec("nmae: x\ntarget: db\n"), &RUN));
}

#[test]
fn a_glob_that_matches_nothing() {
    assert_snapshot!(told(spec("name: n\nstorage: s\nlibraries:\n  - glob:\n      include: nowhere/**\n"), &RUN));
}

#[test]
fn a_java_file_under_the_glob() {
    assert_snapshot!(told(Project::with_sql(SQL).file("transformations/b.java", "class B {}"), &RUN));
}

/// C019: every Python file is named, before anything is registered.
#[test]
fn python_files_under_the_glob() {
    let project = Project::with_sql(SQL).file("transformations/b.py", "import x").file("transformations/deep/c.py", "");
    assert_snapshot!(told(project, &RUN));
}

#[test]
fn a_sql_file_that_is_no_text() {
    assert_snapshot!(told(Project::with_sql("").file("transformations/b.sql", b"SELECT \xff"), &RUN));
}

#[test]
fn a_source_that_does_not_exist() {
    let sources = "[sources.raw]\nformat = \"csv\"\npath = \"data/nowhere\"\nsteaming = true\n";
    assert_snapshot!(told(Project::with_sql(SQL).file("knut.toml", sources), &RUN));
}

#[test]
fn a_storage_that_nobody_filled_in() {
    assert_snapshot!(told(spec(&format!("name: n\nstorage: ${{STORAGE}}/x\n{LIBRARIES}")), &RUN));
}

#[test]
fn a_server_that_is_not_there() {
    // The system's number for it is another one on each system.
    insta::with_settings!({filters => vec![(r" \(os error \d+\)", "")]}, {
        assert_snapshot!(told(Project::with_sql(SQL), &RUN));
    });
}

/// A statement is never sent to another server than the one meant.
#[test]
fn sql_beside_a_spec_that_cannot_be_read() {
    assert_snapshot!(told(spec("name: n\nnonsense: x\n"), &["sql", "DROP TABLE t"]));
}

#[test]
fn a_dataset_in_both_refresh_lists() {
    let args = ["run", "--remote", "sc://127.0.0.1:1", "--refresh", "a,b", "--full-refresh", "B"];
    assert_snapshot!(told(Project::with_sql(SQL), &args));
}

/// The command line's storage makes up for the spec's, and is checked like it.
#[test]
fn a_storage_on_the_command_line() {
    let spec = || spec(&format!("name: n\n{LIBRARIES}"));
    insta::with_settings!({filters => vec![(r" \(os error \d+\)", "")]}, {
        assert_snapshot!(told(spec(), &["dry-run", "--remote", "sc://127.0.0.1:1", "--storage", "s"]));
    });
    assert_snapshot!(told(spec(), &["run", "--remote", "sc://127.0.0.1:1", "--storage", "s3://{bucket}/x"]));
}

/// The environment names the server when no flag does.
#[test]
fn a_server_from_the_environment() {
    let project = Project::with_sql(SQL);
    let output = project.command(&["run"]).env("SPARK_REMOTE", "sc://127.0.0.1:1/;token=SENTINEL").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(stderr.starts_with("error: cannot connect to 127.0.0.1:1\n") && !stderr.contains("SENTINEL"), "{stderr}");
}

#[test]
fn a_connection_string_that_is_none() {
    assert_snapshot!(told(Project::with_sql(SQL), &["run", "--remote", "local[*]"]));
}

#[test]
fn wrong_arguments() {
    assert_snapshot!(told(Project::with_sql(SQL), &["run", "--refresh", "a,,b"]));
    assert_snapshot!(told(Project::with_sql(SQL), &["run", "--refresh", "a", "--full-refresh-all"]));
    assert_snapshot!(told(Project::with_sql(SQL), &["rnu"]));
}

/// A server that speaks HTTP/1: reached, but no Spark Connect server.
#[test]
fn a_server_that_is_not_spark_connect() {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let server = std::thread::spawn(move || {
        use std::io::{Read as _, Write as _};
        let (mut stream, _) = listener.accept().unwrap();
        let mut request = [0; 1024];
        let _ = stream.read(&mut request).unwrap();
        stream.write_all(b"HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n").unwrap();
    });
    let told = told(Project::with_sql(SQL), &["run", "--remote", &format!("sc://127.0.0.1:{port}")]);
    server.join().unwrap();
    // How the connection breaks is up to the two machines.
    let first =
        format!("code: 7\n--- stdout\n--- stderr\nerror: 127.0.0.1:{port} does not answer as a Spark Connect server\n");
    assert!(told.starts_with(&first) && told.contains("help: check that"), "{told}");
}

#[test]
fn init_overwrites_nothing() {
    let project = Project::empty().file("shop/knut.toml", "mine");
    assert_snapshot!(told(project, &["init", "shop"]));
}

#[test]
fn a_connection_string_from_the_environment_that_is_none() {
    let project = Project::with_sql(SQL);
    let output = project.command(&["run"]).env("SPARK_REMOTE", "local[*]").output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(2), "{stderr}");
    assert!(stderr.contains("help: it stands in SPARK_REMOTE"), "{stderr}");
}

/// Without Python there is no local Spark: the message and the code say so (C052).
#[cfg(unix)]
#[test]
fn no_python() {
    let project = Project::with_sql(SQL);
    let home = project.path().join("home");
    let output =
        project.command(&["run", "--local"]).env("KNUT_HOME", &home).env("PATH", project.path()).output().unwrap();
    let stderr = String::from_utf8(output.stderr).unwrap();
    assert_eq!(output.status.code(), Some(7), "{stderr}");
    assert!(stderr.contains("python3") && stderr.contains("\n  help: "), "{stderr}");
}

/// C052: a reader that goes away ends it quietly.
#[test]
fn a_closed_pipe_is_no_error() {
    let project = Project::empty();
    let mut command = project.command(&["--help"]);
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = command.stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(String::from_utf8_lossy(&output.stderr), "");
}
