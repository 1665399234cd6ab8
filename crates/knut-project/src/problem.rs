//! What is wrong with a project, and where. Rendering with snippets is the caller's work.

use std::fmt;

/// A place in a text file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Place {
    /// Counted from 1.
    pub(crate) line: u32,
    /// Counted from 1, in characters.
    pub(crate) column: u32,
}

impl Place {
    /// The place of a byte in a text; the end if the text is shorter.
    pub(crate) fn of_byte(text: &str, offset: usize) -> Self {
        let before = &text.as_bytes()[..offset.min(text.len())];
        let line_start = before.iter().rposition(|byte| *byte == b'\n').map_or(0, |newline| newline + 1);
        // A byte that continues a character is no character of its own.
        let n_chars = before[line_start..].iter().filter(|byte| (**byte & 0xC0) != 0x80).count();
        Self { line: saturated(before.split(|byte| *byte == b'\n').count()), column: saturated(n_chars + 1) }
    }
}

/// A count as `u32`. Files are far smaller than that; a larger count stays at the end.
pub(crate) fn saturated(count: usize) -> u32 {
    u32::try_from(count).unwrap_or(u32::MAX)
}

/// One thing that is wrong with a project.
///
/// Displayed as `file:line:column: message`; the help stands apart.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Problem {
    /// The file or folder, relative to the project where it lies in one.
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
        Self { file: file.into(), line: None, column: None, message: message.into(), help: None }
    }

    pub(crate) fn at(mut self, place: Place) -> Self {
        self.line = Some(place.line);
        self.column = Some(place.column);
        self
    }

    pub(crate) fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
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
            let place = Place::of_byte(text, offset);
            assert_eq!((place.line, place.column), expected, "{text:?} {offset}");
        }
    }

    #[test]
    fn a_problem_prints_its_place_and_keeps_its_help_apart() {
        let problem = Problem::new("a.sql", "odd").at(Place { line: 3, column: 7 }).help("mend it");
        assert_eq!(problem.to_string(), "a.sql:3:7: odd");
        assert_eq!(Problem::new("a.sql", "odd").to_string(), "a.sql: odd");
    }
}
