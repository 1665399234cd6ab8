//! Spark's tokens: words, quoted names, strings, numbers and signs, each with its place.
//!
//! Total: any text becomes tokens, in one pass. Source: Spark 4.3, `SqlBaseLexer`.

use std::ops::Range;

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TokenKind {
    /// A keyword or a name without quotes.
    Word,
    /// A name in backticks.
    QuotedName,
    /// A string in `'…'` or `"…"`.
    Text,
    /// A string `r'…'` or `r"…"`, without escapes.
    RawText,
    /// A number, with its suffix.
    Number,
    /// An operator or another sign.
    Sign,
    /// A hint, `/*+ … */`.
    Hint,
    /// A string, name or comment that nobody closed; it reaches to the end of the text.
    Unclosed,
    /// A character that begins no token.
    Stray,
}

/// One token; the offsets are bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Token {
    pub(crate) kind: TokenKind,
    pub(crate) start: usize,
    pub(crate) end: usize,
}

impl Token {
    pub(crate) fn span(&self) -> Range<usize> {
        self.start..self.end
    }

    /// Its text; empty if `text` is not the one it was read from.
    pub(crate) fn text<'a>(&self, text: &'a str) -> &'a str {
        text.get(self.start..self.end).unwrap_or_default()
    }

    /// Whether it is this keyword.
    pub(crate) fn is_word(&self, text: &str, keyword: &str) -> bool {
        self.kind == TokenKind::Word && self.text(text).eq_ignore_ascii_case(keyword)
    }

    /// Whether it is this sign.
    pub(crate) fn is_sign(&self, text: &str, sign: &str) -> bool {
        self.kind == TokenKind::Sign && self.text(text) == sign
    }

    /// Whether it can be a part of a name. Spark lets almost every keyword be a name.
    pub(crate) fn is_name(&self) -> bool {
        matches!(self.kind, TokenKind::Word | TokenKind::QuotedName)
    }

    /// Whether it is a string.
    pub(crate) fn is_string(&self) -> bool {
        matches!(self.kind, TokenKind::Text | TokenKind::RawText)
    }

    /// A name without its backticks.
    pub(crate) fn name(&self, text: &str) -> String {
        let written = self.text(text);
        match written.strip_prefix('`').and_then(|rest| rest.strip_suffix('`')) {
            Some(inner) if self.kind == TokenKind::QuotedName => inner.replace("``", "`"),
            _ => written.to_owned(),
        }
    }

    /// A string without its quotes, its escapes resolved.
    pub(crate) fn string(&self, text: &str) -> String {
        let written = self.text(text);
        let bare = if self.kind == TokenKind::RawText { written.get(1..).unwrap_or_default() } else { written };
        let inner = bare.get(1..bare.len().saturating_sub(1)).unwrap_or_default();
        if self.kind == TokenKind::RawText {
            return inner.to_owned();
        }
        unescaped(inner, if bare.starts_with('"') { '"' } else { '\'' })
    }
}

/// Signs of more than one character, longest first.
const SIGNS: [&str; 14] = ["<=>", "||", "|>", "==", "<>", "!=", "<=", ">=", "!>", "!<", "->", "=>", "::", "<<"];

/// The tokens of a part of a text. The part must lie on character boundaries; else there are none.
pub(crate) fn tokens(text: &str, part: Range<usize>) -> Vec<Token> {
    let end = part.end.min(text.len());
    let Some(sql) = text.get(..end) else { return Vec::new() };
    if !sql.is_char_boundary(part.start) {
        return Vec::new();
    }
    let mut out = Vec::new();
    let mut at = part.start;
    while let Some(c) = sql.get(at..).and_then(|rest| rest.chars().next()) {
        let (kind, length) = token_at(&sql[at..], c);
        if let Some(kind) = kind {
            out.push(Token { kind, start: at, end: at + length });
        }
        at += length;
    }
    out
}

