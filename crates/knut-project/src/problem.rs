//! What is wrong with a project, and where. Rendering with snippets is the caller's work.

use std::fmt;
use std::ops::Range;

use crate::code::Code;
use crate::text::visible;

/// A place in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Counted from 1.
    pub(crate) line: u32,
    /// Counted from 1, in characters.
    pub(crate) column: u32,
    /// The column behind the last character, on the same line; never before `column`.
    pub(crate) end_column: u32,
}

impl Place {
    /// A place with a width in characters.
    pub(crate) fn new(line: u32, column: u32, width: u32) -> Self {
        Self { line, column, end_column: column.saturating_add(width) }
    }
}

/// Where the lines of a text begin, so that many places in it are found without counting anew.
pub(crate) struct Lines<'a> {
    text: &'a str,
    starts: Vec<usize>,
}

impl<'a> Lines<'a> {
    pub(crate) fn new(text: &'a str) -> Self {
        let starts = [0].into_iter().chain(text.match_indices('\n').map(|(newline, _)| newline + 1));
        Self { text, starts: starts.collect() }
    }

    /// The place of some bytes, up to the end of their first line.
    pub(crate) fn span(&self, range: Range<usize>) -> Place {
        let bytes = self.text.as_bytes().get(range.clone()).unwrap_or_default();
        let line = bytes.split(|byte| matches!(byte, b'\n' | b'\r')).next().unwrap_or_default();
        let width = line.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        let place = self.place(range.start);
        Place::new(place.line, place.column, saturated(width))
    }

    /// The bytes of columns of a line, both counted from 1; the end of the line or the text if it is
    /// shorter.
    pub(crate) fn range(&self, line: u32, columns: Range<u32>) -> Range<usize> {
        let index = usize::try_from(line).unwrap_or(usize::MAX).saturating_sub(1);
        let start = self.starts.get(index).copied().unwrap_or(self.text.len());
        let line = self.text[start..].split('\n').next().unwrap_or_default();
        let byte = |column: u32| {
            let n_before = usize::try_from(column).unwrap_or(usize::MAX).saturating_sub(1);
            start + line.char_indices().nth(n_before).map_or(line.len(), |(at, _)| at)
        };
        byte(columns.start)..byte(columns.end.max(columns.start))
    }

    /// The place of a byte; the end if the text is shorter. Takes as long as the line is.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or_default();
        let before = &self.text.as_bytes()[start..offset];
        // A byte that continues a character is no character of its own.
        let n_chars = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        Place::new(saturated(line), saturated(n_chars + 1), 0)
    }
}

/// A count as `u32`. Files are far smaller than that; a larger count stays at the end.
pub(crate) fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// One thing that is wrong with a project.
///
/// Displayed as `file:line:column: message`; the help stands apart. Texts hold pieces of the
/// project's files, with characters that could act on a terminal written as escapes.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// What kind of problem; `None` for what is no matter of a project's content, such as a spec that
    /// is not found.
    pub code: Option<Code>,
    /// The file or folder, relative to the project where it lies in one. Exactly as it is named.
    pub file: String,
    /// The line, counted from 1; `None` when the problem is the whole file's.
    pub line: Option<u32>,
    /// The column, counted from 1 in characters; `None` when the problem is the whole file's.
    pub column: Option<u32>,
    /// The column behind the last character that it is about, on the same line; `column` itself when
    /// only a point is known, `None` when the problem is the whole file's.
    pub end_column: Option<u32>,
    /// What is wrong, as a lowercase fragment without full stop.
    pub message: String,
    /// What to do about it; may have several lines. `None` when the message says all.
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(code: Code, file: impl Into<String>, message: impl Into<String>) -> Self {
        Self { code: Some(code), ..Self::without_code(file, message) }
    }

    /// A problem that no check of a project can find.
    pub(crate) fn without_code(file: impl Into<String>, message: impl Into<String>) -> Self {
        let message = visible(&message.into(), |_| false);
        Self { code: None, file: file.into(), line: None, column: None, end_column: None, message, help: None }
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.line = Some(place.line);
        self.column = Some(place.column);
        self.end_column = Some(place.end_column);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(visible(&help.into(), |c| c == '\n'));
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&visible(&self.file, |_| false))?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        if let Some(column) = self.column {
            write!(f, ":{column}")?;
        }
        write!(f, ": {}", self.message)
    }
}

impl std::error::Error for Problem {}

/// Everything that is wrong with a project; at least one problem.
///
/// The order is the same on every run: the spec's problems by place, then `knut.toml`'s, then those
/// of the files in sorted order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problems(Vec<Problem>);

impl Problems {
    /// `None` when nothing is wrong.
    pub(crate) fn from_list(problems: Vec<Problem>) -> Option<Self> {
        (!problems.is_empty()).then_some(Self(problems))
    }

    /// The problems in order.
    pub fn problems(&self) -> &[Problem] {
        &self.0
    }
}

impl From<Problem> for Problems {
    fn from(problem: Problem) -> Self {
        Self(vec![problem])
    }
}

impl IntoIterator for Problems {
    type Item = Problem;
    type IntoIter = std::vec::IntoIter<Problem>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl fmt::Display for Problems {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, problem) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{problem}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Problems {}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_byte_has_a_line_and_a_column_in_characters() {
        for (text, offset, expected) in [
            ("", 0, (1, 1)),
            ("abc", 2, (1, 3)),
            ("a\nbc", 3, (2, 2)),
            ("a\r\nbc", 3, (2, 1)),
            ("é漢x", 5, (1, 3)),
            ("é", 99, (1, 2)),
        ] {
            let place = Lines::new(text).place(offset);
            assert_eq!((place.line, place.column), expected, "{text:?} {offset}");
        }
    }

    #[test]
    fn a_problem_prints_its_place_and_keeps_its_help_apart() {
        let problem = Problem::without_code("a.sql", "odd").at(Place::new(3, 7, 2)).help("mend it");
        assert_eq!(problem.to_string(), "a.sql:3:7: odd");
        assert_eq!(Problem::without_code("a.sql", "odd").to_string(), "a.sql: odd");
        let evil = Problem::without_code("a\u{1B}[2J\n.sql", "od\u{7}d").help("a\u{1B}\nb");
        assert_eq!(evil.to_string(), r"a\u{1b}[2J\u{a}.sql: od\u{7}d");
        assert_eq!(evil.help.as_deref(), Some("a\\u{1b}\nb"));
    }
}
