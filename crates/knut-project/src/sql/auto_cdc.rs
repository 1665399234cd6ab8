//! Reads the clauses of `AUTO CDC`: where changes come from and how they are applied.
//!
//! `KEYS` comes first, the other clauses in any order. Source: Spark 4.3, `SqlBaseParser`,
//! `autoCdcCommand`; observed.

use std::ops::Range;

use crate::sql::clauses::expression;
use crate::sql::cursor::{Cursor, Step};
use crate::sql::reads::Certainty;
use crate::sql::refusal::RefusalReason;
use crate::sql::statement::{ColumnChoice, SqlAutoCdc, SqlQuery};

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
    let mut keys = cursor.columns()?;
    // In `STREAM s KEYS (a) KEYS (b)` the first is an alias.
    if cursor.take(&["KEYS"]) {
        keys = cursor.columns()?;
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

/// `STREAM name`, `STREAM(name)` or a query in parentheses, with an alias or not.
fn source(cursor: &mut Cursor<'_>) -> Step<SqlQuery> {
    let from = cursor.at;
    if cursor.is_sign("(") {
        let tokens = cursor.parentheses()?;
        let range = cursor.span_from(from);
        let query = cursor.query_of(tokens, range.clone());
        alias(cursor)?;
        let is_stream = query.reads.reads.iter().any(|read| read.is_streaming);
        if !is_stream && query.reads.is_complete {
            let is_certain = query.reads.reads.iter().all(|read| read.certainty == Certainty::Parsed);
            if is_certain && query.reads.is_parsed {
                cursor.refuse(RefusalReason::CdcFromBatch, range);
            }
        }
        return Ok(query);
    }
    let is_stream = cursor.is(&["STREAM"])
        && cursor.tokens.get(from + 1).is_some_and(|token| {
            token.is_sign(cursor.sql, "(") || (token.is_name() && !token.is_word(cursor.sql, "KEYS"))
        });
    if is_stream {
        cursor.at += 1;
        if cursor.take_sign("(") {
            cursor.name()?;
            if !cursor.is_sign(")") {
                // `STREAM(f(x))`
                cursor.has_doubt = true;
                cursor.parentheses()?;
            }
            cursor.expect_sign(")")?;
        } else {
            cursor.name()?;
            if cursor.is_sign("(") {
                cursor.has_doubt = true;
                cursor.parentheses()?;
            }
        }
    } else {
        cursor.name()?;
        cursor.refuse(RefusalReason::CdcFromBatch, cursor.span_from(from));
    }
    let range = cursor.span_from(from);
    let end = cursor.at;
    alias(cursor)?;
    // The readers of queries know relations where a query has them.
    let mut query =
        SqlQuery { range: range.clone(), reads: crate::sql::reads::relation(cursor.sql, cursor.tokens, from..end) };
    cursor.refusals.append(&mut query.reads.refusals);
    Ok(query)
}

fn alias(cursor: &mut Cursor<'_>) -> Step<()> {
    if cursor.take(&["AS"]) {
        cursor.part()?;
    } else if !cursor.is(&["KEYS"]) && cursor.peek().is_some_and(crate::sql::token::Token::is_name) {
        cursor.part()?;
        // What follows an alias may be a clause such as WHERE, which is refused.
        if !cursor.is(&["KEYS"]) {
            return cursor.syntax("KEYS");
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
