//! The numbered cases of specs and SQL, letter by letter, as a whole project meets them.

#![expect(clippy::unwrap_used, reason = "a step that fails is a failed test")]

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use knut_project::{Checkup, EdgeSource, Project, SqlDefinitions, check};
use tempfile::TempDir;

const SPEC: &str = "name: n\nstorage: file:///s\nlibraries:\n- glob:\n    include: t/**\n";
const SQL: &str = "CREATE MATERIALIZED VIEW m AS SELECT 1 AS x";

fn project(files: &[(&str, &[u8])]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }
    folder
}

fn checkup(files: &[(&str, &[u8])]) -> Checkup {
    check(&project(files).path().join("spark-pipeline.yml"), None)
}

/// Each finding as `file:line:column code message | help`.
fn told(checkup: &Checkup) -> Vec<String> {
    let told = checkup.findings.iter().map(|finding| {
        let at = checkup.places(&finding.span).map_or(String::new(), |(at, _)| format!(":{}:{}", at.line, at.column));
        let help = finding.help.as_deref().map_or(String::new(), |help| format!(" | {help}"));
        format!("{}{at} {} {}{help}", checkup.files[finding.span.file].path, finding.code, finding.message)
    });
    told.collect()
}

/// What is found in a project whose only SQL file has this text.
fn of_sql(sql: &str) -> Vec<String> {
    told(&checkup(&[("spark-pipeline.yml", SPEC.as_bytes()), ("t/a.sql", sql.as_bytes())]))
}

/// What is found in a project with this spec and one sound SQL file.
fn of_spec(spec: &[u8]) -> Vec<String> {
    told(&checkup(&[("spark-pipeline.yml", spec), ("t/a.sql", SQL.as_bytes())]))
}

/// The codes alone.
fn codes(told: &[String]) -> Vec<&str> {
    told.iter().map(|line| line.split(' ').nth(1).unwrap_or_default()).collect()
}

fn definitions(files: &[(&str, &str)]) -> SqlDefinitions {
    let mut all: Vec<(&str, &[u8])> = vec![("spark-pipeline.yml", SPEC.as_bytes())];
    all.extend(files.iter().map(|(path, text)| (*path, text.as_bytes())));
    Project::load(&project(&all).path().join("spark-pipeline.yml")).unwrap().sql_definitions()
}

/// The edges between datasets, as `from -> flow` or `from ~> flow` for streams.
fn edges(files: &[(&str, &str)]) -> Vec<String> {
    let definitions = definitions(files);
    let edge = |edge: &knut_project::DefinedEdge| {
        let EdgeSource::Dataset(from) = edge.from else { return None };
        let arrow = if edge.is_streaming { "~>" } else { "->" };
        Some(format!("{} {arrow} {}", definitions.datasets[from].name, definitions.flows[edge.flow].name))
    };
    definitions.edges.iter().filter_map(edge).collect()
}

#[test]
fn c002_however_a_spec_is_saved_it_is_the_same_or_told() {
    let loaded = |spec: &[u8]| {
        let folder = project(&[("spark-pipeline.yml", spec), ("t/a.sql", SQL.as_bytes())]);
        Project::load(&folder.path().join("spark-pipeline.yml"))
            .map(|project| project.spec.name + &project.spec.storage.uri)
    };
    let plain = loaded(SPEC.as_bytes()).unwrap();
    for same in [
        format!("\u{feff}{SPEC}"),
        format!("\u{feff}---\n{SPEC}"),
        SPEC.replace('\n', "\r\n"),
        SPEC.replace('\n', "\r"),
        SPEC.trim_end().replace('\n', "  \n"),
        format!("\n\n# a comment\n#\n\n{SPEC}"),
    ] {
        assert_eq!(loaded(same.as_bytes()).unwrap(), plain, "{same:?}");
    }
    let utf16: Vec<u8> = format!("\u{feff}{SPEC}").encode_utf16().flat_map(u16::to_le_bytes).collect();
    let utf16 = of_spec(&utf16);
    assert!(utf16[0].starts_with("spark-pipeline.yml K0422 the file is UTF-16, not UTF-8"), "{utf16:?}");
    let tab = of_spec(SPEC.replace("storage", "\tstorage").as_bytes());
    assert_eq!(
        tab,
        ["spark-pipeline.yml:2:1 K0401 not valid YAML: a tab stands in the indentation | indent with spaces"]
    );
}

