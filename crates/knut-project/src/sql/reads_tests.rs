//! What queries read, beyond the corpus: certainty, spans and refusals.

use super::*;

/// Each read with its text, `~` for a stream and `?` if inferred.
fn check(sql: &str, expected: &[&str]) {
    let found = query_reads(sql);
    let shown = found.reads.iter().map(|read| {
        let name = match &read.source {
            ReadSource::Name(name) => name.to_string(),
            ReadSource::TimeTravel(name) => format!("{name} of old"),
            ReadSource::Path { format, path } => format!("{format}:{path}"),
        };
        let stream = if read.is_streaming { "~" } else { "" };
        let inferred = if read.certainty == Certainty::Inferred { "?" } else { "" };
        format!("{stream}{name}{inferred} `{}`", &sql[read.span.clone()])
    });
    assert_eq!(shown.collect::<Vec<_>>(), expected, "{sql}");
}

fn refused(sql: &str) -> Vec<(RefusalReason, &str)> {
    query_reads(sql).refusals.into_iter().map(|refusal| (refusal.reason, &sql[refusal.span])).collect()
}

#[test]
fn reads_have_their_names_spans_and_certainty() {
    check("SELECT * FROM STREAM a.`b c` x, d", &["~a.`b c` `a.`b c``", "d `d`"]);
    check("SELECT * FROM STREAM(IDENTIFIER('é.f'))", &[]);
    check("SELECT * FROM IDENTIFIER('a.f') JOIN b", &["a.f `'a.f'`", "b `b`"]);
    check("SELECT * FROM a TIMESTAMP AS OF '2024-01-01', b", &["a of old `a`", "b `b`"]);
    check("SELECT * FROM a FOR VERSION AS OF f(1), b", &["a of old? `a`", "b? `b`"]);
    check("SELECT * FROM parquet.`/x`", &["parquet:/x `parquet.`/x``"]);
    check("SELECT id FROM a WHERE id >>> 1 > 2 AND x IN (SELECT y FROM b)", &["a? `a`", "b? `b`"]);
    check("WITH a AS (SELECT * FROM b) SELECT a >>> 1 FROM a JOIN c", &["b? `b`", "c? `c`"]);
}

#[test]
fn a_computed_name_leaves_the_reads_incomplete() {
    assert!(!query_reads("SELECT * FROM IDENTIFIER('a' || 'b')").is_complete);
    assert!(query_reads("SELECT IDENTIFIER('a' || 'b') FROM c").is_complete);
}

#[test]
fn what_no_query_can_be_is_refused() {
    let syntax = |found: &str, wanted| RefusalReason::Syntax { found: found.to_owned(), wanted };
    assert_eq!(refused(""), [(syntax("", "a query"), "")]);
    assert_eq!(refused("SELEC 1"), [(syntax("SELEC", "a query"), "SELEC")]);
    assert_eq!(refused("SELECT (1"), [(RefusalReason::Unclosed, "(")]);
    assert_eq!(refused("SELECT 1)"), [(syntax(")", "no such bracket"), ")")]);
    assert_eq!(refused("SELECT 'a"), [(RefusalReason::Unclosed, "'a")]);
    assert_eq!(refused("SELECT größe"), [(RefusalReason::NeedsBackticks("größe".to_owned()), "größe")]);
    assert_eq!(refused("SELECT ‘a"), [(RefusalReason::StrayCharacter("‘".to_owned()), "‘")]);
}

#[test]
fn what_only_databricks_has_is_refused_late() {
    let file_function = RefusalReason::FileFunction("read_files".to_owned());
    assert_eq!(refused("SELECT * FROM STREAM read_files('/x')"), [(file_function.clone(), "read_files")]);
    assert_eq!(refused("SELECT * FROM STREAM(READ_FILES('/x'))"), [(file_function, "READ_FILES")]);
    assert_eq!(refused("SELECT * FROM STREAM csv.`/x`"), [(RefusalReason::StreamOfFiles, "csv.`/x`")]);
    assert_eq!(refused("SELECT * FROM a.b.c.d"), [(RefusalReason::ReadOfManyParts, "a.b.c.d")]);
    assert!(query_reads("SELECT * FROM a.b.c.d").refusals.iter().all(SqlRefusal::is_late));
}
