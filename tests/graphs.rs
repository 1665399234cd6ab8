//! `knut graph`: groups, selections, drawings, and what changed since a revision of git.
#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::path::Path;
use std::process::Command;

use insta::assert_snapshot;
use knut_tests::{Project, Ran, workspace};

fn orders(args: &[&str]) -> Ran {
    Project::copy_of("examples/orders").run(&[&["graph"], args].concat())
}

#[test]
fn datasets_are_grouped_by_file_or_schema() {
    assert_snapshot!("text_by_file", orders(&["--group-by", "file"]).expect(0).stdout);
    let mut project = Project::with_sql(
        "USE DATABASE sales;\nCREATE MATERIALIZED VIEW m AS SELECT 1 AS x;\nCREATE TEMPORARY VIEW v AS SELECT * FROM m;\n\
         CREATE MATERIALIZED VIEW other.n AS SELECT * FROM v;",
    );
    assert_snapshot!("text_by_schema", project.run(&["graph", "--group-by", "schema"]).expect(0).stdout);
    let mermaid = project.run(&["graph", "--group-by", "schema", "--format", "mermaid"]).expect(0).stdout;
    assert!(mermaid.contains(r#"["sales"]"#) && mermaid.contains(r#"["other"]"#), "{mermaid}");
    let dot = project.run(&["graph", "--group-by", "none", "--format", "dot"]).expect(0).stdout;
    assert!(!dot.contains("subgraph"), "{dot}");
}

/// A selection runs nothing upstream; the picture says what it does to each dataset.
#[test]
fn a_selection_is_marked() {
    assert_snapshot!(
        "a_selection_as_text",
        orders(&["--refresh", "revenue_by_country", "--full-refresh", "customers"]).expect(0).stdout
    );
    let ran = orders(&["--refresh", "nosuch"]).expect(4);
    assert!(ran.stderr.contains("no table is called nosuch"), "{}", ran.told());
}

/// A whole file that a browser shows; `crates/knut-viewer/src/svg/tests.rs` looks into it.
#[test]
fn a_graph_as_a_drawing() {
    let svg = orders(&["--format", "svg", "--focus", "customers"]).expect(0).stdout;
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    assert_snapshot!("a_drawing", svg);
}

/// git with nobody's configuration but its own.
fn git(folder: &Path, args: &[&str]) -> String {
    let mut command = Command::new("git");
    command.args(args).current_dir(folder);
    for name in ["GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE"] {
        command.env_remove(name);
    }
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").env("GIT_CONFIG_NOSYSTEM", "1");
    for role in ["AUTHOR", "COMMITTER"] {
        command.env(format!("GIT_{role}_NAME"), "test").env(format!("GIT_{role}_EMAIL"), "test@example.com");
    }
    let output = command.output().unwrap();
    assert!(output.status.success(), "git {args:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn commit(folder: &Path) {
    git(folder, &["add", "--all"]);
    git(folder, &["commit", "--quiet", "--message", "a state"]);
}

const SPEC: &str = "name: shop\nstorage: ${UNFILLED}\nlibraries:\n  - glob:\n      include: sql/**\n";

/// A repository whose folder `etl/shop` is a project that changed since its first commit.
fn changed() -> Project {
    let project = Project::empty();
    git(project.path(), &["init", "--quiet", "--initial-branch", "main"]);
    project.write("README.md", "a bigger repository");
    project.write("etl/shop/spark-pipeline.yml", SPEC.replace("${UNFILLED}", "s"));
    project.write(
        "etl/shop/knut.toml",
        "[sources.raw]\nformat = \"csv\"\npath = \"data\"\nschema = \"id INT\"\nstreaming = true\n",
    );
    project.write("etl/shop/sql/a.sql", "CREATE STREAMING TABLE orders AS SELECT * FROM STREAM raw;\nCREATE MATERIALIZED VIEW same AS SELECT 1 AS x;\nCREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n FROM orders;\nCREATE MATERIALIZED VIEW gone AS SELECT * FROM totals;\n");
    commit(project.path());
    git(project.path(), &["tag", "v1"]);
    // The data was never in git, and the file moved; neither is a change.
    project.write("etl/shop/data/a.csv", "1\n");
    std::fs::remove_file(project.path().join("etl/shop/sql/a.sql")).unwrap();
    project.write("etl/shop/sql/b.sql", "-- moved\nCREATE STREAMING TABLE orders AS\n  SELECT * FROM STREAM raw;\nCREATE MATERIALIZED VIEW same AS SELECT 1 /* one */ AS x;\nCREATE MATERIALIZED VIEW totals AS SELECT count(*) AS n_orders FROM orders;\nCREATE MATERIALIZED VIEW new AS SELECT * FROM totals JOIN orders;\n");
    project
}

fn diff(project: &Project, args: &[&str]) -> Ran {
    let mut command = project.command(&[&["graph", "--diff"], args].concat());
    command.env("GIT_CONFIG_GLOBAL", "/dev/null").current_dir(project.path().join("etl/shop/sql"));
    Ran::of(&mut command)
}

#[test]
fn what_changed_since_a_revision_is_told() {
    let project = changed();
    let before = git(project.path(), &["status", "--porcelain"]);
    for revision in ["v1", "main", "HEAD", "main^{}"] {
        assert_eq!(
            diff(&project, &[revision]).expect(0).stdout,
            "- gone (materialized view)\n+ new (materialized view)\n~ totals (materialized view, defined otherwise)\n\
             - totals -> gone\n+ orders -> new\n+ totals -> new\n"
        );
    }
    assert_eq!(
        diff(&project, &["v1", "--focus", "gone", "--up", "0"]).expect(0).stdout,
        "- gone (materialized view)\n"
    );
    assert_eq!(git(project.path(), &["status", "--porcelain"]), before, "neither work tree nor index is touched");
    commit(project.path());
    let ran = diff(&project, &["HEAD"]).expect(0);
    assert_eq!((ran.stdout.as_str(), ran.stderr.as_str()), ("", "nothing changed since HEAD\n"));
}

#[test]
fn changes_are_drawn() {
    let project = changed();
    assert_snapshot!("changes_in_mermaid", diff(&project, &["v1", "--format", "mermaid"]).expect(0).stdout);
    assert_snapshot!(
        "changes_in_dot",
        diff(&project, &["v1", "--format", "dot", "--group-by", "none"]).expect(0).stdout
    );
    let json: serde_json::Value =
        serde_json::from_str(&diff(&project, &["v1", "--format", "json"]).expect(0).stdout).unwrap();
    let marks: Vec<(&str, Option<&str>)> = json["nodes"]
        .as_array()
        .unwrap()
        .iter()
        .map(|node| (node["name"].as_str().unwrap(), node["mark"].as_str()))
        .collect();
    assert_eq!(
        marks,
        [
            ("raw", None),
            ("orders", None),
            ("same", None),
            ("totals", Some("changed")),
            ("new", Some("added")),
            ("gone", Some("removed"))
        ]
    );
    let svg = diff(&project, &["v1", "--format", "svg"]).expect(0).stdout;
    assert!(svg.contains("materialized view, removed") && svg.contains("orders → new (added)"), "{svg}");
}

/// No option can be smuggled in, and what is missing is named.
#[test]
fn a_revision_that_is_not_there_is_told() {
    let project = changed();
    for revision in ["nosuch", "--upload-pack=touch /tmp/x", "--all", "", "-h", "a\u{1b}[31m", "v1:README.md"] {
        let ran = diff(&project, &[revision]).expect(2);
        assert!(ran.stderr.contains("git knows no revision") && !ran.stderr.contains('\u{1b}'), "{}", ran.told());
    }
    let mut empty = Project::with_sql("CREATE MATERIALIZED VIEW a AS SELECT 1 AS x;");
    let ran = empty.run(&["graph", "--diff", "HEAD"]).expect(2);
    assert!(ran.stderr.contains("not a git repository"), "{}", ran.told());
    let mut without_git = empty.command(&["graph", "--diff", "HEAD"]);
    let ran = Ran::of(without_git.env("PATH", "/nonexistent")).expect(2);
    assert!(ran.stderr.contains("git is not installed"), "{}", ran.told());
    git(empty.path(), &["init", "--quiet"]);
    git(empty.path(), &["commit", "--quiet", "--allow-empty", "--message", "nothing"]);
    let ran = empty.run(&["graph", "--diff", "HEAD"]).expect(2);
    assert!(ran.stderr.contains("HEAD has no spark-pipeline.yml"), "{}", ran.told());
}

/// What was wrong then is told as that, an unfilled storage is nothing, and links lead nowhere else.
#[test]
fn a_project_that_was_wrong_then_is_told() {
    let project = changed();
    project.write("etl/shop/spark-pipeline.yml", SPEC);
    commit(project.path());
    project.write("etl/shop/spark-pipeline.yml", SPEC.replace("${UNFILLED}", "s"));
    diff(&project, &["HEAD"]).expect(0);
    project.write("etl/shop/spark-pipeline.yml", "name: [");
    commit(project.path());
    project.write("etl/shop/spark-pipeline.yml", SPEC.replace("${UNFILLED}", "s"));
    let ran = diff(&project, &["HEAD"]).expect(3);
    assert!(ran.stderr.contains("error[K0401]: at HEAD: spark-pipeline.yml"), "{}", ran.told());
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/etc/hostname", project.path().join("etl/shop/sql/c.sql")).unwrap();
        commit(project.path());
        std::fs::remove_file(project.path().join("etl/shop/sql/c.sql")).unwrap();
        let ran = diff(&project, &["HEAD"]).expect(3);
        assert!(ran.stderr.contains("etl/shop/sql/c.sql was a link to /etc/hostname"), "{}", ran.told());
    }
}

/// A link means what it led to in the repository, and never anything outside of it, however it gets there.
#[cfg(unix)]
#[test]
fn links_are_followed_inside_the_repository_only() {
    use std::os::unix::fs::symlink;

    let project = changed();
    let root = project.path();
    project.write("shared/c.sql", "CREATE MATERIALIZED VIEW of_link AS SELECT 1 AS x");
    symlink("../../../shared/c.sql", root.join("etl/shop/sql/c.sql")).unwrap();
    commit(root);
    std::fs::remove_file(root.join("etl/shop/sql/c.sql")).unwrap();
    let ran = diff(&project, &["HEAD"]).expect(0);
    assert!(ran.stdout.contains("- of_link (materialized view)"), "{}", ran.told());

    // By its words alone the last one stays inside.
    let outside = root.parent().unwrap().join(format!("{}.sql", root.file_name().unwrap().display()));
    std::fs::write(&outside, "CREATE MATERIALIZED VIEW secret AS SELECT 1 AS x").unwrap();
    std::fs::create_dir_all(root.join("a/b/c")).unwrap();
    symlink("../../..", root.join("a/b/c/up")).unwrap();
    symlink("../../../a/b/c/up", root.join("etl/shop/sql/up")).unwrap();
    symlink(format!("up/../{}", outside.file_name().unwrap().display()), root.join("etl/shop/sql/e.sql")).unwrap();
    commit(root);
    std::fs::remove_file(root.join("etl/shop/sql/e.sql")).unwrap();
    let ran = diff(&project, &["HEAD"]).expect(3);
    std::fs::remove_file(&outside).unwrap();
    assert!(ran.stderr.contains("etl/shop/sql/e.sql was a link to up/../"), "{}", ran.told());
    assert!(!ran.told().contains("secret"), "{}", ran.told());
}

/// What a hook's git says of another repository does not count.
#[test]
fn the_repository_is_the_projects_own() {
    let project = changed();
    let elsewhere = Project::empty();
    git(elsewhere.path(), &["init", "--quiet"]);
    let mut command = project.command(&["graph", "--diff", "HEAD", "--spec", "etl/shop/spark-pipeline.yml"]);
    let ran = Ran::of(command.env("GIT_DIR", elsewhere.path().join(".git"))).expect(0);
    assert_eq!(ran.stdout, diff(&project, &["HEAD"]).expect(0).stdout);
}

/// The README shows a pipeline in Rust and what `graph` says of it; both are what they are.
#[test]
fn the_readme_shows_a_graph_written_in_rust() {
    let readme = std::fs::read_to_string(workspace().join("README.md")).unwrap();
    let program = std::fs::read_to_string(workspace().join("crates/knut-model/examples/shop.rs")).unwrap();
    let program = &program[program.find("use knut_model").unwrap()..];
    assert!(readme.contains(&format!("```rust\n{program}```")), "the README should show\n{program}");

    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let args = ["run", "--quiet", "--locked", "--package", "knut-model", "--example", "shop", "--features", "serde"];
    let json = Command::new(cargo).args(args).current_dir(workspace()).output().unwrap();
    assert!(json.status.success(), "{}", String::from_utf8_lossy(&json.stderr));
    let mut project = Project::empty().file("shop.json", &json.stdout);
    let text = project.run(&["graph", "--from", "shop.json"]).expect(0).stdout;
    assert!(readme.contains(&format!("knut graph --from -\n{text}```")), "the README should show\n{text}");
    let input = std::fs::File::open(project.path().join("shop.json")).unwrap();
    let piped = Ran::of(project.command(&["graph", "--from", "-"]).stdin(input)).expect(0);
    assert_eq!(piped.stdout, text);
}

#[test]
fn a_graph_from_a_file_is_checked_and_drawn() {
    let graph =
        |datasets: &str, flows: &str| format!(r#"{{ "format": 1, "datasets": [{datasets}], "flows": [{flows}] }}"#);
    let flow = |name: &str, sql: &str| {
        format!(r#"{{ "name": "{name}", "target": "{name}", "query": {{ "kind": "sql", "sql": "{sql}" }} }}"#)
    };
    let view = |name: &str| format!(r#"{{ "kind": "materialized_view", "name": "{name}" }}"#);
    let flows = [flow("a", "SELECT * FROM csv.`/data/x`"), flow("b", "SELECT * FROM a, other.t")].join(",");
    let mut project = Project::empty()
        .file("good.json", graph(&[view("a"), view("b")].join(","), &flows))
        .file("bad.json", graph(&[view("hy-phen"), view("lonely")].join(","), ""))
        .file("odd.json", "{ \"format\": 9 }");
    assert_snapshot!("from_a_file", project.run(&["graph", "--from", "good.json", "--refresh", "b"]).expect(0).stdout);
    project.run(&["graph", "--from", "good.json", "--refresh", "nosuch"]).expect(4);
    assert_snapshot!("from_a_file_that_is_wrong", project.run(&["graph", "--from", "bad.json"]).told());
    assert_snapshot!("from_a_file_of_another_form", project.run(&["graph", "--from", "odd.json"]).told());
    let ran = project.run(&["graph", "--from", "nosuch.json"]).expect(3);
    assert!(ran.stderr.contains("nosuch.json: cannot be read"), "{}", ran.told());
}
