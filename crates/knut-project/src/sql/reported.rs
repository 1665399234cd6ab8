//! Places in statements, as the server's messages tell them.

use crate::sql::split::{SqlChunk, TextPlace};

/// The first place that a message of the server tells, counted within a statement.
///
/// [`SqlChunk::place_in_file`] turns it into one of the file. The server writes `line 2 pos 7` and
/// `(line 2, pos 7)` with columns from 0, and `(line 2, position 8)` with columns from 1.
/// Source: Spark 4.3, `Origin`, `SQLQueryContext` and `ParseException`.
pub fn reported_place(message: &str) -> Option<TextPlace> {
    message.match_indices("line ").find_map(|(at, word)| {
        let (line, rest) = number(&message[at + word.len()..])?;
        let rest = rest.strip_prefix(',').unwrap_or(rest);
        let (column, is_from_one) = match rest.strip_prefix(" position ") {
            Some(rest) => (number(rest)?.0, true),
            None => (number(rest.strip_prefix(" pos ")?)?.0, false),
        };
        let column = if is_from_one { column } else { column.saturating_add(1) };
        (line > 0 && column > 0).then_some(TextPlace { line, column })
    })
}

fn number(text: &str) -> Option<(u32, &str)> {
    let digits = text.bytes().take_while(u8::is_ascii_digit).count();
    Some((text[..digits].parse().ok()?, &text[digits..]))
}

/// The statement that a parse error is about: the server repeats its text after `== SQL ==`.
pub fn reported_chunk<'a>(chunks: &'a [SqlChunk], text: &str, message: &str) -> Option<&'a SqlChunk> {
    let (_, repeated) = message.split_once("== SQL ==\n")?;
    // A line of dashes and carets marks the place, right under its line.
    let is_mark = |line: &&str| line.contains("^^^") && line.chars().all(|c| c == '-' || c == '^');
    let lines: Vec<&str> = repeated.lines().filter(|line| !is_mark(line)).collect();
    let repeated = lines.join("\n");
    let same = |chunk: &&SqlChunk| {
        let lines: Vec<&str> = text[chunk.range.clone()].lines().collect();
        lines.join("\n").trim() == repeated.trim()
    };
    chunks.iter().find(same)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sql::split::split_sql;

    #[test]
    fn places_are_read_in_each_spelling() {
        for (message, expected) in [
            ("… SQLSTATE: 42703; line 4 pos 7;\n'Project ['idd]", Some((4, 8))),
            ("Syntax error at or near 'SELEC'. SQLSTATE: 42601 (line 1, pos 30)\n", Some((1, 31))),
            ("== SQL (line 6, position 3) ==\n  1 / (id - 5) AS x\n  ^^^", Some((6, 3))),
            ("the line 7 of nothing; line 2 pos 0", Some((2, 1))),
            ("line 0 pos 1", None),
            ("line 99999999999 pos 1", None),
            ("line by line", None),
            ("", None),
        ] {
            let place = expected.map(|(line, column)| TextPlace { line, column });
            assert_eq!(reported_place(message), place, "{message}");
        }
    }

    /// C028: the place of a parse error in the file.
    #[test]
    fn a_parse_error_is_placed_in_its_file() {
        let text = "CREATE MATERIALIZED VIEW a AS SELECT 1;\n\nCREATE MATERIALIZED VIEW o\r\nAS SELEC 1;\nSET a=b";
        let chunks = split_sql(text);
        let message = "[PARSE_SYNTAX_ERROR] … SQLSTATE: 42601 (line 4, pos 3)\n\n== SQL ==\n\n\nCREATE MATERIALIZED VIEW o\nAS SELEC 1\n---^^^\n";
        let chunk = reported_chunk(&chunks, text, message).unwrap();
        let place = chunk.place_in_file(reported_place(message).unwrap());
        assert_eq!((place.line, place.column), (4, 4));
        assert_eq!(reported_chunk(&chunks, text, "no text"), None);
    }
}
