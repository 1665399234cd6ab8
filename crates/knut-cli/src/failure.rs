//! What ends a command early: an error, the exit code that goes with it and what to do next.

use knut_project::{Code, Problem};

use crate::exit_code::ExitCode;
use crate::hints;
use crate::printer::{Printer, Tone};

/// How many errors are printed; more are counted only.
const MAX_ERRORS: usize = 50;

/// Why a command ends early.
pub(crate) struct Failure {
    code: ExitCode,
    /// What is wrong.
    errors: Vec<One>,
    /// The last lines of a program that failed.
    output: Vec<String>,
    /// The lines that the error is about, rendered.
    snippet: Option<String>,
}

/// One thing that is wrong.
struct One {
    /// The code that `check --explain` explains; `None` for what no check finds.
    code: Option<Code>,
    text: String,
    help: Option<String>,
}

impl One {
    fn new(text: impl Into<String>, help: Option<String>) -> Self {
        Self { code: None, text: text.into(), help }
    }
}

impl Failure {
    pub(crate) fn new(code: ExitCode, text: impl Into<String>) -> Self {
        Self { code, errors: vec![One::new(text, None)], output: Vec::new(), snippet: None }
    }

    /// The first of several things that are wrong.
    pub(crate) fn listing(code: ExitCode, text: impl Into<String>, help: Option<String>) -> Self {
        Self { code, errors: vec![One::new(text, help)], output: Vec::new(), snippet: None }
    }

    /// One more thing that is wrong.
    pub(crate) fn also(mut self, text: impl Into<String>, help: Option<String>) -> Self {
        self.errors.push(One::new(text, help));
        self
    }

    pub(crate) fn hint(mut self, hint: impl Into<String>) -> Self {
        if let Some(error) = self.errors.last_mut() {
            error.help = Some(hint.into());
        }
        self
    }

    /// The first error.
    #[cfg(test)]
    pub(crate) fn text(&self) -> &str {
        self.errors.first().map_or("", |one| &one.text)
    }

    /// Says of every error where it belongs.
    pub(crate) fn context(mut self, context: &str) -> Self {
        for One { text, .. } in &mut self.errors {
            *text = format!("{context}: {text}");
        }
        self
    }

    /// Adds the lines that the error is about.
    pub(crate) fn snippet(mut self, snippet: Option<String>) -> Self {
        self.snippet = snippet;
        self
    }

    /// Prints everything and gives the code.
    pub(crate) fn print(self, printer: &mut Printer) -> ExitCode {
        for One { code, text, help } in self.errors.iter().take(MAX_ERRORS) {
            let label = code.map_or("error".to_owned(), |code| format!("error[{code}]"));
            printer.labelled(Tone::Bad, &label, text);
            for line in &self.output {
                printer.detail("log", line);
            }
            if let Some(snippet) = &self.snippet {
                printer.rendered(snippet);
            }
            if let Some(help) = help {
                printer.detail("help", help);
            }
        }
        if self.errors.len() > MAX_ERRORS {
            printer.labelled(Tone::Bad, "error", &format!("and {} more", self.errors.len() - MAX_ERRORS));
        }
        self.code
    }
}

/// An error and why, in one text: each source on a line of its own.
fn with_sources(error: &dyn std::error::Error) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(error) = source {
        let cause = error.to_string();
        if !text.contains(&cause) {
            text.push('\n');
            text.push_str(&cause);
        }
        source = error.source();
    }
    text
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(ExitCode::Unexpected, error.to_string())
    }
}

impl From<Problem> for Failure {
    fn from(problem: Problem) -> Self {
        knut_project::Problems::from(problem).into()
    }
}

impl From<knut_project::Problems> for Failure {
    fn from(problems: knut_project::Problems) -> Self {
        let one = |problem: Problem| One { code: problem.code, text: problem.to_string(), help: problem.help };
        Self {
            code: ExitCode::Invalid,
            errors: problems.into_iter().map(one).collect(),
            output: Vec::new(),
            snippet: None,
        }
    }
}

impl From<knut_client::Error> for Failure {
    fn from(error: knut_client::Error) -> Self {
        use knut_client::ErrorKind;
        let code = match error.kind() {
            ErrorKind::Usage => ExitCode::Usage,
            // Nothing was run yet, but what was defined is gone.
            _ if error.is_session_lost() => ExitCode::Unreachable,
            ErrorKind::Server => ExitCode::Unresolved,
            ErrorKind::Cancelled => ExitCode::Cancelled,
            _ => ExitCode::Unreachable,
        };
        Self {
            code,
            errors: vec![One::new(with_sources(&error), hints::for_error(&error))],
            output: Vec::new(),
            snippet: None,
        }
    }
}

impl From<knut_local::Error> for Failure {
    fn from(error: knut_local::Error) -> Self {
        use knut_local::ErrorKind;
        let code = match error.kind() {
            ErrorKind::InvalidOption | ErrorKind::AlreadyRunning => ExitCode::Usage,
            ErrorKind::Io => ExitCode::Unexpected,
            // No Python, no Java, no disk, no network: there is no server to run on.
            _ => ExitCode::Unreachable,
        };
        let help = error.hint().map(str::to_owned);
        Self {
            code,
            errors: vec![One::new(with_sources(&error), help)],
            output: error.details().to_vec(),
            snippet: None,
        }
    }
}
