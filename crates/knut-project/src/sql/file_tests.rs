//! What statements say, and why they are refused.

use std::collections::BTreeMap;

use knut_model::DatasetKind;

use super::*;
use crate::sql::statement::{ColumnChoice, SqlColumn, SqlDataset, SqlFill, SqlFlow, Verdict};

fn one(sql: &str) -> SqlStatement {
    let mut statements = read_sql(sql);
    assert_eq!(statements.len(), 1, "{sql}");
    statements.remove(0)
}

fn dataset(sql: &str) -> SqlDataset {
    match one(sql).content {
        SqlContent::Dataset(dataset) => dataset,
        other => panic!("{sql}: {other:?}"),
    }
}

fn flow(sql: &str) -> SqlFlow {
    match one(sql).content {
        SqlContent::Flow(flow) => flow,
        other => panic!("{sql}: {other:?}"),
    }
}

fn names(columns: &[SqlColumn]) -> Vec<&str> {
    columns.iter().map(|column| &*column.name).collect()
}

#[test]
fn a_table_has_all_its_clauses() {
    let sql = "-- first\nCREATE STREAMING TABLE IF NOT EXISTS c.d.`my t` (a INT, b MAP<STRING, INT> COMMENT 'x') USING delta\n\
        PARTITIONED BY (a, `b c`) COMMENT 'it''s' 'one' TBLPROPERTIES ('k' = 'v', a.b = 1, c true)\n AS SELECT * FROM STREAM s";
    let statement = one(sql);
    assert_eq!((statement.start.line, statement.start.column), (2, 1));
    assert_eq!(statement.verdict(), Verdict::Accepted);
    let table = dataset(sql);
    assert_eq!(table.kind, DatasetKind::StreamingTable);
    let name = table.name.unwrap();
    assert_eq!((name.identifier.to_string().as_str(), &sql[name.span]), ("c.d.`my t`", "c.d.`my t`"));
    assert!(table.if_not_exists);
    assert_eq!(&sql[table.columns.unwrap()], "a INT, b MAP<STRING, INT> COMMENT 'x'");
    assert_eq!(table.format.as_deref(), Some("delta"));
    assert_eq!(names(&table.declared_columns), ["a", "b"]);
    assert_eq!(names(&table.partition_columns), ["a", "b c"]);
    assert_eq!(&sql[table.partition_columns[1].span.clone()], "`b c`");
    assert_eq!(table.comment.as_deref(), Some("it'sone"));
    let properties = [("k", "v"), ("a.b", "1"), ("c", "true")].map(|(key, value)| (key.to_owned(), value.to_owned()));
    assert_eq!(table.properties, BTreeMap::from(properties));
    assert_eq!(&sql[table.fill.unwrap().query().range.clone()], "SELECT * FROM STREAM s");
    assert_eq!(names(&dataset("CREATE STREAMING TABLE t CLUSTER BY (a, b)").clustering_columns), ["a", "b"]);
}

#[test]
fn views_have_their_kinds() {
    for (sql, kind) in [
        ("CREATE MATERIALIZED VIEW v AS SELECT 1", DatasetKind::MaterializedView),
        ("create or replace global temp view v (a comment 'x') comment 'y' as select 1", DatasetKind::TemporaryView),
        ("CREATE VIEW v AS SELECT 1", DatasetKind::PersistedView),
    ] {
        assert_eq!(dataset(sql).kind, kind, "{sql}");
    }
}

#[test]
fn changes_have_all_their_clauses() {
    let sql = "CREATE FLOW f COMMENT 'c' AS AUTO CDC INTO d.t FROM STREAM(s) AS q KEYS (a, `b c`)\n\
        APPLY AS DELETE WHEN op = 'D' AND x SEQUENCE BY struct(ts, n) COLUMNS * EXCEPT (op) STORED AS SCD TYPE 2\n\
        TRACK HISTORY ON (d)";
    assert_eq!(one(sql).verdict(), Verdict::Accepted);
    let flow = flow(sql);
    assert_eq!(flow.target.unwrap().identifier.to_string(), "d.t");
    let SqlFill::AutoCdc(changes) = flow.fill else { panic!() };
    assert_eq!(&sql[changes.source.range.clone()], "STREAM(s)");
    assert!(changes.source.reads.reads[0].is_streaming);
    assert_eq!(&sql[changes.source.reads.reads[0].span.clone()], "s");
    assert_eq!(changes.keys, ["a", "b c"]);
    assert_eq!(&sql[changes.apply_as_deletes.unwrap()], "op = 'D' AND x");
    assert_eq!(&sql[changes.sequence_by.unwrap()], "struct(ts, n)");
    assert_eq!(changes.columns, Some(ColumnChoice::Except(vec!["op".to_owned()])));
    assert_eq!(changes.scd_type, 2);
    assert_eq!(changes.track_history, Some(ColumnChoice::Only(vec!["d".to_owned()])));
}

