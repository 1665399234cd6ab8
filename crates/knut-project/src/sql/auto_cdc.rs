//! Reads the clauses of `AUTO CDC`: where changes come from and how they are applied.
//!
//! `KEYS` comes first, the other clauses in any order. Source: Spark 4.3, `SqlBaseParser`,
//! `autoCdcCommand`; observed.

use std::ops::Range;

use crate::sql::clauses::expression;
use crate::sql::cursor::{Cursor, Step};
use crate::sql::reads::relation;
use crate::sql::refusal::RefusalReason;
use crate::sql::statement::{ColumnChoice, SqlAutoCdc, SqlQuery};
use crate::sql::token::Token;

/// What may follow an expression.
const CLAUSES: [&[&str]; 6] = [
    &["APPLY", "AS"],
    &["SEQUENCE", "BY"],
    &["COLUMNS"],
    &["STORED", "AS"],
    &["TRACK", "HISTORY"],
    &["IGNORE", "NULL", "UPDATES"],
];

/// Reads what follows `AUTO CDC`, or `AUTO CDC INTO target`.
pub(crate) fn changes(cursor: &mut Cursor<'_>) -> Step<SqlAutoCdc> {
    let start =
        cursor.at.checked_sub(1).and_then(|at| cursor.tokens.get(at)).map_or(0..0, |token| token.start..token.end);
    cursor.expect("FROM")?;
    let source = source(cursor)?;
    cursor.expect("KEYS")?;
    let mut keys = key_columns(cursor)?;
    // In `STREAM s KEYS (a) KEYS (b)` the first is an alias.
    if cursor.take(&["KEYS"]) {
        keys = key_columns(cursor)?;
    }
    let mut read = SqlAutoCdc {
        source,
        keys,
        sequence_by: None,
        apply_as_deletes: None,
        columns: None,
        scd_type: 1,
        track_history: None,
    };
    let mut history: Option<Range<usize>> = None;
    let mut has_scd_type = false;
    while !cursor.is_at_end() {
        let from = cursor.span();
        let twice = |cursor: &mut Cursor<'_>, is_there: bool, clause: &'static str| {
            if is_there {
                cursor.refuse(RefusalReason::DuplicateClause(clause), from.clone());
            }
        };
        if cursor.take(&["APPLY", "AS", "DELETE", "WHEN"]) {
            twice(cursor, read.apply_as_deletes.is_some(), "APPLY AS DELETE WHEN");
            read.apply_as_deletes = Some(expression(cursor, &CLAUSES)?);
        } else if cursor.is(&["APPLY", "AS", "TRUNCATE"]) {
            return cursor.stop(RefusalReason::CdcClause("APPLY AS TRUNCATE"), from);
        } else if cursor.is(&["IGNORE", "NULL", "UPDATES"]) {
            return cursor.stop(RefusalReason::CdcClause("IGNORE NULL UPDATES"), from);
        } else if cursor.take(&["SEQUENCE", "BY"]) {
            twice(cursor, read.sequence_by.is_some(), "SEQUENCE BY");
            read.sequence_by = Some(expression(cursor, &CLAUSES)?);
        } else if cursor.take(&["COLUMNS"]) {
            twice(cursor, read.columns.is_some(), "COLUMNS");
            read.columns = Some(choice(cursor)?);
        } else if cursor.take(&["STORED", "AS", "SCD", "TYPE"]) {
            twice(cursor, has_scd_type, "STORED AS");
            has_scd_type = true;
            read.scd_type = match cursor.text() {
                "1" => 1,
                "2" => 2,
                _ => return cursor.stop(RefusalReason::ScdType, cursor.span()),
            };
            cursor.at += 1;
        } else if cursor.take(&["TRACK", "HISTORY", "ON"]) {
            twice(cursor, read.track_history.is_some(), "TRACK HISTORY");
            read.track_history = Some(choice(cursor)?);
            history = Some(from);
        } else {
            return cursor.syntax("SEQUENCE BY or another clause of AUTO CDC");
        }
    }
    if read.sequence_by.is_none() {
        cursor.refuse(RefusalReason::CdcWithoutSequence, start);
    }
    if let Some(span) = history.filter(|_| read.scd_type != 2) {
        cursor.refuse(RefusalReason::HistoryWithoutScd2, span);
    }
    Ok(read)
}