#[test]
fn c004_yaml_features_work_and_nothing_is_executed() {
    let storage = |spec: &str| {
        let folder = project(&[("spark-pipeline.yml", spec.as_bytes()), ("t/a.sql", SQL.as_bytes())]);
        Project::load(&folder.path().join("spark-pipeline.yml")).unwrap().spec.storage.uri
    };
    let rest = "libraries: [{glob: {include: t/**}}]\n";
    for spec in [
        format!("name: &x file:///s\nstorage: *x\n{rest}"),
        r#"{"name": "n", "storage": "file:///s", "libraries": [{"glob": {"include": "t/**"}}],}"#.to_owned(),
        format!("name: n\nstorage: \"file:///s\"\n{rest}"),
        format!("name: n\nstorage: 'file:///s'\n{rest}"),
        format!("name: n\nstorage: >-\n  file:///s\n{rest}"),
        format!("name: n\nstorage: |\n  file:///s\n{rest}"),
        format!("name: n # note\nstorage: file:///s # note\n{rest}"),
    ] {
        assert_eq!(storage(&spec), "file:///s", "{spec}");
    }
    let base = of_spec(format!("x-base: &b {{name: n}}\n<<: *b\nstorage: file:///s\n{rest}").as_bytes());
    assert_eq!(codes(&base), ["K0402"], "{base:?}");
    assert_eq!(codes(&of_spec(b"name: my: pipeline\n")), ["K0401"]);
    let tag = of_spec(format!("name: !!python/object/apply:os.getcwd []\nstorage: file:///s\n{rest}").as_bytes());
    assert_eq!(codes(&tag), ["K0401", "K0404"], "{tag:?}");
    let mut bomb = format!("name: n\nstorage: file:///s\n{rest}l0: &l0 [x]\n");
    for level in 1..=10 {
        let before = format!("*l{}", level - 1);
        writeln!(bomb, "l{level}: &l{level} [{}]", vec![before; 10].join(", ")).unwrap();
    }
    let begun = Instant::now();
    assert_eq!(codes(&of_spec(bomb.as_bytes())), vec!["K0402"; 11]);
    assert!(begun.elapsed() < Duration::from_secs(1), "{:?}", begun.elapsed());
}

#[test]
fn c005_all_fields_are_told_in_one_order() {
    let told = of_spec(b"target: x\nclusters: []\ncontinuous: false\nlibraries: [{glob: {include: t/**}}]\n");
    assert_eq!(codes(&told), ["K0402", "K0403", "K0403", "K0402", "K0402"], "{told:?}");
    assert!(told[0].ends_with("the database is named with `database` or `schema`"), "{told:?}");
}

#[test]
fn c017_only_an_include_is_a_pattern() {
    let long = "d".repeat(150);
    for name in ["a[1]", "a*b", "{x}", "é 漢", &*format!("{long}/{long}")] {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(name);
        std::fs::create_dir_all(root.join("t")).unwrap();
        std::fs::write(root.join("spark-pipeline.yml"), SPEC).unwrap();
        std::fs::write(root.join("t/a.sql"), SQL).unwrap();
        let checkup = check(&root.join("spark-pipeline.yml"), None);
        assert_eq!(told(&checkup), Vec::<String>::new(), "{name}");
        assert_eq!(checkup.project.unwrap().sql_files.len(), 1);
    }
}

#[test]
fn c018_blanks_in_folders_and_files_are_nothing_special() {
    let spec = b"name: n\nstorage: file:///s\nlibraries: [{glob: {include: my files/**}}]\n";
    let checkup = checkup(&[("spark-pipeline.yml", spec), ("my files/a b.sql", b"DROP TABLE x")]);
    assert!(told(&checkup)[0].starts_with("my files/a b.sql:1:1 K0101"), "{:?}", told(&checkup));
}

