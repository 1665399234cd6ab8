//! Reads the relations of a query from the tree of a SQL parser, where it understands the query.
//!
//! The parser gets Spark's tokens, not the text: its own tokenizer knows other strings and names.
//! Places are token indexes, so that a relation of the tree is a site of the token reader. What
//! could overflow the stack or take long is not given to the parser at all.

use std::collections::BTreeSet;

use sqlparser::ast::Visit;
use sqlparser::dialect::SparkSqlDialect;
use sqlparser::parser::Parser;
use sqlparser::tokenizer::{Location, Span, Token as ParserToken, TokenWithSpan};

use crate::sql::read_tokens::{Edit, Found};
use crate::sql::relations::Relations;
use crate::sql::token::{Token, TokenKind};

/// How deep the parser may nest.
const MAX_DEPTH: usize = 40;

/// How many operators a query may have. `a + b + c` is a tree as deep as it is long, and the tree is
/// walked and dropped by recursion.
const MAX_OPERATORS: usize = 400;

/// How many tokens a query may have.
const MAX_TOKENS: usize = 20_000;

/// The indexes of the tokens that begin a relation which is no common table, or `None` if the
/// query was not understood.
pub(crate) fn read(sql: &str, tokens: &[Token], found: &Found) -> Option<BTreeSet<usize>> {
    if found.is_odd {
        return None;
    }
    let converted = convert(sql, tokens, found)?;
    let dialect = SparkSqlDialect {};
    let mut parser = Parser::new(&dialect).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(converted);
    let query = parser.parse_query().ok()?;
    if parser.peek_token().token != ParserToken::EOF {
        return None;
    }
    let mut relations = Relations::default();
    query.visit(&mut relations).is_continue().then_some(relations.read)
}

/// Whether the parser understands the tokens as one expression.
pub(crate) fn is_expression(sql: &str, tokens: &[Token]) -> bool {
    let Some(converted) = convert(sql, tokens, &Found::default()) else { return false };
    let dialect = SparkSqlDialect {};
    let mut parser = Parser::new(&dialect).with_recursion_limit(MAX_DEPTH).with_tokens_with_locations(converted);
    let expression = parser.parse_expr();
    parser.peek_token().token == ParserToken::EOF
        && expression.is_ok_and(|expression| expression.visit(&mut Relations::default()).is_continue())
}

/// The parser's tokens; `None` for what it must not be given.
fn convert(sql: &str, tokens: &[Token], found: &Found) -> Option<Vec<TokenWithSpan>> {
    if tokens.len() > MAX_TOKENS || n_operators(sql, tokens) > MAX_OPERATORS {
        return None;
    }
    let mut out = Vec::with_capacity(tokens.len());
    let mut edits = found.edits.clone();
    edits.sort_unstable_by_key(|(at, _)| *at);
    let mut edits = edits.into_iter().peekable();
    let mut sites = found.sites.iter().filter(|site| is_identifier_call(sql, tokens, site.at)).peekable();
    let mut at = 0;
    while let Some(token) = tokens.get(at) {
        let location = Location { line: 1, column: u64::try_from(at).ok()? + 1 };
        let mut push = |token| out.push(TokenWithSpan { token, span: Span::new(location, location) });
        if let Some((_, edit)) = edits.next_if(|(edited, _)| *edited == at) {
            if edit != Edit::Drop {
                push(word("SELECT"));
                push(ParserToken::Mul);
                push(word("FROM"));
            }
            at += 1;
            continue;
        }
        if let Some(site) = sites.next_if(|site| site.at == at) {
            for (index, part) in site.parts.iter().enumerate() {
                if index > 0 {
                    push(ParserToken::Period);
                }
                push(ParserToken::make_word(part, Some('`')));
            }
            at = site.end;
            continue;
        }
        if let Some((value, n_tokens)) = joined_string(sql, tokens, at) {
            push(ParserToken::SingleQuotedString(value));
            at += n_tokens;
            continue;
        }
        if let Some(value) = hexadecimal(sql, tokens, at) {
            push(ParserToken::HexStringLiteral(value));
            at += 2;
            continue;
        }
        if is_plain_function(sql, tokens, at) {
            push(ParserToken::make_word(token.text(sql), Some('`')));
            at += 1;
            continue;
        }
        if token.kind != TokenKind::Hint {
            push(parser_token(sql, token)?);
        }
        at += 1;
    }
    Some(out)
}

fn word(keyword: &str) -> ParserToken {
    ParserToken::make_word(keyword, None)
}

/// Strings side by side are one string: its value and how many tokens it has.
fn joined_string(sql: &str, tokens: &[Token], at: usize) -> Option<(String, usize)> {
    let rest = tokens.get(at..).unwrap_or_default().iter();
    let strings: Vec<&Token> = rest.take_while(|token| token.is_string()).collect();
    (strings.len() > 1).then(|| (strings.iter().map(|token| token.string(sql)).collect(), strings.len()))
}

