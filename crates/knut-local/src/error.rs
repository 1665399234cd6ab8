//! The one error of this crate: what failed, of which kind, and what the user can do next.

use std::fmt;
use std::io;
use std::path::Path;

/// What the functions of this crate return.
pub type Result<T, E = Error> = std::result::Result<T, E>;

/// What kind of failure an [`Error`] is, for callers that choose an exit code or a next step by it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorKind {
    /// knut's home folder cannot be named, made or written.
    Home,
    /// No `python3`, or one that cannot make a virtual environment.
    Python,
    /// The package registry could not be reached.
    Offline,
    /// The registry has no package that fits (version, Python, platform).
    PackageMissing,
    /// pip failed in a way that has no kind of its own, or what it fetched is not what was expected.
    Package,
    /// The disk is full or a quota is reached.
    DiskFull,
    /// No Java 17 or later.
    Java,
    /// The project's folder is missing, not writable, or holds tables that belong to another place.
    Project,
    /// An option that cannot be used as given.
    InvalidOption,
    /// Another program listens on the port that was asked for.
    PortTaken,
    /// A server of this project is running that was started otherwise than asked, or that cannot be reused.
    AlreadyRunning,
    /// The server ended before it answered.
    ServerExited,
    /// The server did not answer in time, or what answered is not the server that was started.
    ServerNotReady,
    /// Another knut held a lock for too long.
    Locked,
    /// Reading, writing or running something failed otherwise.
    Io,
    /// Local servers are not supported on this platform.
    Unsupported,
}

/// Why an install, a start or a stop failed.
///
/// Its text is one fragment without its source; [`std::error::Error::source`] has that, [`Error::hint`] the next
/// step and [`Error::details`] the last lines of the program that failed.
pub struct Error(Box<Inner>);

struct Inner {
    kind: ErrorKind,
    message: String,
    hint: Option<String>,
    details: Vec<String>,
    source: Option<Box<dyn std::error::Error + Send + Sync>>,
}

impl Error {
    /// What kind of failure this is.
    pub fn kind(&self) -> ErrorKind {
        self.0.kind
    }

    /// What the user can do about it, as one sentence fragment; `None` when there is nothing better than the text.
    pub fn hint(&self) -> Option<&str> {
        self.0.hint.as_deref()
    }

    /// The last lines of what the failed program (pip, the server) wrote, oldest first; empty when none ran.
    /// Control characters are removed.
    pub fn details(&self) -> &[String] {
        &self.0.details
    }

    pub(crate) fn new(kind: ErrorKind, message: impl Into<String>) -> Self {
        Self(Box::new(Inner { kind, message: message.into(), hint: None, details: Vec::new(), source: None }))
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.0.hint = Some(hint.into());
        self
    }

    /// As [`Self::with_hint`], but a hint that is there already stays: it knows more about the cause.
    pub(crate) fn with_hint_if_none(mut self, hint: &str) -> Self {
        self.0.hint.get_or_insert_with(|| hint.to_owned());
        self
    }

    pub(crate) fn with_details(mut self, lines: impl IntoIterator<Item = String>) -> Self {
        self.0.details =
            lines.into_iter().map(|line| line.chars().filter(|c| !c.is_control() || *c == '\t').collect()).collect();
        self
    }

    pub(crate) fn with_source(mut self, source: impl Into<Box<dyn std::error::Error + Send + Sync>>) -> Self {
        self.0.source = Some(source.into());
        self
    }

    /// Makes a plain I/O failure one of `kind`; a failure that has a kind of its own keeps it.
    pub(crate) fn with_kind(mut self, kind: ErrorKind) -> Self {
        if self.0.kind == ErrorKind::Io {
            self.0.kind = kind;
        }
        self
    }

    /// An I/O failure while doing `what` (a fragment such as "cannot read") to `path`. A full disk gets its own kind.
    pub(crate) fn io(what: &str, path: &Path, source: io::Error) -> Self {
        let full = matches!(source.kind(), io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded);
        let error = if full {
            Self::new(ErrorKind::DiskFull, format!("{what} {}", path.display()))
                .with_hint("free some disk space and try again")
        } else {
            Self::new(ErrorKind::Io, format!("{what} {}", path.display()))
        };
        error.with_source(source)
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0.message)
    }
}

impl fmt::Debug for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Error")
            .field("kind", &self.0.kind)
            .field("message", &self.0.message)
            .field("hint", &self.0.hint)
            .field("details", &self.0.details)
            .field("source", &self.0.source)
            .finish()
    }
}

impl std::error::Error for Error {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source.as_deref().map(|source| source as &(dyn std::error::Error + 'static))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_leaves_the_source_to_the_chain_and_a_full_disk_has_its_own_kind() {
        let error = Error::io("cannot write", Path::new("/x"), io::Error::from(io::ErrorKind::StorageFull));
        assert_eq!(error.to_string(), "cannot write /x");
        assert_eq!(error.kind(), ErrorKind::DiskFull);
        assert!(error.hint().is_some());
        assert!(std::error::Error::source(&error).is_some());
    }

    #[test]
    fn details_lose_control_characters() {
        let error = Error::new(ErrorKind::Package, "x").with_details(["a\u{1b}[31mb\tc".to_owned()]);
        assert_eq!(error.details(), ["a[31mb\tc"]);
    }
}
