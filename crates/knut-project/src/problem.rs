//! What is wrong with a project, and where. Rendering with snippets is the caller's work.

use std::fmt;

use crate::text::visible;

/// A place in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Counted from 1.
    pub(crate) line: u32,
    /// Counted from 1, in characters.
    pub(crate) column: u32,
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

    /// The line of a byte, counted from 1; the last if the text is shorter.
    pub(crate) fn line(&self, offset: usize) -> u32 {
        saturated(self.starts.partition_point(|start| *start <= offset))
    }

    /// The place of a byte; the end if the text is shorter. Takes as long as the line is.
    pub(crate) fn place(&self, offset: usize) -> Place {
        let offset = offset.min(self.text.len());
        let line = self.starts.partition_point(|start| *start <= offset);
        let start = line.checked_sub(1).and_then(|index| self.starts.get(index)).copied().unwrap_or_default();
        let before = &self.text.as_bytes()[start..offset];
        // A byte that continues a character is no character of its own.
        let n_chars = before.iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        Place { line: saturated(line), column: saturated(n_chars + 1) }
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
    /// The file or folder, relative to the project where it lies in one. Exactly as it is named.
    pub file: String,
    /// The line, counted from 1; `None` when the problem is the whole file's.
    pub line: Option<u32>,
    /// The column, counted from 1 in characters; `None` when the problem is the whole file's.
    pub column: Option<u32>,
    /// What is wrong, as a lowercase fragment without full stop.
    pub message: String,
    /// What to do about it; may have several lines. `None` when the message says all.
    pub help: Option<String>,
}

impl Problem {
    pub(crate) fn new(file: impl Into<String>, message: impl Into<String>) -> Self {
        let message = visible(&message.into(), |_| false);
        Self { file: file.into(), line: None, column: None, message, help: None }
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.line = Some(place.line);
        self.column = Some(place.column);
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
        let problem = Problem::new("a.sql", "odd").at(Place { line: 3, column: 7 }).help("mend it");
        assert_eq!(problem.to_string(), "a.sql:3:7: odd");
        assert_eq!(Problem::new("a.sql", "odd").to_string(), "a.sql: odd");
        let evil = Problem::new("a\u{1B}[2J\n.sql", "od\u{7}d").help("a\u{1B}\nb");
        assert_eq!(evil.to_string(), r"a\u{1b}[2J\u{a}.sql: od\u{7}d");
        assert_eq!(evil.help.as_deref(), Some("a\\u{1b}\nb"));
    }
}
