//! A place in the tokens of a statement, and the pieces that many statements have.

use std::ops::Range;

use knut_model::Identifier;

use crate::sql::read_tokens::multipart;
use crate::sql::reads::reads_of;
use crate::sql::refusal::{RefusalReason, SqlRefusal};
use crate::sql::statement::{SqlName, SqlQuery};
use crate::sql::token::{Token, TokenKind};

/// Reading cannot go on. Why has been noted in the cursor.
#[derive(Debug)]
pub(crate) struct Stop;

pub(crate) type Step<T> = Result<T, Stop>;

pub(crate) struct Cursor<'a> {
    pub(crate) sql: &'a str,
    pub(crate) tokens: &'a [Token],
    pub(crate) at: usize,
    /// Where the statement's last token ends.
    pub(crate) end: usize,
    /// Where the text before the next semicolon ends, comments and all.
    pub(crate) chunk_end: usize,
    pub(crate) refusals: Vec<SqlRefusal>,
    pub(crate) has_doubt: bool,
}

impl<'a> Cursor<'a> {
    pub(crate) fn new(sql: &'a str, tokens: &'a [Token], end: usize) -> Self {
        Self { sql, tokens, at: 0, end, chunk_end: end, refusals: Vec::new(), has_doubt: false }
    }

    pub(crate) fn peek(&self) -> Option<&'a Token> {
        self.tokens.get(self.at)
    }

    /// The tokens that are left.
    pub(crate) fn rest(&self) -> &'a [Token] {
        self.tokens.get(self.at..).unwrap_or_default()
    }

    pub(crate) fn is_at_end(&self) -> bool {
        self.at >= self.tokens.len()
    }

    /// The text of the next token; empty at the end.
    pub(crate) fn text(&self) -> &'a str {
        self.peek().map_or("", |token| token.text(self.sql))
    }

    /// Whether these keywords come next.
    pub(crate) fn is(&self, keywords: &[&str]) -> bool {
        let mut tokens = self.rest().iter();
        keywords.iter().all(|keyword| tokens.next().is_some_and(|token| token.is_word(self.sql, keyword)))
    }

    pub(crate) fn is_sign(&self, sign: &str) -> bool {
        self.peek().is_some_and(|token| token.is_sign(self.sql, sign))
    }

    /// Takes these keywords if they come next.
    pub(crate) fn take(&mut self, keywords: &[&str]) -> bool {
        let found = self.is(keywords);
        if found {
            self.at += keywords.len();
        }
        found
    }

    /// Takes the first of these words that comes next.
    pub(crate) fn take_one_of(&mut self, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.take(&[keyword]))
    }

    pub(crate) fn take_sign(&mut self, sign: &str) -> bool {
        let found = self.is_sign(sign);
        self.at += usize::from(found);
        found
    }

    /// The bytes of the next token, or the end of the statement.
    pub(crate) fn span(&self) -> Range<usize> {
        self.peek().map_or(self.end..self.end, Token::span)
    }

    /// The bytes from the token at `from` up to the last one taken.
    pub(crate) fn span_from(&self, from: usize) -> Range<usize> {
        let start = self.tokens.get(from).map_or(self.end, |token| token.start);
        let end = self.at.checked_sub(1).and_then(|last| self.tokens.get(last)).map_or(start, |token| token.end);
        start..end.max(start)
    }

    pub(crate) fn refuse(&mut self, reason: RefusalReason, span: Range<usize>) {
        self.refusals.push(SqlRefusal::new(reason, span));
    }

    /// Refuses and stops.
    pub(crate) fn stop<T>(&mut self, reason: RefusalReason, span: Range<usize>) -> Step<T> {
        self.refuse(reason, span);
        Err(Stop)
    }

    /// Refuses the next token and stops.
    pub(crate) fn syntax<T>(&mut self, wanted: &'static str) -> Step<T> {
        let token = self.peek();
        let reason = match token.map(|token| token.kind) {
            Some(TokenKind::Unclosed) => RefusalReason::Unclosed,
            Some(TokenKind::Stray) => RefusalReason::StrayCharacter(self.text().to_owned()),
            _ => RefusalReason::Syntax { found: self.text().to_owned(), wanted },
        };
        self.stop(reason, self.span())
    }

    pub(crate) fn expect(&mut self, keyword: &'static str) -> Step<()> {
        if self.take(&[keyword]) { Ok(()) } else { self.syntax(keyword) }
    }

    pub(crate) fn expect_sign(&mut self, sign: &'static str) -> Step<()> {
        if self.take_sign(sign) { Ok(()) } else { self.syntax(sign) }
    }

    pub(crate) fn expect_end(&mut self) -> Step<()> {
        if self.is_at_end() { Ok(()) } else { self.syntax("the end of the statement") }
    }

    /// One part of a name.
    pub(crate) fn part(&mut self) -> Step<String> {
        let Some(token) = self.peek().filter(|token| token.is_name()) else { return self.syntax("a name") };
        self.at += 1;
        let name = token.name(self.sql);
        if token.kind == TokenKind::Word && !name.is_ascii() {
            self.refuse(RefusalReason::NeedsBackticks(name.clone()), token.span());
        }
        Ok(name)
    }

    /// The parts of a name, and their bytes.
    pub(crate) fn parts(&mut self) -> Step<(Vec<String>, Range<usize>)> {
        let from = self.at;
        let mut parts = vec![self.part()?];
        while self.take_sign(".") {
            parts.push(self.part()?);
        }
        if self.is_sign("-") {
            let end = self.tokens.get(self.at + 1).map_or(self.end, |token| token.end);
            let span = self.span_from(from).start..end;
            let name = self.sql.get(span.clone()).unwrap_or_default().to_owned();
            return self.stop(RefusalReason::NeedsBackticks(name), span);
        }
        Ok((parts, self.span_from(from)))
    }

    /// Whether `IDENTIFIER(` comes next.
    pub(crate) fn is_identifier_call(&self) -> bool {
        self.is(&["IDENTIFIER"]) && self.tokens.get(self.at + 1).is_some_and(|token| token.is_sign(self.sql, "("))
    }

    /// A name, or `IDENTIFIER('name')`; `None` if knut cannot hold it.
    pub(crate) fn name(&mut self) -> Step<Option<SqlName>> {
        let (parts, span) = if self.is_identifier_call() {
            let inner = self.parentheses_after(1)?;
            let span = inner.first().map_or(0, |token| token.start)..inner.last().map_or(0, |token| token.end);
            let constant = match inner {
                [token] if token.is_string() => multipart(&token.string(self.sql)),
                _ => None,
            };
            let Some(parts) = constant else { return self.stop(RefusalReason::ComputedName, span) };
            (parts, span)
        } else {
            self.parts()?
        };
        if parts.len() > 3 {
            self.refuse(RefusalReason::TooManyNameParts, span);
            return Ok(None);
        }
        let identifier = Identifier::from_parts(parts).ok();
        // Spark takes an empty name, which knut does not hold.
        self.has_doubt |= identifier.is_none();
        Ok(identifier.map(|identifier| SqlName { identifier, span }))
    }

    /// One string, or several that stand together.
    pub(crate) fn string(&mut self) -> Step<String> {
        let mut out = String::new();
        let from = self.at;
        while let Some(token) = self.peek().filter(|token| token.is_string()) {
            out.push_str(&token.string(self.sql));
            self.at += 1;
        }
        if self.at == from { self.syntax("a string") } else { Ok(out) }
    }

    /// The tokens between a parenthesis and its partner; both are taken.
    pub(crate) fn parentheses(&mut self) -> Step<&'a [Token]> {
        let open = self.span();
        self.expect_sign("(")?;
        let from = self.at;
        let mut depth = 1_usize;
        while let Some(token) = self.peek() {
            match token.text(self.sql) {
                "(" if token.kind == TokenKind::Sign => depth += 1,
                ")" if token.kind == TokenKind::Sign => depth -= 1,
                _ => {}
            }
            self.at += 1;
            if depth == 0 {
                return Ok(self.tokens.get(from..self.at - 1).unwrap_or_default());
            }
        }
        self.stop(RefusalReason::Unclosed, open)
    }

    /// Passes over some tokens, then like [`Self::parentheses`].
    pub(crate) fn parentheses_after(&mut self, n_tokens: usize) -> Step<&'a [Token]> {
        self.at += n_tokens;
        self.parentheses()
    }

    /// A list of plain columns in parentheses.
    pub(crate) fn columns(&mut self) -> Step<Vec<String>> {
        self.expect_sign("(")?;
        let mut columns = vec![self.part()?];
        while self.take_sign(",") {
            columns.push(self.part()?);
        }
        self.expect_sign(")")?;
        Ok(columns)
    }

    /// The rest of the statement as a query.
    pub(crate) fn query(&mut self) -> SqlQuery {
        let tokens = self.rest();
        let from = self.at;
        self.at = self.tokens.len();
        self.query_of(tokens, self.span_from(from))
    }

    /// These tokens as a query; what is refused about them is noted.
    pub(crate) fn query_of(&mut self, tokens: &[Token], range: Range<usize>) -> SqlQuery {
        let mut reads = reads_of(self.sql, tokens, range.end.min(self.end));
        self.refusals.append(&mut reads.refusals.clone());
        reads.refusals.clear();
        self.has_doubt |= !reads.is_parsed;
        SqlQuery { range, reads }
    }
}