/// The columns in parentheses; none of them is known where a name is computed.
fn key_columns(cursor: &mut Cursor<'_>) -> Step<Vec<String>> {
    let from = cursor.at;
    let list = cursor.parentheses()?;
    if list.windows(2).any(|pair| pair[0].is_word(cursor.sql, "IDENTIFIER") && pair[1].is_sign(cursor.sql, "(")) {
        cursor.has_doubt = true;
        return Ok(Vec::new());
    }
    cursor.at = from;
    cursor.columns()
}

/// `STREAM name`, `STREAM(name)` or a query in parentheses, with an alias or not.
fn source(cursor: &mut Cursor<'_>) -> Step<SqlQuery> {
    let from = cursor.at;
    let is_relation = cursor.tokens.get(from + 1).is_some_and(|token| token.is_word(cursor.sql, "STREAM"));
    if cursor.is_sign("(") && !is_relation {
        let tokens = cursor.parentheses()?;
        let range = cursor.span_from(from);
        let query = cursor.query_of(tokens, range.clone());
        alias(cursor)?;
        let is_stream = query.reads.reads.iter().any(|read| read.is_streaming);
        if !is_stream && query.reads.is_complete && query.reads.is_parsed {
            cursor.refuse(RefusalReason::CdcFromBatch, range);
        }
        return Ok(query);
    }
    let mut is_stream = true;
    if cursor.is_sign("(") {
        // `(STREAM s)`
        cursor.has_doubt = true;
        cursor.parentheses()?;
    } else if is_stream_here(cursor) {
        cursor.at += 1;
        let has_parenthesis = cursor.take_sign("(");
        relation_name(cursor)?;
        if has_parenthesis {
            cursor.expect_sign(")")?;
        }
    } else {
        is_stream = false;
        relation_name(cursor)?;
    }
    let range = cursor.span_from(from);
    if !is_stream {
        cursor.refuse(RefusalReason::CdcFromBatch, range.clone());
    }
    let end = cursor.at;
    alias(cursor)?;
    // The reader of queries knows relations where a query has them.
    let mut reads = relation(cursor.sql, cursor.tokens, from..end);
    cursor.refusals.append(&mut reads.refusals);
    Ok(SqlQuery { range, reads })
}

/// `FROM stream KEYS (…)` reads a table that is called `stream`.
fn is_stream_here(cursor: &Cursor<'_>) -> bool {
    let next = cursor.tokens.get(cursor.at + 1);
    cursor.is(&["STREAM"])
        && next.is_some_and(|token| {
            token.is_sign(cursor.sql, "(") || (token.is_name() && !token.is_word(cursor.sql, "KEYS"))
        })
}

/// A name, a computed one, or a function.
fn relation_name(cursor: &mut Cursor<'_>) -> Step<()> {
    if cursor.is_identifier_call() {
        let inner = cursor.parentheses_after(1)?;
        cursor.has_doubt |= !matches!(inner, [token] if token.is_string());
        return Ok(());
    }
    cursor.name()?;
    if cursor.is_sign("(") {
        cursor.has_doubt = true;
        cursor.parentheses()?;
    }
    Ok(())
}

/// What may follow a source: an alias, options, a watermark.
fn alias(cursor: &mut Cursor<'_>) -> Step<()> {
    if cursor.is(&["WITH"]) || cursor.is(&["WATERMARK"]) {
        cursor.has_doubt = true;
        while !cursor.is_at_end() && !cursor.is(&["KEYS"]) {
            cursor.at += 1;
        }
        return Ok(());
    }
    let is_name = !cursor.is(&["KEYS"]) && cursor.peek().is_some_and(Token::is_name);
    if cursor.take(&["AS"]) || is_name {
        cursor.part()?;
        if cursor.is_sign("(") {
            cursor.columns()?;
        }
    }
    Ok(())
}

/// `(a, b)` or `* EXCEPT (a, b)`.
fn choice(cursor: &mut Cursor<'_>) -> Step<ColumnChoice> {
    if cursor.take_sign("*") {
        cursor.expect("EXCEPT")?;
        return cursor.columns().map(ColumnChoice::Except);
    }
    cursor.columns().map(ColumnChoice::Only)
}
