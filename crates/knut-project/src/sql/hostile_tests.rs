//! Any text is read, in time that grows with its length, without overflowing the stack.

use std::time::Instant;

use crate::sql::{QueryReads, SqlContent, SqlContext, SqlDefinitions, SqlFill, query_reads, read_sql, split_sql};
use knut_model::SqlFile;
use proptest::prelude::*;

/// Pieces of SQL; what is put together from them gets further into the readers than random text.
const PIECES: [&str; 72] = [
    "CREATE",
    "OR",
    "REPLACE",
    "REFRESH",
    "MATERIALIZED",
    "VIEW",
    "STREAMING",
    "TABLE",
    "TEMPORARY",
    "FLOW",
    "AS",
    "SELECT",
    "*",
    "FROM",
    "JOIN",
    "ON",
    "WITH",
    "RECURSIVE",
    "STREAM",
    "(",
    ")",
    "[",
    "]",
    "<",
    ">",
    ",",
    ".",
    ";",
    "'a'",
    "'",
    "\"",
    "`",
    "`b c`",
    "a",
    "b",
    "é",
    "1",
    "1.5e3",
    "=",
    "-",
    "--",
    "/*",
    "*/",
    "/*+",
    "\n",
    "\r\n",
    "\\",
    "r'",
    "IDENTIFIER",
    "SET",
    "USE",
    "DATABASE",
    "CATALOG",
    "TIME",
    "ZONE",
    "AUTO",
    "CDC",
    "INTO",
    "KEYS",
    "SEQUENCE",
    "BY",
    "COLUMNS",
    "EXCEPT",
    "VALUES",
    "UNION",
    "TBLPROPERTIES",
    "PARTITIONED",
    "COMMENT",
    "INSERT",
    "NAME",
    "|>",
    "\u{FEFF}",
];

fn sql() -> impl Strategy<Value = String> {
    let pieces = prop::collection::vec(prop::sample::select(&PIECES[..]), 0..60);
    prop_oneof![
        pieces.clone().prop_map(|pieces| pieces.join(" ")),
        pieces.clone().prop_map(|pieces| pieces.concat()),
        pieces.prop_map(|pieces| format!("CREATE MATERIALIZED VIEW m AS SELECT {}", pieces.join(" "))),
        any::<String>(),
        prop::collection::vec(any::<u8>(), 0..80).prop_map(|bytes| String::from_utf8_lossy(&bytes).into_owned()),
    ]
}

/// Every range must be a piece of the text.
fn check_reads(text: &str, reads: &QueryReads) {
    for read in &reads.reads {
        assert!(text.get(read.span.clone()).is_some_and(|name| !name.is_empty()), "{text:?} {read:?}");
    }
    for refusal in &reads.refusals {
        assert!(text.get(refusal.span.clone()).is_some(), "{text:?} {refusal:?}");
    }
}

