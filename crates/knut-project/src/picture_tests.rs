//! Pictures of SQL projects: which reads become edges, and of which kind.

use knut_model::Grouping;

use crate::Project;

/// A project with these files.
fn project(files: &[(&str, &str)]) -> Project {
    let folder = folder(files);
    Project::load(&folder.path().join("spark-pipeline.yml")).unwrap()
}

/// The folder of a project with these files.
fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    let spec = "name: p\nstorage: s\nlibraries:\n  - glob:\n      include: sql/**\n";
    std::fs::write(folder.path().join("spark-pipeline.yml"), spec).unwrap();
    std::fs::create_dir(folder.path().join("sql")).unwrap();
    for (name, text) in files {
        std::fs::write(folder.path().join("sql").join(name), text).unwrap();
    }
    folder
}

/// The edges as `from -> to`, `=>` for streams.
fn edges(sql: &str) -> Vec<String> {
    let picture = project(&[("a.sql", sql)]).picture();
    picture
        .edges
        .iter()
        .map(|edge| format!("{} {} {}", edge.from, if edge.streaming { "=>" } else { "->" }, edge.to))
        .collect()
}

/// C081: a name that the query defines itself hides the dataset of that name.
#[test]
fn what_a_query_names_itself_is_no_dataset() {
    let src = "CREATE MATERIALIZED VIEW src AS SELECT 1 AS z;\n";
    let with = |query: &str| edges(&format!("{src}CREATE MATERIALIZED VIEW o AS {query}"));
    let none: [&str; 0] = [];
    assert_eq!(with("WITH src AS (SELECT 7 AS z) SELECT z FROM src"), none);
    assert_eq!(with("WITH o AS (SELECT * FROM src) SELECT * FROM o"), ["src -> o"]);
    assert_eq!(with("SELECT o.z FROM src AS o"), ["src -> o"]);
    assert_eq!(with("WITH a AS (WITH src AS (SELECT 1 AS z) SELECT * FROM src) SELECT * FROM a"), none);
    assert_eq!(with("WITH a AS (WITH b AS (SELECT 1) SELECT * FROM b) SELECT * FROM a, src"), ["src -> o"]);
}

/// C082: a name in a string, a comment, a column or a function is no read.
#[test]
fn only_references_become_edges() {
    let sql = "CREATE MATERIALIZED VIEW src AS SELECT 1 AS id;\nCREATE MATERIALIZED VIEW ghost AS SELECT 1 AS id;\n\
               CREATE MATERIALIZED VIEW o AS SELECT 'from ghost; join ghost2', id AS ghost, named_struct('b', 1).b, \
               /* FROM ghost3 */ id -- join ghost4\nFROM src, range(3)";
    assert_eq!(edges(sql), ["src -> o"]);
}

/// C083: each form of `STREAM`, and a dataset of that name.
#[test]
fn every_form_of_stream_is_known() {
    let with = |query: &str| edges(&format!("CREATE STREAMING TABLE src;\nCREATE STREAMING TABLE o AS {query}"));
    for query in [
        "SELECT * FROM STREAM src",
        "SELECT * FROM STREAM(src)",
        "SELECT * FROM STREAM src AS q",
        "SELECT * FROM STREAM(spark_catalog.default.src)",
    ] {
        assert_eq!(with(query), ["src => o"], "{query}");
    }
    assert_eq!(with("SELECT * FROM STREAM src JOIN other USING (id)"), ["other -> o", "src => o"]);
    let named_stream =
        "CREATE MATERIALIZED VIEW stream AS SELECT 1 AS x;\nCREATE MATERIALIZED VIEW o AS SELECT * FROM stream";
    assert_eq!(edges(named_stream), ["stream -> o"]);
}

/// C045: a temporary view hides a table of its name.
#[test]
fn a_view_hides_a_table() {
    let sql = "CREATE MATERIALIZED VIEW shade AS SELECT 1 AS x;\nCREATE TEMPORARY VIEW shade AS SELECT 2 AS x;\n\
               CREATE MATERIALIZED VIEW reader AS SELECT * FROM shade";
    assert_eq!(edges(sql), ["shade (temporary view sql/a.sql:2) -> reader"]);
}

/// C030: `USE` acts for the rest of its file, and the picture shows where each table lands.
#[test]
fn each_table_has_its_schema() {
    let files = [
        (
            "a.sql",
            "USE DATABASE other;\nCREATE MATERIALIZED VIEW m AS SELECT 1 AS x;\nSET k=v;\nCREATE MATERIALIZED VIEW n AS SELECT * FROM m",
        ),
        ("b.sql", "CREATE MATERIALIZED VIEW p AS SELECT 1 AS x"),
    ];
    let picture = project(&files).picture().group_by(Grouping::Schema);
    let nodes: Vec<_> = picture.nodes.iter().map(|node| (node.name.as_str(), node.group.as_deref())).collect();
    assert_eq!(nodes, [("other.m", Some("other")), ("other.n", Some("other")), ("p", None)]);
}

/// C037, C038: names of any letters are told apart and shown in every form.
#[test]
fn names_of_any_letters_are_shown() {
    let long = "n".repeat(300);
    let names = [
        "hy-phen",
        "with space",
        "目录",
        "größe_🚀",
        "مرحبا",
        "é",
        "e\u{301}",
        &long,
        "2024_orders",
        "2024",
        "end",
        "default",
        "click",
        "graph",
        "subgraph",
        "style",
        "__proto__",
        "constructor",
        "toString",
        "null",
        "true",
    ];
    let sql: Vec<String> =
        names.iter().map(|name| format!("CREATE MATERIALIZED VIEW `{name}` AS SELECT 1 AS x")).collect();
    let picture = project(&[("a.sql", &sql.join(";\n"))]).picture();
    assert_eq!(picture.nodes.len(), names.len());
    let text = picture.clone().group_by(Grouping::None).to_text();
    let (mermaid, dot) = (picture.to_mermaid().unwrap(), picture.to_dot());
    assert_eq!(text.lines().count(), names.len());
    assert_eq!(mermaid.lines().filter(|line| line.starts_with("    n")).count(), names.len());
    for name in names {
        assert!(text.contains(name) && dot.contains(name), "{name}");
        // A hyphen and a blank mean nothing to Mermaid, marks on letters and pictures are written as numbers.
        assert!(!name.is_ascii() || mermaid.contains(name), "{name}");
    }
}

/// C042: what may have one part only is refused at its place.
#[test]
fn names_of_too_many_parts_are_refused_at_their_place() {
    for (sql, place) in [
        ("CREATE STREAMING TABLE t;\nCREATE FLOW my.flow AS INSERT INTO t BY NAME SELECT * FROM STREAM x", "my.flow"),
        ("\n\nCREATE TEMPORARY VIEW db.tv AS SELECT 1 AS x", "db.tv"),
        ("CREATE MATERIALIZED VIEW a.b.c.d AS SELECT 1 AS x", "a.b.c.d"),
    ] {
        let folder = folder(&[("a.sql", sql)]);
        let found = crate::check(&folder.path().join("spark-pipeline.yml"), None).findings;
        let errors = found.iter().filter(|finding| finding.code.severity() == crate::Severity::Error);
        let places: Vec<&str> =
            errors.filter_map(|finding| finding.span.range.clone()).map(|range| &sql[range]).collect();
        assert_eq!(places, [place], "{found:?}");
    }
}
