//! The one place that writes: results to stdout, talk to stderr, nothing that could act on a terminal.

use std::borrow::Cow;
use std::fmt::Write as _;
use std::io::{self, IsTerminal as _, Write as _};

use anstream::{AutoStream, ColorChoice};
use anstyle::{AnsiColor, Style};
use knut_viewer::{is_hidden, visible};

use crate::args::Color;

/// How much to say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Verbosity {
    Quiet,
    Normal,
    Verbose,
}

/// What a word is about. Colour never carries meaning alone: the word is always there.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Tone {
    Good,
    Bad,
    Doubtful,
    Quiet,
}

impl Tone {
    fn style(self) -> Style {
        match self {
            Self::Good => Style::new().fg_color(Some(AnsiColor::Green.into())),
            Self::Bad => Style::new().bold().fg_color(Some(AnsiColor::Red.into())),
            Self::Doubtful => Style::new().fg_color(Some(AnsiColor::Yellow.into())),
            Self::Quiet => Style::new().dimmed(),
        }
    }
}

/// Where everything is written.
pub(crate) struct Printer {
    verbosity: Verbosity,
    /// Why a result could not be written; a reader that went away is no reason.
    lost: Option<io::Error>,
    /// Whether whoever read the results went away.
    is_reader_gone: bool,
    out: AutoStream<io::Stdout>,
    err: AutoStream<io::Stderr>,
}

impl Printer {
    pub(crate) fn new(verbosity: Verbosity, color: Color) -> Self {
        let choice = match color {
            Color::Auto => ColorChoice::Auto,
            Color::Always => ColorChoice::Always,
            Color::Never => ColorChoice::Never,
        };
        Self {
            verbosity,
            lost: None,
            is_reader_gone: false,
            out: AutoStream::new(io::stdout(), choice),
            err: AutoStream::new(io::stderr(), choice),
        }
    }

    pub(crate) fn is_quiet(&self) -> bool {
        self.verbosity == Verbosity::Quiet
    }

    pub(crate) fn is_verbose(&self) -> bool {
        self.verbosity == Verbosity::Verbose
    }

    /// A result, to stdout.
    pub(crate) fn result(&mut self, text: &str) {
        let written = writeln!(self.out, "{}", visible(text));
        self.keep(written);
    }

    /// A result in JSON, to stdout. What could act on a terminal stands in it as JSON writes it.
    pub(crate) fn json(&mut self, text: &str) {
        let written = writeln!(self.out, "{}", harmless_json(text));
        self.keep(written);
    }

    /// A result that begins with a word in a tone.
    pub(crate) fn toned_result(&mut self, before: &str, tone: Tone, word: &str, after: &str) {
        let style = tone.style();
        let written = writeln!(self.out, "{}{style}{word}{style:#}{}", visible(before), visible(after));
        self.keep(written);
    }

    /// Whole lines of data, to stdout: unchanged for a program, harmless for a terminal.
    pub(crate) fn data(&mut self, lines: &str) {
        let written = match io::stdout() {
            out if out.is_terminal() => self.out.write_all(visible(&lines.replace('\r', "")).as_bytes()),
            // Not through what takes colours away: what looks like one may be data.
            mut out => out.write_all(lines.as_bytes()),
        };
        self.keep(written);
    }

    /// Whether nobody reads the results any more, as after `| head`.
    pub(crate) fn is_reader_gone(&self) -> bool {
        self.is_reader_gone
    }

    fn keep(&mut self, written: io::Result<()>) {
        let error = written.and_then(|()| self.out.flush()).err();
        self.is_reader_gone |= error.as_ref().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        // A reader that went away has what it wanted.
        let error = error.filter(|error| error.kind() != io::ErrorKind::BrokenPipe);
        self.lost = self.lost.take().or(error);
    }

    /// Why a result was lost on its way out; `None` if none was.
    pub(crate) fn lost(&mut self) -> Option<io::Error> {
        self.lost.take()
    }

    /// Talk, to stderr.
    pub(crate) fn note(&mut self, text: &str) {
        if !self.is_quiet() {
            let _ = writeln!(self.err, "{}", visible(text));
        }
    }

    /// A line of the log: when, a word in a tone, the rest.
    pub(crate) fn log(&mut self, time: &str, tone: Tone, word: &str, rest: &str) {
        if !self.is_quiet() {
            let (dim, style) = (Tone::Quiet.style(), tone.style());
            let rest = visible(rest);
            let mut lines = rest.lines();
            let first = lines.next().unwrap_or("");
            let _ = writeln!(self.err, "{dim}{time}{dim:#} {style}{word:>4}{style:#} {first}");
            // Set in, so that no text of a server can pass for a line of the log.
            for line in lines {
                let _ = writeln!(self.err, "{:30}{line}", "");
            }
        }
    }

    /// An error or a warning with its label, to stderr, whatever the verbosity.
    pub(crate) fn labelled(&mut self, tone: Tone, label: &str, text: &str) {
        let style = tone.style();
        let text = visible(text);
        let mut lines = text.trim_end().lines();
        let _ = writeln!(self.err, "{style}{}:{style:#} {}", visible(label), lines.next().unwrap_or(""));
        for line in lines {
            let _ = writeln!(self.err, "  {line}");
        }
    }

    /// Text that was rendered for a terminal from harmless pieces, to stderr.
    pub(crate) fn rendered(&mut self, text: &str) {
        // The styles begin with the one control character that the pieces cannot have any more.
        let harmless: String =
            text.chars().map(|c| if is_hidden(c) && c != '\u{1b}' { '\u{fffd}' } else { c }).collect();
        let _ = writeln!(self.err, "{harmless}");
    }

    /// What belongs to the label before, indented under it.
    pub(crate) fn detail(&mut self, label: &str, text: &str) {
        let text = visible(text);
        let dim = Tone::Quiet.style();
        let indent = " ".repeat(label.len() + 4);
        for (index, line) in text.trim_end().lines().enumerate() {
            let _ = if index == 0 {
                writeln!(self.err, "  {dim}{label}:{dim:#} {line}")
            } else {
                writeln!(self.err, "{indent}{line}")
            };
        }
    }
}

/// JSON with every character that [`visible`] would replace written as JSON's own escape. Such characters
/// stand in its strings only.
fn harmless_json(text: &str) -> Cow<'_, str> {
    if !text.contains(is_hidden) {
        return Cow::Borrowed(text);
    }
    let mut out = String::with_capacity(text.len() + 8);
    for c in text.chars() {
        if is_hidden(c) {
            for unit in c.encode_utf16(&mut [0; 2]) {
                // Writing to a string cannot fail.
                let _ = write!(out, "\\u{unit:04x}");
            }
        } else {
            out.push(c);
        }
    }
    Cow::Owned(out)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn json_stays_json() {
        let text = serde_json::to_string("a\u{202e}b\u{feff}\u{9b}\u{7f}\n").unwrap();
        let harmless = harmless_json(&text);
        assert!(!harmless.contains(is_hidden));
        assert_eq!(serde_json::from_str::<String>(&harmless).unwrap(), "a\u{202e}b\u{feff}\u{9b}\u{7f}\n");
    }
}
