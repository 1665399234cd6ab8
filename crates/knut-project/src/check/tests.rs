//! Each rule with what sets it off and what does not.

use super::*;

/// The findings of a project with these SQL files, each as `K0000 line:column the text under it`.
fn found(files: &[&str]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let spec = "name: n\nstorage: file:///s\nlibraries:\n  - glob:\n      include: t/**\n";
    std::fs::write(folder.path().join("spark-pipeline.yml"), spec).unwrap();
    let sources = "[sources.raw]\nformat = \"rate\"\nstreaming = true\n[sources.lookup]\nformat = \"rate\"\n";
    std::fs::write(folder.path().join("knut.toml"), sources).unwrap();
    std::fs::create_dir(folder.path().join("t")).unwrap();
    for (index, text) in files.iter().enumerate() {
        std::fs::write(folder.path().join(format!("t/{index}.sql")), text).unwrap();
    }
    let project = Project::load(&folder.path().join("spark-pipeline.yml")).unwrap();
    let told = |finding: &Finding| {
        let text = &project.sql_files[finding.span.file].text;
        let related: Vec<&str> =
            finding.related.iter().map(|(span, _)| &project.sql_files[span.file].text[span.range.clone()]).collect();
        format!("{} {} {related:?}", finding.code, &text[finding.span.range.clone()]).replace(" []", "")
    };
    check(&project).iter().map(told).collect()
}

#[track_caller]
fn expect(files: &[&str], expected: &[&str]) {
    assert_eq!(found(files), expected, "{files:?}");
}

const STREAM: &str = "CREATE STREAMING TABLE s AS SELECT * FROM STREAM raw";

#[test]
fn a_sound_project_gives_nothing() {
    expect(
        &[&format!(
            "{STREAM}; CREATE MATERIALIZED VIEW m AS SELECT * FROM s JOIN lookup; CREATE VIEW v AS SELECT * FROM m"
        )],
        &[],
    );
}

#[test]
fn refused_statements_are_told_where_they_stand() {
    expect(
        &["CREATE OR REFRESH STREAMING TABLE a AS SELECT 1; DROP TABLE b; CREATE FLOW f AS INSERT INTO c SELECT 1"],
        &["K0105 OR REFRESH", "K0207 a", "K0101 DROP", "K0110 INSERT INTO c"],
    );
    expect(&["CREATE MATERIALIZED VIEW IF NOT EXISTS m AS SELECT 1"], &["K0307 m"]);
}

/// C041
#[test]
fn both_places_of_a_duplicate_are_told() {
    let dup = "CREATE MATERIALIZED VIEW dup AS SELECT 1";
    expect(&[dup, dup], &[r#"K0201 dup ["dup"]"#]);
    let flows =
        "CREATE STREAMING TABLE t USING delta; CREATE FLOW f AS INSERT INTO t BY NAME SELECT * FROM STREAM raw;";
    expect(&[flows, "CREATE FLOW f AS INSERT INTO t BY NAME SELECT * FROM STREAM raw"], &[r#"K0202 f ["f"]"#]);
    expect(&["CREATE TEMPORARY VIEW raw AS SELECT 1"], &["K0201 raw", "K0306 raw"]);
}

#[test]
fn a_cycle_is_told_with_each_of_its_reads() {
    expect(
        &[
            "CREATE MATERIALIZED VIEW a AS SELECT * FROM c",
            "CREATE MATERIALIZED VIEW b AS SELECT * FROM a;\nCREATE MATERIALIZED VIEW c AS SELECT * FROM b",
        ],
        &[r#"K0203 a ["b", "c"]"#],
    );
    expect(&["CREATE MATERIALIZED VIEW a AS SELECT * FROM a"], &["K0203 a"]);
}

/// C032, C043
#[test]
fn flows_and_datasets_must_meet() {
    expect(
        &["CREATE STREAMING TABLE orders; CREATE FLOW f AS INSERT INTO ordesr BY NAME SELECT * FROM STREAM raw"],
        &["K0205 orders", "K0204 f"],
    );
    expect(
        &["CREATE MATERIALIZED VIEW m AS SELECT 1 AS x; CREATE FLOW f AS INSERT INTO m BY NAME SELECT 1 AS x"],
        &[r#"K0206 m ["f"]"#],
    );
}

#[test]
fn streams_and_batches_are_told_apart() {
    expect(&["CREATE STREAMING TABLE s AS SELECT 1 AS x"], &["K0207 s"]);
    expect(&["CREATE STREAMING TABLE s AS SELECT * FROM lookup"], &["K0207 s"]);
    expect(&["CREATE STREAMING TABLE s AS SELECT * FROM raw"], &["K0207 s", "K0210 raw"]);
    expect(&["CREATE STREAMING TABLE s AS SELECT * FROM STREAM lookup"], &["K0209 lookup"]);
    expect(&["CREATE MATERIALIZED VIEW m AS SELECT * FROM STREAM raw"], &["K0208 raw"]);
    expect(
        &["CREATE TEMPORARY VIEW v AS SELECT * FROM STREAM raw; CREATE MATERIALIZED VIEW m AS SELECT * FROM v"],
        &[r#"K0210 v ["v"]"#],
    );
    // What is not understood is not complained of.
    expect(&["CREATE STREAMING TABLE s AS SELECT * FROM IDENTIFIER('r' || 'aw')"], &[]);
}

#[test]
fn views_that_mislead_are_told() {
    expect(&[STREAM, "CREATE TEMPORARY VIEW v AS SELECT 1"], &["K0306 v"]);
    expect(&["CREATE TEMPORARY VIEW v AS SELECT 1; CREATE VIEW p AS SELECT * FROM v"], &["K0211 v"]);
    // C045
    expect(
        &[
            "CREATE MATERIALIZED VIEW x AS SELECT 1; CREATE TEMPORARY VIEW x AS SELECT 2; CREATE MATERIALIZED VIEW r AS SELECT * FROM x",
        ],
        &[r#"K0308 x ["x"]"#],
    );
}

#[test]
fn names_that_mislead_are_told() {
    expect(&["CREATE MATERIALIZED VIEW `hy-phen` AS SELECT 1"], &["K0304 `hy-phen`"]);
    expect(&["CREATE MATERIALIZED VIEW a AS SELECT 1; CREATE MATERIALIZED VIEW A AS SELECT 2"], &[r#"K0301 A ["a"]"#]);
    expect(
        &["CREATE MATERIALIZED VIEW a AS SELECT 1; CREATE MATERIALIZED VIEW b AS SELECT * FROM A"],
        &[r#"K0301 A ["a"]"#],
    );
    expect(
        &["CREATE MATERIALIZED VIEW orders AS SELECT 1; CREATE MATERIALIZED VIEW b AS SELECT * FROM ordesr"],
        &["K0309 ordesr"],
    );
}

/// C086
#[test]
fn flows_that_may_lose_rows_are_told() {
    let flows = |format: &str| {
        let flow = |name: &str| format!("CREATE FLOW {name} AS INSERT INTO t BY NAME SELECT * FROM STREAM raw");
        format!("CREATE STREAMING TABLE t {format}; {}; {}", flow("one"), flow("two"))
    };
    expect(&[&flows("")], &[r#"K0302 t ["one", "two"]"#]);
    expect(&[&flows("USING delta")], &[]);
}
