//! What a long step is doing, for a caller that shows it. Nothing here knows how it is shown.

use std::path::PathBuf;
use std::time::Duration;

/// One report of what an install, a start or a stop is doing.
///
/// Reports of one kind repeat while the step goes on; the latest one is always the whole truth. Order of an install:
/// `[WaitingForInstall] JavaSkipped* [PreparingPython (Downloading* Checking Unpacking*)+]`. Order of a start:
/// `[WaitingForServer] JavaSkipped* StartingServer WaitingForAnswer*`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Progress {
    /// Another knut is installing into the same home; waiting for it to end.
    WaitingForInstall,
    /// Making the virtual environment whose pip fetches the packages.
    PreparingPython,
    /// pip is fetching a package.
    Downloading {
        /// The package's name in the registry.
        package: &'static str,
        /// Fetched so far.
        bytes: u64,
        /// The whole size as pip tells it (rounded); `None` until pip has said it.
        total_bytes: Option<u64>,
    },
    /// pip has the package and looks at what is in it.
    Checking {
        /// The package's name in the registry.
        package: &'static str,
    },
    /// Unpacking what is needed of a package.
    Unpacking {
        /// The package's name in the registry.
        package: &'static str,
        /// Read of the package so far.
        bytes: u64,
        /// The package's size; `None` until it is known.
        total_bytes: Option<u64>,
    },
    /// A Java that was looked at and is not used.
    JavaSkipped {
        /// The program, or the `JAVA_HOME` that was set.
        path: PathBuf,
        /// Why not, as one fragment.
        reason: String,
    },
    /// No usable Java was found, so one is installed.
    InstallingJava,
    /// Another knut is starting or stopping this project's server; waiting for it to end.
    WaitingForServer,
    /// The server's process has been started.
    StartingServer {
        /// Its process id.
        pid: u32,
    },
    /// Waiting until the server answers.
    WaitingForAnswer {
        /// Time since the wait began.
        elapsed: Duration,
    },
    /// The server has been asked to end.
    StoppingServer {
        /// Its process id.
        pid: u32,
    },
}

/// How this crate's functions take their progress callback.
pub(crate) type OnProgress<'a> = &'a mut dyn FnMut(Progress);