#[test]
fn c019_python_files_are_never_skipped() {
    let files: [(&str, &[u8]); 4] =
        [("spark-pipeline.yml", SPEC.as_bytes()), ("t/a.sql", SQL.as_bytes()), ("t/b.py", b"def ("), ("t/c/d.py", b"")];
    let told = told(&checkup(&files));
    assert_eq!(codes(&told), ["K0424"], "{told:?}");
    assert!(told[0].contains("`t/b.py`, `t/c/d.py`"), "{told:?}");
}

#[test]
fn c022_schema_and_database_are_one_field() {
    let spec = |more: &str| format!("{SPEC}{more}");
    let database = |more: &str| {
        let folder = project(&[("spark-pipeline.yml", spec(more).as_bytes()), ("t/a.sql", SQL.as_bytes())]);
        Project::load(&folder.path().join("spark-pipeline.yml")).unwrap().spec.database
    };
    assert_eq!(codes(&of_spec(spec("schema: a\ndatabase: b\n").as_bytes())), ["K0405"]);
    assert_eq!(database("schema: a\n").as_deref(), Some("a"));
    assert_eq!((database("catalog: c\n"), database("")), (None, None));
}

#[test]
fn c023_files_have_one_order() {
    let names = ["l", "a", "z", "c", "b", "k", "d", "j", "e", "i", "f", "h"];
    let paths: Vec<String> = names.iter().map(|name| format!("t/{name}.sql")).collect();
    let texts: Vec<String> = names.iter().map(|name| format!("CREATE MATERIALIZED VIEW {name} AS SELECT 1")).collect();
    let files: Vec<(&str, &str)> = paths.iter().map(String::as_str).zip(texts.iter().map(String::as_str)).collect();
    let found: Vec<String> = definitions(&files).datasets.iter().map(|dataset| dataset.name.to_string()).collect();
    let mut sorted = names.map(str::to_owned).to_vec();
    sorted.sort();
    assert_eq!(found, sorted);
    let forward = [
        ("t/z.sql", "CREATE MATERIALIZED VIEW z AS SELECT * FROM y"),
        ("t/y.sql", "CREATE MATERIALIZED VIEW y AS SELECT 1"),
    ];
    assert_eq!(edges(&forward), ["y -> z"]);
    assert_eq!(edges(&[forward[1], forward[0]]), ["y -> z"]);
}

#[test]
fn c024_invisible_characters_are_taken_or_named() {
    for fine in [
        format!("\u{feff}{SQL}"),
        SQL.replace(' ', "\r\n"),
        "CREATE\u{a0}MATERIALIZED VIEW m AS\u{a0}SELECT 1".to_owned(),
    ] {
        assert_eq!(of_sql(&fine), Vec::<String>::new(), "{fine:?}");
    }
    let crlf = of_sql("CREATE MATERIALIZED VIEW m AS SELECT 1;\r\n  DROP TABLE x");
    assert!(crlf[0].starts_with("t/a.sql:2:3 K0101"), "{crlf:?}");
    let zero_width = of_sql("CREATE MATERIALIZED VIEW m\u{200b}x AS SELECT 1");
    assert!(zero_width[0].starts_with("t/a.sql:1:27 K0103") && zero_width[0].contains("U+200B"), "{zero_width:?}");
    let smart = of_sql("CREATE MATERIALIZED VIEW m AS SELECT \u{2018}a\u{2019} AS x");
    assert!(smart[0].starts_with("t/a.sql:1:38 K0103") && smart[0].contains("U+2018"), "{smart:?}");
    let of_bytes = |bytes: &[u8]| told(&checkup(&[("spark-pipeline.yml", SPEC.as_bytes()), ("t/a.sql", bytes)]));
    let bad = of_bytes(b"SELECT 1;\nSELECT \xff");
    assert!(bad[0].starts_with("t/a.sql:2:8 K0422") && bad[0].contains("byte offset 17"), "{bad:?}");
    let nul = of_bytes(b"SELECT 'ab\0'");
    assert!(nul[0].starts_with("t/a.sql:1:11 K0422") && nul[0].contains("NUL byte"), "{nul:?}");
    let utf16: Vec<u8> = SQL.encode_utf16().flat_map(u16::to_le_bytes).collect();
    assert!(of_bytes(&utf16)[0].contains("looks like UTF-16"), "{:?}", of_bytes(&utf16));
}