#[test]
fn state_is_read() {
    let conf = |key: &str, value: &str| SqlContent::SetConf { key: key.to_owned(), value: value.to_owned() };
    let text = |value: &str| Some(value.to_owned());
    for (sql, content) in [
        ("SET a.b = hello, it's me", conf("a.b", "hello, it's me")),
        ("SET a = b -- c\n", conf("a", "b -- c")),
        ("SET a = /* x */ b /* c */ ", conf("a", "/* x */ b /* c */")),
        ("SET a = `b` -- c", conf("a", "b")),
        ("SET `a b`=c", conf("a b", "c")),
        ("SET a = `b c`", conf("a", "b c")),
        ("SET a =", conf("a", "")),
        ("SET TIME ZONE 'UTC'", conf("spark.sql.session.timeZone", "UTC")),
        ("SET CATALOG `c d`", SqlContent::SetCatalog { catalog: text("c d") }),
        ("SET CATALOG 'c'", SqlContent::SetCatalog { catalog: text("c") }),
        ("SET CATALOG lower('C')", SqlContent::SetCatalog { catalog: None }),
        ("USE SCHEMA d", SqlContent::UseDatabase { catalog: None, database: text("d") }),
        ("USE DATABASE c.d", SqlContent::UseDatabase { catalog: text("c"), database: text("d") }),
    ] {
        assert_eq!(one(sql).content, content, "{sql}");
    }
}

/// What people bring from Databricks, and what else is refused, each with its reason and place.
#[test]
fn refusals_say_why_and_where() {
    use RefusalReason as R;
    let definition = |words: &str| R::NotADefinition(words.to_owned());
    for (sql, reason, span) in [
        ("CREATE OR REFRESH STREAMING TABLE t AS SELECT * FROM STREAM s", R::OrRefresh, "OR REFRESH"),
        ("CREATE OR REPLACE MATERIALIZED VIEW t AS SELECT 1", R::OrReplace, "OR REPLACE"),
        ("CREATE LIVE TABLE t AS SELECT 1", R::Live, "LIVE"),
        ("CREATE STREAMING LIVE TABLE t AS SELECT 1", R::Live, "LIVE"),
        ("CREATE TEMPORARY LIVE VIEW t AS SELECT 1", R::Live, "LIVE"),
        ("APPLY CHANGES INTO t FROM STREAM s KEYS (a) SEQUENCE BY b", R::ApplyChanges, "APPLY"),
        (
            "CREATE STREAMING TABLE t (a INT, CONSTRAINT c EXPECT (a > 0) ON VIOLATION DROP ROW)",
            R::Expectation,
            "EXPECT",
        ),
        ("CREATE STREAMING TABLE t (a INT, PRIMARY KEY (a))", R::Constraint, "PRIMARY"),
        ("CREATE SINK s USING kafka", R::Sink, "SINK"),
        ("USE c.d", R::UseWithoutKind, "USE c.d"),
        ("USE CATALOG c", R::UseWithoutKind, "USE CATALOG c"),
        ("CREATE FLOW f AS INSERT INTO t SELECT 1", R::NotByName, "INSERT INTO t"),
        ("CREATE FLOW f AS INSERT INTO t (a) SELECT 1", R::FlowTargetDetails, "("),
        ("CREATE FLOW a.f AS INSERT INTO t BY NAME SELECT 1", R::MultipartFlowName, "a.f"),
        ("CREATE TEMPORARY VIEW d.v AS SELECT 1", R::QualifiedTemporaryView, "d.v"),
        ("CREATE MATERIALIZED VIEW a.b.c.d AS SELECT 1", R::TooManyNameParts, "a.b.c.d"),
        ("CREATE MATERIALIZED VIEW hy-phen AS SELECT 1", R::NeedsBackticks("hy-phen".to_owned()), "hy-phen"),
        ("CREATE MATERIALIZED VIEW m (a INT)", R::NoQuery, "m"),
        ("CREATE FLOW f AS AUTO CDC INTO t FROM s KEYS (a) SEQUENCE BY b", R::CdcFromBatch, "s"),
        ("CREATE TABLE t (a INT)", definition("CREATE TABLE"), "CREATE TABLE"),
        ("insert INTO t SELECT 1", definition("INSERT"), "insert"),
        ("SET a", R::SetWithoutValue, "a"),
        ("CREATE VIEW v\u{200B} AS SELECT 1", R::StrayCharacter("\u{200B}".to_owned()), "\u{200B}"),
    ] {
        let statement = one(sql);
        let Verdict::Refused(refusal) = statement.verdict() else { panic!("{sql}") };
        assert_eq!((&refusal.reason, &sql[refusal.span.clone()]), (&reason, span), "{sql}");
    }
}