/// The kind and length of what `rest` begins with; no kind for blanks and comments.
fn token_at(rest: &str, first: char) -> (Option<TokenKind>, usize) {
    let bytes = rest.as_bytes();
    let second = bytes.get(1).copied().unwrap_or_default();
    match first {
        c if is_blank(c) => (None, c.len_utf8()),
        '-' if second == b'-' => (None, line_comment(bytes)),
        '/' if second == b'*' && bytes.get(2) == Some(&b'+') => match rest.find("*/") {
            Some(end) => (Some(TokenKind::Hint), end + 2),
            None => (Some(TokenKind::Unclosed), rest.len()),
        },
        '/' if second == b'*' => match block_comment(bytes) {
            Some(length) => (None, length),
            None => (Some(TokenKind::Unclosed), rest.len()),
        },
        '\'' | '"' => closed(TokenKind::Text, string(bytes), rest),
        'r' | 'R' if matches!(second, b'\'' | b'"') => {
            let end = bytes.iter().skip(2).position(|byte| *byte == second);
            closed(TokenKind::RawText, end.map(|at| at + 3), rest)
        }
        '`' => closed(TokenKind::QuotedName, backticks(bytes), rest),
        c if c.is_ascii_digit() || (c == '.' && second.is_ascii_digit()) => number_or_word(rest),
        c if is_word_char(c) => (Some(TokenKind::Word), word(rest)),
        c if c.is_ascii_graphic() => {
            let sign = SIGNS.iter().find(|sign| rest.starts_with(**sign));
            (Some(TokenKind::Sign), sign.map_or(1, |sign| sign.len()))
        }
        c => (Some(TokenKind::Stray), c.len_utf8()),
    }
}

fn closed(kind: TokenKind, length: Option<usize>, rest: &str) -> (Option<TokenKind>, usize) {
    length.map_or((Some(TokenKind::Unclosed), rest.len()), |length| (Some(kind), length))
}

/// The white space between tokens; not the same set as Rust's or Java's.
fn is_blank(c: char) -> bool {
    matches!(c, ' ' | '\t'..='\r' | '\u{A0}' | '\u{1680}' | '\u{2000}'..='\u{200A}' | '\u{2028}' | '\u{202F}'
        | '\u{205F}' | '\u{3000}')
}

/// Spark reads letters of all scripts as one word, only to say that it needs backticks.
fn is_word_char(c: char) -> bool {
    c == '_' || c.is_alphabetic() || c.is_ascii_digit()
}

fn word(rest: &str) -> usize {
    rest.find(|c| !is_word_char(c)).unwrap_or(rest.len())
}

/// The length of a line comment; a backslash before the newline carries it on.
fn line_comment(bytes: &[u8]) -> usize {
    let mut at = 2;
    loop {
        match bytes.get(at) {
            Some(b'\\') if bytes.get(at + 1) == Some(&b'\n') => at += 2,
            None | Some(b'\r' | b'\n') => return at,
            Some(_) => at += 1,
        }
    }
}

/// The length of a comment in which others may nest; `None` if it is not closed.
pub(crate) fn block_comment(bytes: &[u8]) -> Option<usize> {
    let (mut at, mut depth) = (2, 1_usize);
    while depth > 0 {
        match bytes.get(at..at + 2)? {
            b"/*" => (at, depth) = (at + 2, depth + 1),
            b"*/" => (at, depth) = (at + 2, depth - 1),
            _ => at += 1,
        }
    }
    Some(at)
}