#[test]
fn c028_places_are_those_of_the_file() {
    let mut sql = String::new();
    for number in 1..=40 {
        writeln!(sql, "CREATE MATERIALIZED VIEW m{number} AS SELECT 1;").unwrap();
    }
    sql.push_str("CREATE MATERIALIZED VIEW o AS SELEC 1;\nCREATE MATERIALIZED VIEW p AS SELECT '漢';\tDROP TABLE q;");
    let told = of_sql(&sql);
    assert!(told[0].starts_with("t/a.sql:41:31 K0102") && told[1].starts_with("t/a.sql:42:43 K0101"), "{told:?}");
}

#[test]
fn c029_statements_that_define_nothing_are_told_with_what_is_allowed() {
    for (sql, kind) in [
        ("INSERT INTO m VALUES (1)", "INSERT"),
        ("SELECT * FROM m", "SELECT"),
        ("CREATE TABLE t (a INT)", "CREATE TABLE"),
        ("DROP TABLE t", "DROP"),
        ("CREATE TEMPORARY FUNCTION f AS 'x'", "CREATE TEMPORARY FUNCTION"),
        ("ALTER TABLE m SET TBLPROPERTIES ('a' = 'b')", "ALTER"),
        ("CACHE TABLE m", "CACHE"),
    ] {
        let told = of_sql(&format!("{SQL};\n{sql};"));
        assert_eq!(codes(&told), ["K0101"], "{sql}: {told:?}");
        assert!(told[0].starts_with("t/a.sql:2:1 ") && told[0].contains(kind), "{told:?}");
        for allowed in ["MATERIALIZED VIEW", "STREAMING TABLE", "FLOW", "SET", "USE DATABASE"] {
            assert!(told[0].contains(allowed), "{allowed}: {told:?}");
        }
    }
    assert_eq!(codes(&of_sql(&format!("{SQL}; USE db"))), ["K0106"]);
    assert_eq!(of_sql(&format!("{SQL}; USE DATABASE db")), Vec::<String>::new());
}

#[test]
fn c030_set_and_use_act_on_the_rest_of_their_file() {
    let files = [
        (
            "t/a.sql",
            "USE DATABASE other; CREATE MATERIALIZED VIEW m AS SELECT 1; SET k=v; CREATE MATERIALIZED VIEW n AS SELECT 1",
        ),
        ("t/b.sql", "CREATE MATERIALIZED VIEW o AS SELECT 1"),
    ];
    let definitions = definitions(&files);
    let names: Vec<String> = definitions.datasets.iter().map(|dataset| dataset.name.to_string()).collect();
    assert_eq!(names, ["other.m", "other.n", "o"]);
    let confs: Vec<usize> = definitions.flows.iter().map(|flow| flow.sql_conf.len()).collect();
    assert_eq!(confs, [0, 1, 0]);
}

#[test]
fn c032_a_flow_into_nothing_is_told_with_its_target() {
    let flow = of_sql(&format!("{SQL}; CREATE FLOW f AS INSERT INTO ghost BY NAME SELECT 1 AS x"));
    assert!(
        codes(&flow).contains(&"K0204") && flow[0].contains("f writes into ghost, which no file defines"),
        "{flow:?}"
    );
    let near = of_sql(
        "CREATE STREAMING TABLE ghosts; CREATE FLOW g AS INSERT INTO ghosts BY NAME SELECT * FROM STREAM s; CREATE FLOW f AS AUTO CDC INTO ghost FROM STREAM s KEYS (id) SEQUENCE BY ts",
    );
    assert_eq!(
        codes(&near),
        ["K0204", "K0302"].iter().filter(|code| codes(&near).contains(code)).copied().collect::<Vec<_>>()
    );
    assert!(near.iter().any(|line| line.ends_with("did you mean ghosts?")), "{near:?}");
}