fn check(text: &str) {
    for statement in read_sql(text) {
        assert!(text.get(statement.range.clone()).is_some(), "{text:?} {statement:?}");
        assert!(statement.chunk.range.start <= statement.range.start, "{text:?}");
        for refusal in &statement.refusals {
            assert!(text.get(refusal.span.clone()).is_some(), "{text:?} {refusal:?}");
            assert!(!refusal.message().is_empty());
            refusal.help();
        }
        let fill = match &statement.content {
            SqlContent::Dataset(dataset) => dataset.fill.as_ref(),
            SqlContent::Flow(flow) => Some(&flow.fill),
            _ => None,
        };
        if let Some(fill) = fill {
            assert!(text.get(fill.query().range.clone()).is_some(), "{text:?}");
            check_reads(text, &fill.query().reads);
            if let SqlFill::AutoCdc(changes) = fill {
                let ranges = changes.sequence_by.iter().chain(&changes.apply_as_deletes);
                ranges.for_each(|range| assert!(text.get(range.clone()).is_some(), "{text:?}"));
            }
        }
    }
    check_reads(text, &query_reads(text));
    let file = SqlFile { path: "x.sql".to_owned(), text: text.to_owned() };
    let definitions = SqlDefinitions::read(&[file.clone(), file], &SqlContext::default());
    for edge in &definitions.edges {
        assert!(edge.flow < definitions.flows.len());
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_text_is_read(text in sql()) {
        check(&text);
    }

    #[test]
    fn chunks_joined_give_the_file_back(text in sql()) {
        let chunks = split_sql(&text);
        let parts: Vec<&str> = chunks.iter().map(|chunk| &text[chunk.range.clone()]).collect();
        prop_assert_eq!(parts.join(";"), text);
    }
}

/// Texts that nest, repeat or mislead; about `n` pieces each.
fn hostile(n: usize) -> Vec<(&'static str, String)> {
    let around = |open: &str, inner: &str, close: &str| format!("{}{inner}{}", open.repeat(n), close.repeat(n));
    let select = |what: String| format!("CREATE MATERIALIZED VIEW m AS SELECT {what} FROM a");
    vec![
        ("parentheses", select(around("(", "1", ")"))),
        ("calls", select(around("f(", "1", ")"))),
        ("brackets", select(around("a[", "1", "]"))),
        ("open parentheses", "SELECT ".to_owned() + &"(".repeat(n)),
        ("relations", format!("SELECT * FROM {}", around("(", "a", ")"))),
        ("open relations", format!("SELECT * FROM {}", "(".repeat(n))),
        ("subqueries", around("SELECT * FROM (", "SELECT 1", ") x")),
        ("open subqueries", "SELECT * FROM (".repeat(n)),
        ("common tables", format!("{} SELECT 1", around("WITH a AS (", "SELECT 1", ")"))),
        ("many common tables", format!("WITH {} SELECT 1", vec!["a AS (SELECT 1)"; n].join(","))),
        ("sum", select("1 + ".repeat(n) + "1")),
        ("and", select("a AND ".repeat(n) + "b")),
        ("concatenation", select("'a' || ".repeat(n) + "'b'")),
        ("not", select("NOT ".repeat(n) + "a")),
        ("minus", select("- ".repeat(n) + "1")),
        ("cast", select("1".to_owned() + &" :: int".repeat(n))),
        ("is null", select("1".to_owned() + &" IS NULL".repeat(n))),
        ("is true", select("1".to_owned() + &" IS NOT TRUE".repeat(n))),
        ("case", select("CASE WHEN ".repeat(n) + "1" + &" THEN 1 END".repeat(n))),
        ("lambda", select("x -> ".repeat(n) + "1")),
        ("members", select("a".to_owned() + &".b".repeat(n))),
        ("unions", "SELECT 1 UNION ALL ".repeat(n) + "SELECT 1"),
        ("set operations in parentheses", around("(SELECT 1) UNION (", "SELECT 1", ")")),
        ("joins", "SELECT * FROM a".to_owned() + &" JOIN a ON 1 = 1".repeat(n)),
        ("pipes", "FROM a".to_owned() + &" |> WHERE a".repeat(n)),
        ("types", format!("CREATE STREAMING TABLE t (a {})", around("ARRAY<", "INT", ">"))),
        ("casts to types", select(format!("CAST(a AS {})", around("ARRAY<", "INT", ">")))),
        ("intervals", select("INTERVAL ".repeat(n) + "1 DAY")),
        ("select", "SELECT ".repeat(n)),
        ("stream", "SELECT * FROM ".to_owned() + &"STREAM ".repeat(n)),
        ("stream calls", format!("SELECT * FROM {}", around("STREAM(", "a", ")"))),
        ("laterals", "SELECT * FROM a".to_owned() + &" LATERAL VIEW explode(b) t AS c".repeat(n)),
        ("table arguments", format!("SELECT * FROM {}", around("f(TABLE(", "a", "))"))),
        ("values", format!("VALUES {}", vec!["(1)"; n].join(","))),
        ("list", select(format!("a IN ({})", vec!["1"; n].join(",")))),
        ("quotes", "'".repeat(n)),
        ("backticks", "`".repeat(n)),
        ("semicolons", ";".repeat(n)),
        ("one line of statements", "SET a = 1;".repeat(n)),
        ("one line of definitions", "CREATE VIEW v AS SELECT 1 FROM a;".repeat(n)),
        ("confs and flows", "SET a = 1; CREATE VIEW v AS SELECT 1;".repeat(n)),
        ("comments", "/*".repeat(n)),
        ("closed comments", around("/*", "", "*/")),
        ("line comments", "--".repeat(n)),
        ("carried comments", "-- \\\n".repeat(n)),
        ("hints", "SELECT ".to_owned() + &"/*+ a */ ".repeat(n) + "1"),
        ("open hints", "/*+ ".repeat(n)),
        ("dots", "CREATE VIEW a".to_owned() + &".a".repeat(n)),
        ("properties", format!("CREATE VIEW v TBLPROPERTIES ({}) AS SELECT 1", vec!["a = 1"; n].join(","))),
        ("columns", format!("CREATE STREAMING TABLE t ({})", vec!["a INT"; n].join(","))),
        ("clauses", format!("CREATE STREAMING TABLE t {}", "COMMENT 'a' ".repeat(n))),
        (
            "cdc clauses",
            format!("CREATE FLOW f AS AUTO CDC INTO t FROM STREAM s KEYS (a) {}", "SEQUENCE BY a ".repeat(n)),
        ),
        ("escapes", format!("'{}'", "\\'".repeat(n))),
        ("from", "SELECT * ".to_owned() + &"FROM ".repeat(n)),
        ("exists", "SELECT 1 WHERE ".to_owned() + &around("EXISTS (SELECT 1 WHERE ", "a", ")")),
        ("between", select("1 BETWEEN ".repeat(n) + "1")),
        ("windows", select(around("sum(a) OVER (PARTITION BY ", "1", ")"))),
        ("structs", select(around("struct<a:", "int", ">"))),
    ]
}

#[test]
fn deep_and_long_texts_are_read() {
    // Around the limits of depth and of operators.
    for n in [30, 39, 41, 100, 390] {
        for (_, text) in hostile(n) {
            check(&text);
        }
    }
}

/// Four times the text takes about four times the time, and not sixteen times.
#[test]
fn long_texts_are_read_in_linear_time() {
    let took = |text: &str| {
        let start = Instant::now();
        check(text);
        start.elapsed().as_secs_f64()
    };
    for ((name, short), (_, long)) in hostile(2_500).into_iter().zip(hostile(10_000)) {
        let (mut of_short, mut of_long) = (took(&short), took(&long));
        // Other work on the machine only makes it longer, so the shortest of some tries counts.
        for _ in 0..4 {
            if of_long > 9.0 * of_short {
                (of_short, of_long) = (of_short.max(took(&short)), of_long.min(took(&long)));
            }
        }
        // What takes next to no time says nothing.
        assert!(of_long < 0.05 || of_long <= 9.0 * of_short, "{name}: {of_short} s, {of_long} s");
    }
}
