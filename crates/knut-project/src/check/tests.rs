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
    told(&check(&folder.path().join("spark-pipeline.yml"), None))
}

/// Each finding as its code, the text under it and the texts of its related places.
fn told(checkup: &Checkup) -> Vec<String> {
    let text =
        |span: &FileSpan| span.range.clone().map_or("(whole file)", |range| &checkup.files[span.file].text[range]);
    let told = checkup.findings.iter().map(|finding| {
        let related: Vec<&str> = finding.related.iter().map(|(span, _)| text(span)).collect();
        format!("{} {} {related:?}", finding.code, text(&finding.span)).replace(" []", "")
    });
    told.collect()
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
    expect(
        &["CREATE TEMPORARY VIEW raw AS SELECT 1; CREATE MATERIALIZED VIEW m AS SELECT 1"],
        &[r#"K0201 raw ["raw"]"#, "K0306 raw"],
    );
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
    expect(&["CREATE STREAMING TABLE s AS SELECT * FROM lookup"], &[r#"K0207 s ["lookup"]"#]);
    expect(&["CREATE STREAMING TABLE s AS SELECT * FROM raw"], &[r#"K0207 s ["raw"]"#, r#"K0210 raw ["raw"]"#]);
    expect(&["CREATE STREAMING TABLE s AS SELECT * FROM STREAM lookup"], &[r#"K0209 lookup ["lookup"]"#]);
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

/// The findings of a folder of files, as `file:line:column code message`.
fn found_in(files: &[(&str, &[u8])]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    let checkup = check(&folder.path().join("spark-pipeline.yml"), None);
    let told = checkup.findings.iter().map(|finding| {
        let path = &checkup.files[finding.span.file].path;
        let at = checkup.places(&finding.span);
        let at = at.map_or(String::new(), |(start, end)| {
            format!(":{}:{}-{}", start.line, start.column, if start.line == end.line { end.column } else { 0 })
        });
        format!("{path}{at} {} {}", finding.code, finding.message)
    });
    told.collect()
}

/// A mistake in one file hides none in another.
#[test]
fn all_files_are_told_of_in_one_run() {
    let spec =
        "name: n\nstorage: ${S}\ntarget: x\nconfiguration:\n  spark.x: 4\nlibraries: [{glob: {include: t/**}}]\n";
    assert_eq!(
        found_in(&[
            ("spark-pipeline.yml", spec.as_bytes()),
            ("knut.toml", b"[sources.raw]\nformat = 1\n"),
            ("t/a.sql", b"DROP TABLE x;\nCREATE MATERIALIZED VIEW a AS SELECT * FROM a"),
            ("t/b.sql", b"\xEF\xBB\xBFSELECT\n \xFF"),
            ("t/c.txt", b""),
        ]),
        [
            "spark-pipeline.yml:2:10-14 K0410 `storage` holds `${S}`, a placeholder that nobody filled in",
            "spark-pipeline.yml:3:1-7 K0402 unexpected field `target`",
            "spark-pipeline.yml:5:12-13 K0404 `spark.x` must be a string, but YAML reads `4` as a number",
            "knut.toml:2:10-11 K0503 `format` must be a string, not an integer",
            "t/a.sql:1:1-5 K0101 DROP is no definition of a dataset or flow",
            "t/a.sql:2:45-46 K0203 datasets read each other in a circle: a → a",
            "t/b.sql:2:2-2 K0422 the file is not UTF-8: byte 0xFF at byte offset 11 begins no character",
            "t/c.txt K0423 not a definition file: only files that end in `.sql` are read",
        ]
    );
}

/// What only seems to be missing because a file cannot be read is not told.
#[test]
fn what_another_file_may_define_is_not_missed() {
    let spec = b"name: n\nstorage: file:///s\nlibraries: [{glob: {include: t/**}}]\n";
    let flow = b"CREATE FLOW f AS INSERT INTO elsewhere BY NAME SELECT * FROM STREAM raw; CREATE VIEW v AS SELECT 1";
    let whole = found_in(&[("spark-pipeline.yml", spec), ("t/a.sql", flow)]);
    assert_eq!(whole, ["t/a.sql:1:13-14 K0204 the flow f writes into elsewhere, which no file defines"]);
    let broken = found_in(&[("spark-pipeline.yml", spec), ("t/a.sql", flow), ("t/b.sql", b"\xFF")]);
    assert_eq!(broken.len(), 1, "{broken:?}");
    let spec = b"name: n\nstorage: file:///s\ncatalog: 4\nlibraries: [{glob: {include: t/**}}]\n";
    let unnamed = found_in(&[("spark-pipeline.yml", spec), ("t/a.sql", flow)]);
    assert_eq!(unnamed.len(), 1, "{unnamed:?}");
}

/// C002 (d), (e): lines end as YAML ends them, and UTF-16 is named.
#[test]
fn odd_files_keep_their_places() {
    let told = found_in(&[("spark-pipeline.yml", b"name: n\rtarget: x\rstorage: file:///s\r")]);
    assert_eq!(told[1], "spark-pipeline.yml:2:1-7 K0402 unexpected field `target`");
    let told = found_in(&[("spark-pipeline.yml", b"\xFF\xFEn\0")]);
    assert_eq!(
        told,
        ["spark-pipeline.yml K0422 the file is UTF-16, not UTF-8: a UTF-16 byte order mark stands at byte offset 0"]
    );
    let told = found_in(&[]);
    assert_eq!(told, ["spark-pipeline.yml K0421 the file cannot be read: there is no such file"]);
}

/// C012 (a): where Spark will really keep checkpoints is told when it is not where it was asked to.
#[test]
fn a_storage_that_spark_will_not_keep_is_warned_of() {
    let spec = b"name: n\nstorage: \"file:///a b\"\nlibraries: [{glob: {include: a.sql}}]\n";
    let told = found_in(&[("spark-pipeline.yml", spec), ("a.sql", b"CREATE MATERIALIZED VIEW m AS SELECT 1")]);
    let message = "Spark will keep the checkpoints under `file:///a%20b`, not under `file:///a b`";
    assert_eq!(told, [format!("spark-pipeline.yml:2:10-23 K0411 {message}")]);
}

/// C008: confs that a run cannot set, in the spec and in a SQL file, where they act.
#[test]
fn static_confs_are_warned_of() {
    let spec = "name: n\nstorage: file:///s\nconfiguration:\n  spark.sql.warehouse.dir: /tmp/zzz\n  spark.executor.memory: \
                1g\n  spark.jars.packages: a\n  spark.sql.extensions: b\n  spark.sql.shuffle.partitions: '4'\n  my.own: x\n\
                libraries: [{glob: {include: a.sql}}]\n";
    let sql = b"SET spark.sql.extensions = x;\nCREATE MATERIALIZED VIEW m AS SELECT 1; SET spark.executor.cores = 4";
    let told = found_in(&[("spark-pipeline.yml", spec.as_bytes()), ("a.sql", sql)]);
    let why = "is fixed when the server starts: each flow that sets it fails in the run";
    assert_eq!(
        told,
        [
            format!("spark-pipeline.yml:4:3-26 K0303 `spark.sql.warehouse.dir` {why}"),
            format!("spark-pipeline.yml:5:3-24 K0303 `spark.executor.memory` {why}"),
            format!("spark-pipeline.yml:6:3-22 K0303 `spark.jars.packages` {why}"),
            format!("spark-pipeline.yml:7:3-23 K0303 `spark.sql.extensions` {why}"),
            format!("a.sql:1:1-29 K0303 `spark.sql.extensions` {why}"),
        ]
    );
}

#[test]
fn partition_columns_must_be_declared() {
    let view = |columns: &str, clause: &str| {
        format!("CREATE MATERIALIZED VIEW m ({columns}) {clause} AS SELECT 1 AS id, 2 AS n, 3 AS x")
    };
    let check = |clause: &str, expected: &[&str]| expect(&[&view("id INT, n INT, `x y` INT", clause)], expected);
    check("PARTITIONED BY (n, `x y`)", &[]);
    check("PARTITIONED BY (nn)", &["K0305 nn"]);
    check("PARTITIONED BY (n, nosuch)", &["K0305 nosuch"]);
    check("PARTITIONED BY (n, n)", &[r#"K0305 n ["n"]"#]);
    check("PARTITIONED BY (N)", &[r#"K0305 N ["n"]"#]);
    check("PARTITIONED BY (id, n, `x y`)", &["K0305 id, n, `x y`"]);
    // Delta and the like compare without case, and have columns of their own accord.
    check("USING delta CLUSTER BY (N)", &[]);
    check("USING delta CLUSTER BY (nosuch, N)", &["K0305 nosuch"]);
    // What the server refuses at once is told once.
    check("USING delta CLUSTER BY (n.a)", &["K0107 n.a"]);
    // Without declared columns, the query has the word.
    expect(&["CREATE MATERIALIZED VIEW m PARTITIONED BY (nosuch) AS SELECT 1 AS id"], &[]);
    // In another catalog, case may not count.
    expect(&[&view("id INT, n INT", "PARTITIONED BY (N)").replace(" m ", " c.d.m ")], &[]);
}

#[test]
fn a_clustered_view_of_files_is_warned_of() {
    let view = "CREATE MATERIALIZED VIEW m CLUSTER BY (a, b) AS SELECT 1 AS a, 2 AS b, 3 AS c";
    expect(&[view], &["K0310 a, b"]);
    expect(&[&view.replace(" CLUSTER", " USING delta CLUSTER")], &[]);
    expect(&[&view.replace(" m ", " c.d.m ")], &[]);
    expect(&["CREATE STREAMING TABLE s CLUSTER BY (a) AS SELECT * FROM STREAM raw"], &[]);
}

/// C012 (c), (d): storages that are probably not meant.
#[test]
fn doubtful_storages_are_warned_of() {
    let codes = |storage: &str, more: &str| {
        let spec = format!("name: n\nstorage: {storage}\n{more}libraries: [{{glob: {{include: a.sql}}}}]\n");
        let told =
            found_in(&[("spark-pipeline.yml", spec.as_bytes()), ("a.sql", b"CREATE MATERIALIZED VIEW m AS SELECT 1")]);
        let code = |line: &String| line.split(' ').nth(1).unwrap_or_default().to_owned();
        told.iter().map(code).collect::<Vec<_>>().join(" ")
    };
    let remote = "configuration: {spark.remote: 'sc://spark.example.com'}\n";
    let local = "configuration: {spark.remote: 'sc://localhost:15002'}\n";
    for (storage, more, expected) in [
        (".knut/storage", "", ""),
        (".knut/storage", local, ""),
        (".knut/storage", remote, "K0412"),
        ("file:///data/storage", "", ""),
        ("s3a://bucket/p", remote, ""),
        ("/data/storage", "", "K0412"),
        ("st", "", "K0412"),
        (".knut/warehouse", "", "K0413"),
        ("./.knut/warehouse/m", "", "K0413"),
        ("spark-warehouse/x", "", "K0412 K0413"),
        ("spark-warehouses", "", "K0412"),
        ("${ROOT}/x", "", "K0410"),
        ("file://__REPO__/x", "", "K0410"),
        ("'s3://{bucket}/p'", "", "K0410"),
        ("~/x", "", "K0410"),
        ("file:///tmp/a%20b", "", "K0411"),
    ] {
        assert_eq!(codes(storage, more), expected, "{storage} {more}");
    }
}

/// A conf of Spark turns the check of views off, and then nobody complains.
#[test]
fn views_may_be_read_as_one_likes_where_a_conf_says_so() {
    let sql = "CREATE TEMPORARY VIEW v AS SELECT 1 AS x;\nCREATE STREAMING TABLE t AS SELECT * FROM STREAM v";
    let spec = |conf: &str| {
        format!("name: n\nstorage: file:///s\nconfiguration: {{{conf}}}\nlibraries: [{{glob: {{include: t/**}}}}]\n")
    };
    let told = |conf: &str| found_in(&[("spark-pipeline.yml", spec(conf).as_bytes()), ("t/a.sql", sql.as_bytes())]);
    assert!(told("").iter().any(|told| told.contains("K0209")), "{:?}", told(""));
    assert_eq!(told("pipelines.incompatibleViewCheck.enabled: 'false'"), Vec::<String>::new());
}

/// Thousands of names that no file defines are looked at in no more than a moment, and the first are told of.
#[test]
fn many_unknown_names_are_no_quadratic_work() {
    let files: Vec<String> =
        (0..2_000).map(|n| format!("CREATE MATERIALIZED VIEW view_{n:05} AS SELECT * FROM views_{n:05}")).collect();
    let files: Vec<&str> = files.iter().map(String::as_str).collect();
    let n_told = found(&files).iter().filter(|told| told.starts_with("K0309")).count();
    assert!((1..=200_000 / 2_000).contains(&n_told), "{n_told}");
}

/// A token that stands in a file is in nothing that is told of it.
#[test]
fn tokens_are_not_told() {
    for line in [
        "spark.remote: \"sc://h/;token=SEKRIT\"",
        "configuration: \"spark.remote=sc://h/;token=SEKRIT\"",
        "configuration: {spark.remote: !x \"sc://h/;token=SEKRIT\"}",
        "configuration: {spark.remote:\"sc://h/;token=SEKRIT\"}",
    ] {
        let folder = tempfile::tempdir().unwrap();
        let spec = folder.path().join("spark-pipeline.yml");
        std::fs::write(&spec, format!("name: n\nstorage: s\n{line}\n")).unwrap();
        let checkup = check(&spec, None);
        assert!(checkup.has_errors(), "{line}");
        assert!(!format!("{:?} {:?}", checkup.findings, checkup.files).contains("SEKRIT"), "{line}");
    }
}
