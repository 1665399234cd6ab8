//! Cuts a SQL file into statements at the same semicolons as the server.
//!
//! The server cuts before it parses, and by simpler rules than its parser's: to it a raw string is
//! a string with escapes. Source: Spark 4.3, `StringUtils.splitSemiColon`; tried on a real server.

use std::ops::Range;

use crate::problem::saturated;
use crate::sql::token::{block_comment, string};

/// The text between two semicolons of a file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlChunk {
    /// Its bytes in the file, from after the semicolon before it up to its own. Chunks joined by
    /// `;` give the file back.
    pub range: Range<usize>,
    /// Whether the server takes it for a statement. It passes over blanks and comments.
    pub is_statement: bool,
    /// Where the chunk begins: the place that the server counts its lines from.
    pub start: TextPlace,
}

/// A place in a text. Lines and columns are counted from 1, columns in characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextPlace {
    /// The line.
    pub line: u32,
    /// The column.
    pub column: u32,
}

impl SqlChunk {
    /// The place in the file that the server means when it tells a place in this statement.
    ///
    /// The server counts lines from the start of the statement's text, which is right after the
    /// semicolon before it. It counts columns from 1 where it writes `(line 2, position 8)` and from
    /// 0 where it writes `(line 2, pos 7)`: add 1 to the latter.
    pub fn place_in_file(&self, reported: TextPlace) -> TextPlace {
        let line = self.start.line.saturating_add(reported.line).saturating_sub(1);
        let is_first_line = reported.line <= 1;
        let column = if is_first_line {
            self.start.column.saturating_add(reported.column).saturating_sub(1)
        } else {
            reported.column
        };
        TextPlace { line, column }
    }
}

/// The chunks of a file in order; at least one, the last being what follows the last semicolon.
pub fn split_sql(text: &str) -> Vec<SqlChunk> {
    let mut places = PlaceCounter::new(text);
    let bytes = text.as_bytes();
    let mut chunks = Vec::new();
    let (mut at, mut start, mut is_statement) = (0, 0, false);
    let mut push = |range: Range<usize>, is_statement: bool| {
        let start = places.of(range.start);
        chunks.push(SqlChunk { range, is_statement, start });
    };
    while let Some(byte) = bytes.get(at) {
        match (byte, bytes.get(at + 1)) {
            (b'\'' | b'"' | b'`', _) => {
                is_statement = true;
                at = string(&bytes[at..]).map_or(bytes.len(), |length| at + length);
            }
            (b'-', Some(b'-')) => {
                at = bytes[at..].iter().position(|byte| *byte == b'\n').map_or(bytes.len(), |length| at + length);
            }
            (b'/', Some(b'*')) => {
                let length = block_comment(&bytes[at..]);
                // An unclosed comment is given to the parser, which complains.
                is_statement |= length.is_none();
                at = length.map_or(bytes.len(), |length| at + length);
            }
            (b';', _) => {
                push(start..at, is_statement);
                at += 1;
                (start, is_statement) = (at, false);
            }
            _ => {
                let c = text.get(at..).and_then(|rest| rest.chars().next()).unwrap_or_default();
                is_statement |= !is_java_whitespace(c);
                at += c.len_utf8();
            }
        }
    }
    push(start..text.len(), is_statement);
    chunks
}

/// Counts lines and columns once over a text, for places in rising order: a file of one long line
/// must not be counted anew for each of its statements.
pub(crate) struct PlaceCounter<'a> {
    text: &'a str,
    at: usize,
    line: usize,
    column: usize,
}

impl<'a> PlaceCounter<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        Self { text, at: 0, line: 1, column: 1 }
    }

    /// The place of a byte that does not lie before the last one asked for.
    pub(crate) fn of(&mut self, offset: usize) -> TextPlace {
        for byte in self.text.as_bytes().iter().take(offset).skip(self.at) {
            match byte {
                b'\n' => (self.line, self.column) = (self.line + 1, 1),
                // A byte that continues a character is no character of its own.
                0x80..0xC0 => {}
                _ => self.column += 1,
            }
        }
        self.at = self.at.max(offset);
        TextPlace { line: saturated(self.line), column: saturated(self.column) }
    }
}

/// Java's `Character.isWhitespace`: a no-break space is none, an information separator is one.
fn is_java_whitespace(c: char) -> bool {
    matches!(c, '\t'..='\r' | '\u{1C}'..=' ' | '\u{1680}' | '\u{2000}'..='\u{2006}' | '\u{2008}'..='\u{200A}'
        | '\u{2028}' | '\u{2029}' | '\u{205F}' | '\u{3000}')
}

#[cfg(test)]
#[path = "split_tests.rs"]
mod tests;