#[test]
fn c037_names_that_run_refuses_are_warned_of() {
    let names = ["hy-phen", "with space", "目录", "größe_🚀", "مرحبا", "\u{e9}", "e\u{301}"];
    let sql: Vec<String> = names.iter().map(|name| format!("CREATE MATERIALIZED VIEW `{name}` AS SELECT 1;")).collect();
    let told = of_sql(&sql.join("\n"));
    assert_eq!(codes(&told), vec!["K0304"; names.len()], "{told:?}");
    // The two spellings of é are two names.
    assert_eq!(definitions(&[("t/a.sql", &sql.join("\n"))]).datasets.len(), names.len());
}

#[test]
fn c038_odd_names_are_names() {
    let long = "x".repeat(300);
    let names = [
        &*long,
        "2024_orders",
        "`2024`",
        "`end`",
        "`default`",
        "click",
        "graph",
        "subgraph",
        "style",
        "__proto__",
        "constructor",
        "toString",
        "`null`",
        "`true`",
    ];
    let sql: Vec<String> = names.iter().map(|name| format!("CREATE MATERIALIZED VIEW {name} AS SELECT 1;")).collect();
    let told = of_sql(&sql.join("\n"));
    assert_eq!(told, Vec::<String>::new());
    assert_eq!(definitions(&[("t/a.sql", &sql.join("\n"))]).datasets.len(), names.len());
    assert_eq!(codes(&of_sql("CREATE MATERIALIZED VIEW 2024 AS SELECT 1")).first(), Some(&"K0102"));
}

#[test]
fn c041_both_places_of_a_duplicate_are_told() {
    let check = |first: &str, second: &str, expected: &str| {
        let files: [(&str, &[u8]); 3] =
            [("spark-pipeline.yml", SPEC.as_bytes()), ("t/a.sql", first.as_bytes()), ("t/b.sql", second.as_bytes())];
        let checkup = checkup(&files);
        let finding = checkup.findings.iter().find(|finding| finding.code.to_string() == expected);
        let finding = finding.unwrap_or_else(|| panic!("{expected}: {:?}", told(&checkup)));
        let places = [&finding.span].into_iter().chain(finding.related.iter().map(|(span, _)| span));
        let files: std::collections::BTreeSet<_> = places.map(|span| &*checkup.files[span.file].path).collect();
        assert_eq!(files.into_iter().collect::<Vec<_>>(), ["t/a.sql", "t/b.sql"], "{first} {second}");
    };
    let table = "CREATE STREAMING TABLE t USING delta; CREATE FLOW f AS INSERT INTO t BY NAME SELECT * FROM STREAM s";
    check("CREATE MATERIALIZED VIEW dup AS SELECT 1", "CREATE MATERIALIZED VIEW dup AS SELECT 2", "K0201");
    check("CREATE MATERIALIZED VIEW x AS SELECT 1", "CREATE TEMPORARY VIEW x AS SELECT 2", "K0308");
    check(table, "CREATE MATERIALIZED VIEW f AS SELECT 1", "K0202");
    check("CREATE MATERIALIZED VIEW m AS SELECT 1", "CREATE FLOW g AS INSERT INTO m BY NAME SELECT 1", "K0206");
    check(table, "CREATE FLOW f AS INSERT INTO t BY NAME SELECT * FROM STREAM s2", "K0202");
}

#[test]
fn c042_names_with_too_many_parts_are_told() {
    let flow = of_sql("CREATE STREAMING TABLE t; CREATE FLOW my.flow AS INSERT INTO t BY NAME SELECT * FROM STREAM s");
    assert!(flow[0].starts_with("t/a.sql:1:39 K0109"), "{flow:?}");
    let view = of_sql(&format!("CREATE TEMPORARY VIEW db.tv AS SELECT 1; {SQL}"));
    assert!(view[0].starts_with("t/a.sql:1:23 K0109"), "{view:?}");
    let parts = of_sql("CREATE MATERIALIZED VIEW a.b.c.d AS SELECT 1");
    assert!(parts[0].starts_with("t/a.sql:1:26 K0104"), "{parts:?}");
}

