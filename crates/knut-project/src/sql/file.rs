//! Reads a whole SQL file.

use std::ops::Range;
use std::str::Chars;

use crate::problem::saturated;
use crate::sql::create::create;
use crate::sql::cursor::{Cursor, Step};
use crate::sql::refusal::RefusalReason;
use crate::sql::session;
use crate::sql::split::{PlaceCounter, split_sql};
use crate::sql::statement::{SqlContent, SqlStatement};
use crate::sql::token::tokens;

/// Reads the statements of a SQL file, each for itself. Takes any text.
///
/// What `SET` and `USE` mean for the statements after them is worked out by
/// [`SqlDefinitions`](crate::SqlDefinitions).
///
/// ```
/// use knut_project::{SqlContent, Verdict, read_sql};
///
/// let statements = read_sql("CREATE MATERIALIZED VIEW m AS SELECT * FROM orders; USE CATALOG c");
/// assert!(matches!(statements[0].content, SqlContent::Dataset(_)));
/// assert_eq!(statements[0].verdict(), Verdict::Accepted);
/// let Verdict::Refused(refusal) = statements[1].verdict() else { panic!() };
/// assert_eq!(refusal.message(), "`USE` must say `DATABASE`, `SCHEMA` or `NAMESPACE`");
/// ```
pub fn read_sql(text: &str) -> Vec<SqlStatement> {
    let mut places = PlaceCounter::new(text);
    let mut told = ToldLines { text, rest: text.chars(), n_kept: 0, n_passed: 0, line: 1 };
    let chunks = split_sql(text).into_iter().filter(|chunk| chunk.is_statement);
    let read = chunks.map(|chunk| {
        let tokens = tokens(text, chunk.range.clone());
        let start = tokens.first().map_or(chunk.range.start, |token| token.start);
        let end = tokens.last().map_or(start, |token| token.end);
        let mut cursor = Cursor::new(text, &tokens, end);
        cursor.chunk_end = chunk.range.end;
        let mut content = statement(&mut cursor).unwrap_or(SqlContent::Unread);
        // Spark puts confs in the place of `${…}` before it parses, so that this is not the statement.
        if text.get(chunk.range.clone()).is_some_and(|whole| whole.contains("${")) {
            cursor.has_doubt = true;
            if !cursor.refusals.is_empty() {
                cursor.refusals.clear();
                content = SqlContent::Unread;
            }
        }
        let line_told_by_server = told.line_of(&chunk.range, start);
        SqlStatement {
            line_told_by_server,
            range: start..end,
            start: places.of(start),
            content,
            has_doubt: cursor.has_doubt,
            refusals: cursor.refusals,
            chunk,
        }
    });
    read.collect()
}

/// Counts lines as the server does for `Query defined at`: it adds up the lengths of the statements,
/// and forgets the chunks that are none. Source: Spark 4.3,
/// `SqlGraphRegistrationContext.splitSqlFileIntoQueries`; observed.
struct ToldLines<'a> {
    text: &'a str,
    rest: Chars<'a>,
    /// The length of the statements so far, in UTF-16 units as in Java, with a semicolon each.
    n_kept: usize,
    /// How much of the text has been passed.
    n_passed: usize,
    line: usize,
}

impl ToldLines<'_> {
    fn line_of(&mut self, chunk: &Range<usize>, start: usize) -> u32 {
        let before = self.text.get(chunk.start..start).unwrap_or_default();
        let target = self.n_kept + before.chars().count();
        while self.n_passed < target {
            let Some(c) = self.rest.next() else { break };
            self.n_passed += c.len_utf16();
            self.line += usize::from(c == '\n');
        }
        let whole = self.text.get(chunk.clone()).unwrap_or_default();
        self.n_kept += whole.encode_utf16().count() + 1;
        saturated(self.line)
    }
}

fn statement(cursor: &mut Cursor<'_>) -> Step<SqlContent> {
    if cursor.take(&["CREATE"]) {
        return create(cursor);
    }
    if cursor.take(&["SET"]) {
        return session::set(cursor);
    }
    if cursor.take(&["USE"]) {
        return session::use_(cursor);
    }
    if cursor.is(&["APPLY", "CHANGES"]) || cursor.is(&["AUTO", "CDC"]) {
        return cursor.stop(RefusalReason::ApplyChanges, cursor.span());
    }
    let Some(first) = cursor.peek().filter(|token| token.text(cursor.sql).is_ascii() && token.is_name()) else {
        return cursor.syntax("a definition");
    };
    let words = first.text(cursor.sql).to_uppercase();
    cursor.stop(RefusalReason::NotADefinition(words), first.span())
}

#[cfg(test)]
#[path = "file_tests.rs"]
mod tests;