/// What can be read of a refused definition is: other files may read the dataset.
#[test]
fn a_refused_definition_still_defines() {
    assert_eq!(dataset("CREATE OR REFRESH STREAMING TABLE t AS SELECT 1").name.unwrap().identifier.name(), "t");
    assert_eq!(flow("CREATE FLOW f AS INSERT INTO t SELECT 1").target.unwrap().identifier.name(), "t");
}

/// Observed: the server said `Query defined at f0.sql:3` of the statement on line 4.
#[test]
fn the_servers_line_forgets_empty_statements() {
    let statements = read_sql(";;\n;\nCREATE MATERIALIZED VIEW t AS SELECT 1 AS a;\nDROP TABLE q");
    let lines: Vec<_> =
        statements.iter().map(|statement| (statement.start.line, statement.line_told_by_server)).collect();
    assert_eq!(lines, [(3, 1), (4, 3)]);
}

/// Observed with Spark's own parser: the dot before a word is one of a name, whatever the word begins with.
#[test]
fn parts_of_names_may_begin_with_digits() {
    for sql in ["CREATE MATERIALIZED VIEW db.2024_orders AS SELECT 1 AS x", "USE DATABASE c.2024_db"] {
        assert_eq!(one(sql).verdict(), Verdict::Accepted, "{sql}");
    }
    let found = crate::query_reads("SELECT * FROM db.2024_orders WHERE x > .5");
    assert_eq!(found.reads.len(), 1, "{found:?}");
    assert!(matches!(&found.reads[0].source, crate::ReadSource::Name(name) if name.parts() == ["db", "2024_orders"]));
}

/// Spark puts confs in the place of `${…}` before it parses.
#[test]
fn a_text_that_spark_fills_in_is_undecided() {
    for sql in ["CREATE MATERIALIZED VIEW ${env}_a AS SELECT 1 AS x", "${whole}", "CREATE MATERIALIZED VIEW a AS ${q}"]
    {
        assert_eq!(one(sql).verdict(), Verdict::Undecided, "{sql}");
    }
}

/// Spark's own parser takes these; what they mean is the server's to say.
#[test]
fn what_is_seldom_written_is_undecided_and_not_refused() {
    for sql in [
        "CREATE STREAMING TABLE t (a TIMESTAMP WITHOUT TIME ZONE, b TIMESTAMP(6) WITH LOCAL TIME ZONE, c TIME(3) WITHOUT TIME ZONE)",
        "CREATE STREAMING TABLE t (a STRUCT<>)",
        "CREATE STREAMING TABLE t (a STRING COLLATE system.builtin.UNICODE)",
        "CREATE FLOW f AS INSERT INTO t WITH ('a' = 'b') BY NAME SELECT * FROM STREAM s",
        "CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (IDENTIFIER('a')) SEQUENCE BY b",
    ] {
        assert_eq!(one(sql).verdict(), Verdict::Undecided, "{sql}");
    }
}