#[test]
fn c043_nothing_to_run_is_explained() {
    let empty = of_sql("-- nothing\n/* at all */");
    assert_eq!(codes(&empty), ["K0212"], "{empty:?}");
    assert!(empty[0].starts_with("t/a.sql "), "{empty:?}");
    let view = of_sql("CREATE TEMPORARY VIEW v AS SELECT 1");
    assert_eq!(codes(&view), ["K0212", "K0306"], "{view:?}");
    let flow = of_sql("CREATE FLOW f AS INSERT INTO t BY NAME SELECT * FROM STREAM s");
    assert_eq!(codes(&flow), ["K0212", "K0204"], "{flow:?}");
    assert_eq!(codes(&of_sql("CREATE STREAMING TABLE lonely;")), ["K0205"]);
    assert_eq!(codes(&of_sql("CREATE MATERIALIZED VIEW o;")), ["K0107"]);
    // A view in the catalog is something to run.
    assert_eq!(of_sql("CREATE VIEW v AS SELECT 1"), Vec::<String>::new());
}

#[test]
fn c045_a_temporary_view_hides_a_table() {
    let sql = "CREATE MATERIALIZED VIEW shade AS SELECT 1; CREATE TEMPORARY VIEW shade AS SELECT 2; CREATE MATERIALIZED VIEW reader AS SELECT * FROM shade";
    assert_eq!(codes(&of_sql(sql)), ["K0308"]);
    let definitions = definitions(&[("t/a.sql", sql)]);
    let EdgeSource::Dataset(read) = definitions.edges[0].from else { panic!() };
    assert_eq!(definitions.datasets[read].kind, knut_model::DatasetKind::TemporaryView);
}

#[test]
fn c081_ctes_and_aliases_hide_datasets() {
    let src =
        ("t/s.sql", "CREATE MATERIALIZED VIEW src AS SELECT 1 AS z; CREATE MATERIALIZED VIEW al AS SELECT 1 AS z");
    let o = |query: &str| edges(&[src, ("t/t.sql", &format!("CREATE MATERIALIZED VIEW o AS {query}"))]);
    assert_eq!(o("WITH src AS (SELECT 7 AS z) SELECT z FROM src"), Vec::<String>::new());
    assert_eq!(o("WITH o AS (SELECT * FROM src) SELECT * FROM o"), ["src -> o"]);
    assert_eq!(o("SELECT al.z FROM src AS al"), ["src -> o"]);
    assert_eq!(o("WITH a AS (WITH src AS (SELECT 1 AS z) SELECT * FROM src) SELECT * FROM a JOIN src"), ["src -> o"]);
}

#[test]
fn c082_words_that_are_no_references_are_no_edges() {
    let others = ["ghost", "ghost2", "ghost3", "ghost4", "col", "a", "b", "range"];
    let others = others.map(|name| format!("CREATE MATERIALIZED VIEW {name} AS SELECT 1 AS id")).join(";");
    let query = "SELECT 'from ghost; join ghost2' AS s, col, a.b.c /* FROM ghost3 */ -- join ghost4\n FROM src CROSS JOIN range(3)";
    let sql = format!("CREATE MATERIALIZED VIEW src AS SELECT 1 AS col; CREATE MATERIALIZED VIEW o AS {query}");
    assert_eq!(edges(&[("t/a.sql", &others), ("t/b.sql", &sql)]), ["src -> o"]);
}

#[test]
fn c083_every_form_of_stream_is_one() {
    let sources = (
        "t/s.sql",
        "CREATE MATERIALIZED VIEW src AS SELECT 1 AS id; CREATE MATERIALIZED VIEW stream AS SELECT 1 AS id",
    );
    let o = |query: &str| edges(&[sources, ("t/t.sql", &format!("CREATE STREAMING TABLE o AS SELECT * FROM {query}"))]);
    for stream in
        ["STREAM src", "STREAM(src)", "STREAM(spark_catalog.default.src)", "STREAM src AS q", "STREAM default.src"]
    {
        assert_eq!(o(stream), ["src ~> o"], "{stream}");
    }
    assert_eq!(o("stream"), ["stream -> o"]);
    assert_eq!(o("STREAM src AS s JOIN `stream` AS b ON s.id = b.id"), ["src ~> o", "stream -> o"]);
}