/// `exists(array, function)` is a function, unlike `EXISTS (SELECT …)`, and so is `struct(*)`.
fn is_plain_function(sql: &str, tokens: &[Token], at: usize) -> bool {
    let is = |offset: usize, words: &[&str]| {
        tokens.get(at + offset).is_some_and(|token| words.iter().any(|word| token.is_word(sql, word)))
    };
    let has_parenthesis = tokens.get(at + 1).is_some_and(|token| token.is_sign(sql, "("));
    let is_nested = tokens.get(at + 2).is_some_and(|token| token.is_sign(sql, "("));
    let is_star = tokens.get(at + 2).is_some_and(|token| token.is_sign(sql, "*"));
    if is(0, &["STRUCT"]) && has_parenthesis && is_star {
        return true;
    }
    is(0, &["EXISTS"]) && has_parenthesis && !is_nested && !is(2, &["SELECT", "WITH", "FROM", "VALUES", "TABLE"])
}

/// The digits of `x'1F'`.
fn hexadecimal(sql: &str, tokens: &[Token], at: usize) -> Option<String> {
    let (prefix, digits) = (tokens.get(at)?, tokens.get(at + 1)?);
    (prefix.is_word(sql, "X") && digits.is_string() && prefix.end == digits.start).then(|| digits.string(sql))
}

/// Whether a relation is written `IDENTIFIER('name')`.
fn is_identifier_call(sql: &str, tokens: &[Token], at: usize) -> bool {
    tokens.get(at).is_some_and(|token| token.is_word(sql, "IDENTIFIER"))
        && tokens.get(at + 1).is_some_and(|token| token.is_sign(sql, "("))
}

/// How many tokens can each make a tree one deeper.
fn n_operators(sql: &str, tokens: &[Token]) -> usize {
    const WORDS: [&str; 16] = [
        "AND",
        "OR",
        "NOT",
        "IS",
        "IN",
        "LIKE",
        "ILIKE",
        "RLIKE",
        "REGEXP",
        "BETWEEN",
        "DIV",
        "AT",
        "COLLATE",
        "UNION",
        "EXCEPT",
        "INTERSECT",
    ];
    let is_operator = |token: &&Token| match token.kind {
        TokenKind::Sign => !matches!(token.text(sql), "," | "." | "(" | ")"),
        TokenKind::Word => WORDS.iter().any(|word| token.is_word(sql, word)),
        _ => false,
    };
    tokens.iter().filter(is_operator).count()
}

fn parser_token(sql: &str, token: &Token) -> Option<ParserToken> {
    let text = token.text(sql);
    Some(match token.kind {
        TokenKind::Word => word(text),
        TokenKind::QuotedName => ParserToken::make_word(&token.name(sql), Some('`')),
        TokenKind::Text | TokenKind::RawText => ParserToken::SingleQuotedString(token.string(sql)),
        TokenKind::Number => {
            ParserToken::Number(text.trim_end_matches(|c: char| c.is_ascii_alphabetic()).to_owned(), false)
        }
        TokenKind::Sign => sign(text)?,
        TokenKind::Hint | TokenKind::Unclosed | TokenKind::Stray => return None,
    })
}

fn sign(text: &str) -> Option<ParserToken> {
    Some(match text {
        "," => ParserToken::Comma,
        "." => ParserToken::Period,
        "(" => ParserToken::LParen,
        ")" => ParserToken::RParen,
        "[" => ParserToken::LBracket,
        "]" => ParserToken::RBracket,
        "=" => ParserToken::Eq,
        "==" => ParserToken::DoubleEq,
        "<=>" => ParserToken::Spaceship,
        "<>" | "!=" => ParserToken::Neq,
        "<" => ParserToken::Lt,
        ">" => ParserToken::Gt,
        "<=" | "!>" => ParserToken::LtEq,
        ">=" | "!<" => ParserToken::GtEq,
        "+" => ParserToken::Plus,
        "-" => ParserToken::Minus,
        "*" => ParserToken::Mul,
        "/" => ParserToken::Div,
        "%" => ParserToken::Mod,
        "||" => ParserToken::StringConcat,
        "|>" => ParserToken::VerticalBarRightAngleBracket,
        "|" => ParserToken::Pipe,
        "&" => ParserToken::Ampersand,
        "^" => ParserToken::Caret,
        "~" => ParserToken::Tilde,
        ":" => ParserToken::Colon,
        "::" => ParserToken::DoubleColon,
        "->" => ParserToken::Arrow,
        "=>" => ParserToken::RArrow,
        "<<" => ParserToken::ShiftLeft,
        "!" => ParserToken::ExclamationMark,
        _ => return None,
    })
}