/// The length of a string with backslash escapes, in which a doubled quote stands for one; `None`
/// if it is not closed.
pub(crate) fn string(bytes: &[u8]) -> Option<usize> {
    let quote = bytes.first()?;
    let mut at = 1;
    loop {
        match bytes.get(at)? {
            b'\\' => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(quote) => at += 2,
            byte if byte == quote => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// The length of a name in backticks, a doubled one standing for one; `None` if it is not closed.
fn backticks(bytes: &[u8]) -> Option<usize> {
    let mut at = 1;
    loop {
        match (bytes.get(at)?, bytes.get(at + 1)) {
            (b'`', Some(b'`')) => at += 2,
            (b'`', _) => return Some(at + 1),
            _ => at += 1,
        }
    }
}

/// A number such as `12`, `1.5e3`, `10L`, `2.5BD`, or a word that begins with a digit.
fn number_or_word(rest: &str) -> (Option<TokenKind>, usize) {
    let bytes = rest.as_bytes();
    let digits = |from: usize| bytes.iter().skip(from).take_while(|byte| byte.is_ascii_digit()).count();
    let mut at = digits(0);
    let mut is_decimal = false;
    if bytes.get(at) == Some(&b'.') {
        let fraction = digits(at + 1);
        if at > 0 || fraction > 0 {
            is_decimal = true;
            at += 1 + fraction;
        }
    }
    if matches!(bytes.get(at), Some(b'e' | b'E')) {
        let sign = usize::from(matches!(bytes.get(at + 1), Some(b'+' | b'-')));
        let exponent = digits(at + 1 + sign);
        if exponent > 0 {
            at += 1 + sign + exponent;
        }
    }
    let suffix = match bytes.get(at).map(u8::to_ascii_uppercase) {
        Some(b'L' | b'S' | b'Y') if !is_decimal => 1,
        Some(b'F' | b'D') => 1,
        Some(b'B') if matches!(bytes.get(at + 1), Some(b'd' | b'D')) => 2,
        _ => 0,
    };
    at += suffix;
    let longest = word(rest);
    // Source: Spark 4.3, `isValidDecimal`: with a word behind it, the dot is one of a name, `db.2024_orders`.
    if rest.starts_with('.') && rest[at..].starts_with(is_word_char) {
        return (Some(TokenKind::Sign), 1);
    }
    if longest > at { (Some(TokenKind::Word), longest) } else { (Some(TokenKind::Number), at.max(1)) }
}

/// Resolves the escapes of a string as Spark does by default.
fn unescaped(inner: &str, quote: char) -> String {
    let mut out = String::with_capacity(inner.len());
    let mut rest = inner;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c == quote {
            // Doubled it stands for one.
            rest = rest.strip_prefix(quote).unwrap_or(rest);
        }
        if c != '\\' {
            out.push(c);
            continue;
        }
        if let Some((escaped, length)) = code_escape(rest) {
            out.push(escaped);
            rest = &rest[length..];
            continue;
        }
        let Some(c) = rest.chars().next() else {
            out.push('\\');
            break;
        };
        rest = &rest[c.len_utf8()..];
        match c {
            'n' => out.push('\n'),
            't' => out.push('\t'),
            'r' => out.push('\r'),
            'b' => out.push('\u{8}'),
            '0' => out.push('\0'),
            'Z' => out.push('\u{1A}'),
            // Spark keeps these two for LIKE patterns.
            '%' | '_' => out.extend(['\\', c]),
            other => out.push(other),
        }
    }
    out
}

/// A character by its number, `u0041`, `U00000041` or `101`, and how long that is.
fn code_escape(rest: &str) -> Option<(char, usize)> {
    let (start, length, radix) = match rest.as_bytes() {
        [b'u', ..] => (1, 4, 16),
        [b'U', ..] => (1, 8, 16),
        [b'0'..=b'1', ..] => (0, 3, 8),
        _ => return None,
    };
    let digits = rest.get(start..start + length)?;
    let is_number = digits.chars().all(|c| c.is_digit(radix));
    let code = u32::from_str_radix(digits, radix).ok().filter(|_| is_number)?;
    Some((char::from_u32(code)?, start + length))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(sql: &str, expected: &[(TokenKind, &str)]) {
        let read = tokens(sql, 0..sql.len());
        let shown: Vec<_> = read.iter().map(|token| (token.kind, token.text(sql))).collect();
        assert_eq!(shown, expected, "{sql}");
    }

    #[test]
    fn tokens_are_sparks() {
        use TokenKind::{Hint, Number, QuotedName, RawText, Sign, Stray, Text, Unclosed, Word};
        check("SELECT a.b", &[(Word, "SELECT"), (Word, "a"), (Sign, "."), (Word, "b")]);
        check("`a``;b`.c", &[(QuotedName, "`a``;b`"), (Sign, "."), (Word, "c")]);
        check(r"'it\'s' r'\' 'x", &[(Text, r"'it\'s'"), (RawText, r"r'\'"), (Unclosed, "'x")]);
        check(
            "2024_orders 2024 1.5e3 .5 10L 2.5BD",
            &[
                (Word, "2024_orders"),
                (Number, "2024"),
                (Number, "1.5e3"),
                (Number, ".5"),
                (Number, "10L"),
                (Number, "2.5BD"),
            ],
        );
        check("a--b\nc/* d /* e */ f */g", &[(Word, "a"), (Word, "c"), (Word, "g")]);
        check("-- a \\\n b\nc", &[(Word, "c")]);
        check("/*+ BROADCAST(a) */ a /* b", &[(Hint, "/*+ BROADCAST(a) */"), (Word, "a"), (Unclosed, "/* b")]);
        check(
            "a<=>b|>c||d",
            &[(Word, "a"), (Sign, "<=>"), (Word, "b"), (Sign, "|>"), (Word, "c"), (Sign, "||"), (Word, "d")],
        );
        check("größe\u{200B}\u{A0}x", &[(Word, "größe"), (Stray, "\u{200B}"), (Word, "x")]);
    }

    #[test]
    fn quotes_and_escapes_are_taken_off() {
        let value = |sql: &str| tokens(sql, 0..sql.len())[0].string(sql);
        assert_eq!(value(r"'it\'s\n'"), "it's\n");
        assert_eq!(value(r"r'a\n'"), r"a\n");
        assert_eq!(value(r#""50\%""#), r"50\%");
        assert_eq!(value(r"'it''s''' 'x'"), "it's'");
        assert_eq!(value(r"'\101\u0041\U0001F600\u00'"), "AA😀u00");
        let sql = "`a``b`";
        assert_eq!(tokens(sql, 0..sql.len())[0].name(sql), "a`b");
    }
}
