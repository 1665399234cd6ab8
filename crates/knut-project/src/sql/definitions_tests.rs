//! Who reads whom, over whole projects.

use super::*;

fn read(files: &[&str]) -> SqlDefinitions {
    let named = files
        .iter()
        .enumerate()
        .map(|(index, text)| SqlFile { path: format!("{index}.sql"), text: (*text).to_owned() });
    let context = SqlContext { catalog: Some("c".to_owned()), database: Some("d".to_owned()), ..SqlContext::default() };
    SqlDefinitions::read(&named.collect::<Vec<_>>(), &context)
}

/// Each edge as `from -> flow`; a `~` marks streams, a `!` what no file defines.
fn edges(definitions: &SqlDefinitions) -> Vec<String> {
    let shown = definitions.edges.iter().map(|edge| {
        let from = match &edge.from {
            EdgeSource::Dataset(index) => definitions.datasets[*index].name.to_string(),
            EdgeSource::External { name, differs_in_case: None } => format!("!{name}"),
            EdgeSource::External { name, differs_in_case: Some(index) } => {
                format!("!{name} (not {})", definitions.datasets[*index].name)
            }
            EdgeSource::Files { format, path } => format!("{format}:{path}"),
        };
        let arrow = if edge.is_streaming { "~>" } else { "->" };
        format!("{from} {arrow} {}", definitions.flows[edge.flow].name)
    });
    shown.collect()
}

fn check(files: &[&str], expected: &[&str]) {
    assert_eq!(edges(&read(files)), expected, "{files:?}");
}

/// C030: `USE` and `SET` act for the rest of their file only.
#[test]
fn use_and_set_act_for_the_rest_of_the_file() {
    let first = "CREATE MATERIALIZED VIEW before AS SELECT 1; SET a = 1; USE DATABASE other;\n\
        CREATE MATERIALIZED VIEW m AS SELECT * FROM before, x; SET b = 2;\nCREATE MATERIALIZED VIEW n AS SELECT * FROM d.before;\
        USE DATABASE e.f; CREATE MATERIALIZED VIEW o AS SELECT * FROM m";
    let definitions = read(&[first, "CREATE MATERIALIZED VIEW p AS SELECT * FROM before, other.m"]);
    assert_eq!(
        edges(&definitions),
        [
            "!c.other.before -> c.other.m",
            "!c.other.x -> c.other.m",
            "c.d.before -> c.other.n",
            "!e.f.m -> e.f.o",
            "c.d.before -> c.d.p",
            "c.other.m -> c.d.p",
        ]
    );
    let confs: Vec<usize> = definitions.flows.iter().map(|flow| flow.sql_conf.len()).collect();
    assert_eq!(confs, [0, 1, 2, 2, 0]);
}

#[test]
fn after_set_catalog_there_is_no_database() {
    let definitions =
        read(&["SET CATALOG x; CREATE TEMPORARY VIEW v AS SELECT 1; CREATE MATERIALIZED VIEW d.m AS SELECT 1;\
        CREATE MATERIALIZED VIEW n AS SELECT 1; USE DATABASE y; CREATE MATERIALIZED VIEW o AS SELECT 1"]);
    let refused: Vec<bool> = definitions.files[0].statements.iter().map(|one| !one.refusals.is_empty()).collect();
    assert_eq!(refused, [false, false, false, true, false, false]);
    assert_eq!(definitions.datasets[3].name.to_string(), "x.y.o");
}

/// C045, and what a qualified name does about it.
#[test]
fn a_temporary_view_shadows_a_table_of_the_same_name() {
    check(
        &["CREATE MATERIALIZED VIEW shade AS SELECT 1; CREATE TEMPORARY VIEW shade AS SELECT * FROM d.shade;\
           CREATE MATERIALIZED VIEW reader AS SELECT * FROM shade JOIN d.shade"],
        &["c.d.shade -> shade", "shade -> c.d.reader", "c.d.shade -> c.d.reader"],
    );
}

/// Observed: the server finds no dataset whose name differs in case.
#[test]
fn upper_and_lower_case_count() {
    check(
        &["CREATE MATERIALIZED VIEW Foo AS SELECT 1; CREATE TEMPORARY VIEW Bar AS SELECT 1;\
           CREATE MATERIALIZED VIEW r AS SELECT * FROM foo, bar, Foo"],
        &["!c.d.foo (not c.d.Foo) -> c.d.r", "!c.d.bar (not Bar) -> c.d.r", "c.d.Foo -> c.d.r"],
    );
}

/// C023, C032: forward references over files, and targets that no file defines.
#[test]
fn files_see_each_other_and_missing_targets_are_told() {
    let definitions = read(&[
        "CREATE STREAMING TABLE t; CREATE FLOW f AS INSERT INTO t BY NAME SELECT * FROM STREAM s",
        "CREATE STREAMING TABLE s AS SELECT * FROM STREAM outside; CREATE FLOW g AS INSERT INTO ghost BY NAME SELECT * FROM t",
        "CREATE STREAMING TABLE u FLOW AUTO CDC FROM STREAM(t) KEYS (a) SEQUENCE BY b",
    ]);
    assert_eq!(edges(&definitions), ["c.d.s ~> c.d.f", "!c.d.outside ~> c.d.s", "c.d.t -> c.d.g", "c.d.t ~> c.d.u",]);
    let targets: Vec<Option<usize>> = definitions.flows.iter().map(|flow| flow.target_dataset).collect();
    assert_eq!(targets, [Some(0), Some(1), None, Some(2)]);
}

/// C041: both places of a duplicate are kept.
#[test]
fn definitions_have_their_places() {
    let definitions = read(&[
        "-- é\nCREATE MATERIALIZED VIEW dup AS SELECT 1;",
        "\n  CREATE MATERIALIZED VIEW `dup` AS\n SELECT * FROM x",
    ]);
    let places = definitions.datasets.iter().map(|dataset| {
        let FilePlace { file, place } = &dataset.place;
        format!("{} {file}:{}:{}", dataset.name, place.line, place.column)
    });
    assert_eq!(places.collect::<Vec<_>>(), ["c.d.dup 0.sql:2:26", "c.d.dup 1.sql:2:28"]);
    let place = &definitions.edges[0].place;
    assert_eq!((&*place.file, place.place.line, place.place.column), ("1.sql", 3, 16));
}

#[test]
fn unknown_defaults_are_taken_to_be_sparks() {
    let text = "CREATE MATERIALIZED VIEW a AS SELECT 1; CREATE MATERIALIZED VIEW b AS SELECT * FROM default.a, spark_catalog.default.a";
    let file = SqlFile { path: "x.sql".to_owned(), text: text.to_owned() };
    let view = (Identifier::parse("raw").unwrap(), FilePlace::new("knut.toml", TextPlace { line: 1, column: 1 }));
    let context = SqlContext { temporary_views: vec![view], ..SqlContext::default() };
    assert_eq!(edges(&SqlDefinitions::read(&[file], &context)), ["a -> b", "a -> b"]);
}
