//! Reads the statements that set the state of a file: `SET`, `SET CATALOG` and `USE`.

use crate::sql::cursor::{Cursor, Step};
use crate::sql::refusal::RefusalReason;
use crate::sql::statement::SqlContent;
use crate::sql::token::{Token, TokenKind};

/// The conf that `SET TIME ZONE` sets.
const TIME_ZONE: &str = "spark.sql.session.timeZone";

/// Reads what follows `USE`.
pub(crate) fn use_(cursor: &mut Cursor<'_>) -> Step<SqlContent> {
    let from = cursor.at.saturating_sub(1);
    if cursor.is_at_end() {
        return cursor.syntax("DATABASE and a name");
    }
    let is_kind = ["DATABASE", "SCHEMA", "NAMESPACE"].iter().any(|kind| cursor.is(&[kind]));
    if !is_kind || cursor.tokens.len() == cursor.at + 1 {
        cursor.at = cursor.tokens.len();
        return cursor.stop(RefusalReason::UseWithoutKind, cursor.span_from(from));
    }
    cursor.at += 1;
    let name_at = cursor.at;
    let name = cursor.name()?;
    cursor.expect_end()?;
    let Some(name) = name else { return Ok(SqlContent::UseDatabase { catalog: None, database: None }) };
    match name.identifier.parts() {
        [database] => Ok(SqlContent::UseDatabase { catalog: None, database: Some(database.clone()) }),
        [catalog, database] => {
            Ok(SqlContent::UseDatabase { catalog: Some(catalog.clone()), database: Some(database.clone()) })
        }
        _ => cursor.stop(RefusalReason::TooManyNameParts, cursor.span_from(name_at)),
    }
}

/// Reads what follows `SET`.
pub(crate) fn set(cursor: &mut Cursor<'_>) -> Step<SqlContent> {
    if cursor.is_at_end() {
        return cursor.stop(RefusalReason::SetWithoutValue, cursor.span_from(cursor.at.saturating_sub(1)));
    }
    if cursor.is(&["ROLE"]) {
        return cursor.stop(RefusalReason::NotADefinition("SET ROLE".to_owned()), cursor.span());
    }
    if cursor.take(&["TIME", "ZONE"]) {
        return time_zone(cursor);
    }
    let follows_sign = cursor.tokens.get(cursor.at + 1).is_some_and(|token| token.is_sign(cursor.sql, "="));
    let is_variable = ["VAR", "VARIABLE"].iter().any(|word| cursor.is(&[word]));
    if is_variable && !follows_sign && cursor.tokens.len() > cursor.at + 1 {
        return cursor.stop(RefusalReason::NotADefinition("SET VARIABLE".to_owned()), cursor.span());
    }
    if cursor.is(&["CATALOG"]) && !follows_sign && cursor.tokens.len() > cursor.at + 1 {
        cursor.at += 1;
        return catalog(cursor);
    }
    conf(cursor)
}

fn time_zone(cursor: &mut Cursor<'_>) -> Step<SqlContent> {
    let span = cursor.span();
    let from = cursor.at;
    let value = if cursor.is(&["INTERVAL"]) {
        cursor.at = cursor.tokens.len();
        cursor.has_doubt = true;
        cursor.sql.get(cursor.span_from(from)).unwrap_or_default().to_owned()
    } else if cursor.take(&["LOCAL"]) {
        "LOCAL".to_owned()
    } else {
        match cursor.peek().map(|token| token.kind) {
            Some(TokenKind::Text | TokenKind::RawText) => cursor.string()?,
            _ => return cursor.stop(RefusalReason::TimeZone, span),
        }
    };
    if !cursor.is_at_end() {
        return cursor.stop(RefusalReason::TimeZone, cursor.span());
    }
    Ok(SqlContent::SetConf { key: TIME_ZONE.to_owned(), value })
}

fn catalog(cursor: &mut Cursor<'_>) -> Step<SqlContent> {
    let from = cursor.at;
    let is_text = cursor.peek().is_some_and(|token| matches!(token.kind, TokenKind::Text | TokenKind::RawText));
    let is_call = cursor.tokens.get(from + 1).is_some_and(|token| token.is_sign(cursor.sql, "("));
    let catalog = if is_text {
        Some(cursor.string()?)
    } else if is_call && cursor.is(&["IDENTIFIER"]) {
        let inner = cursor.parentheses_after(1)?;
        match inner {
            [token] if token.is_string() => Some(token.string(cursor.sql)),
            _ => None,
        }
    } else if is_call || !cursor.peek().is_some_and(Token::is_name) {
        None
    } else {
        let (parts, span) = cursor.parts()?;
        if parts.len() > 1 && cursor.is_at_end() {
            return cursor.stop(RefusalReason::MultipartCatalog, span);
        }
        parts.into_iter().next()
    };
    if catalog.is_none() || !cursor.is_at_end() {
        // An expression, which Spark computes.
        cursor.has_doubt = true;
        return Ok(SqlContent::SetCatalog { catalog: None });
    }
    Ok(SqlContent::SetCatalog { catalog })
}

/// `key = value`, where the key is of certain characters or stands in backticks.
fn conf(cursor: &mut Cursor<'_>) -> Step<SqlContent> {
    let whole = cursor.span();
    // Observed: a comment behind the value is part of it.
    let text = cursor.sql.get(whole.start..cursor.chunk_end).unwrap_or_default().trim_end();
    let last = whole.start + text.len();
    let stop = |cursor: &mut Cursor<'_>, reason| cursor.stop(reason, whole.start..last);
    if cursor.peek().is_some_and(|token| token.kind == TokenKind::QuotedName) {
        let key = cursor.part()?;
        if cursor.is_at_end() {
            return stop(cursor, RefusalReason::SetWithoutValue);
        }
        if !cursor.take_sign("=") {
            return stop(cursor, RefusalReason::SetSyntax);
        }
        let value = value(cursor);
        // Spark takes other values by rules of its own.
        cursor.has_doubt |= cursor.rest().len() != 1;
        return Ok(SqlContent::SetConf { key, value });
    }
    let is_key = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | ':' | '\\');
    let key_end = text.find(|c| !is_key(c)).unwrap_or(text.len());
    let (key, rest) = text.split_at(key_end);
    let rest = rest.trim_start();
    if text == "-v" || (!key.is_empty() && rest.is_empty()) {
        return stop(cursor, RefusalReason::SetWithoutValue);
    }
    if key.is_empty() || !rest.starts_with('=') {
        return stop(cursor, RefusalReason::SetSyntax);
    }
    if rest.contains(';') {
        return stop(cursor, RefusalReason::SetSyntax);
    }
    let written = rest[1..].trim();
    let value_at = last - rest.len() + 1;
    while cursor.peek().is_some_and(|token| token.start < value_at) {
        cursor.at += 1;
    }
    let is_quoted = matches!(cursor.rest(), [token] if token.kind == TokenKind::QuotedName);
    let value = if is_quoted { value(cursor) } else { written.to_owned() };
    Ok(SqlContent::SetConf { key: key.to_owned(), value })
}

/// What is left of a statement: as it is, without backticks if it stands in them.
fn value(cursor: &Cursor<'_>) -> String {
    match cursor.rest() {
        [token] if token.kind == TokenKind::QuotedName => token.name(cursor.sql),
        [first, .., last] => cursor.sql.get(first.start..last.end).unwrap_or_default().to_owned(),
        [token] => token.text(cursor.sql).to_owned(),
        [] => String::new(),
    }
}
