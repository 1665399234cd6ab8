//! Where files are cut, and where the server's places lie in them.

use proptest::prelude::*;

use super::*;

fn check(text: &str, expected: &[&str]) {
    let chunks = split_sql(text);
    let statements: Vec<&str> =
        chunks.iter().filter(|chunk| chunk.is_statement).map(|chunk| &text[chunk.range.clone()]).collect();
    assert_eq!(statements, expected, "{text:?}");
}

#[test]
fn semicolons_in_strings_names_and_comments_do_not_cut() {
    check("a; b ;c", &["a", " b ", "c"]);
    check("'a;b' ; \"c;d\"; `e;f`", &["'a;b' ", " \"c;d\"", " `e;f`"]);
    check(r"'it\';s'; b", &[r"'it\';s'", " b"]);
    check("'a'';b'; c", &["'a'';b'", " c"]);
    check("a -- b;c\n; d", &["a -- b;c\n", " d"]);
    check("a /* b; /* c; */ d; */ e; f", &["a /* b; /* c; */ d; */ e", " f"]);
    check("a\r\n;\r\nb", &["a\r\n", "\r\nb"]);
}

#[test]
fn blanks_and_comments_are_no_statements() {
    check("", &[]);
    check(";; ;\n;", &[]);
    check("-- only; this", &[]);
    check("/* a */ ; a; -- b\n", &[" a"]);
    check("a; /* not closed", &["a", " /* not closed"]);
    check("a;\u{A0}", &["a", "\u{A0}"]);
    check("x;", &["x"]);
}

/// Observed: the server cuts before it parses, and knows no raw strings when it cuts.
#[test]
fn a_raw_string_that_ends_in_a_backslash_swallows_the_semicolon() {
    check(r"SELECT r'\'; SELECT 2", &[r"SELECT r'\'; SELECT 2"]);
    check(r"SELECT r'a\\'; SELECT 2", &[r"SELECT r'a\\'", " SELECT 2"]);
}

/// The recorded runs of the projects `bad` and `late`: what the server said, and where it is.
#[test]
fn a_reported_place_is_counted_from_the_semicolon_before() {
    let bad = "CREATE MATERIALIZED VIEW src AS SELECT id, cast(id as string) AS s FROM range(100);\n\n\
        CREATE MATERIALIZED VIEW boom AS\nSELECT id, 1 / (id - 50) AS x\nFROM src;\n";
    let late = "-- header comment; with semicolon\nCREATE MATERIALIZED VIEW l1 AS SELECT id FROM range(10);\n\
        CREATE MATERIALIZED VIEW l2 AS SELECT id FROM l1;\n\n-- another\nCREATE MATERIALIZED VIEW l3 AS\nSELECT\n  \
        1 / (id - 5) AS x\nFROM l2;\n";
    let same_line = "CREATE MATERIALIZED VIEW é AS SELECT 1; APPLY CHANGES INTO t";
    for (text, statement, reported, place, found) in [
        (bad, 1, (4, 12), (4, 12), "1 / (id - 50)"),
        (late, 2, (6, 3), (8, 3), "1 / (id - 5)"),
        // `(line 1, pos 1)`
        (same_line, 1, (1, 2), (1, 41), "APPLY CHANGES"),
        (same_line, 0, (1, 1), (1, 1), "CREATE"),
    ] {
        let chunks = split_sql(text);
        let mapped = chunks[statement].place_in_file(TextPlace { line: reported.0, column: reported.1 });
        assert_eq!((mapped.line, mapped.column), place, "{text}");
        let line = text.lines().nth(mapped.line as usize - 1).unwrap();
        let tail: String = line.chars().skip(mapped.column as usize - 1).collect();
        assert!(tail.starts_with(found), "{tail}");
    }
}

/// The recording itself says what the test above takes from it.
#[test]
fn the_recordings_report_those_places() {
    let recordings = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/fixtures/recordings");
    for (file, place) in [("bad.jsonl", "(line 4, position 12)"), ("late.jsonl", "(line 6, position 3)")] {
        let text = std::fs::read_to_string(recordings.join(file)).unwrap();
        assert!(text.contains(place), "{file}");
    }
}

proptest! {
    #[test]
    fn chunks_joined_give_the_file_back(text in "[ab;'\"`\\-/*\r\n é漢\u{A0}]{0,80}|\\PC{0,80}") {
        let chunks = split_sql(&text);
        let parts: Vec<&str> = chunks.iter().map(|chunk| text.get(chunk.range.clone()).unwrap()).collect();
        prop_assert_eq!(parts.join(";"), text);
    }
}
