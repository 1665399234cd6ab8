//! The exit codes: the one place that holds the numbers.

/// How `knut` ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ExitCode {
    /// All that was asked for was done.
    Ok,
    /// Something unexpected went wrong on this machine.
    Unexpected,
    /// The arguments are wrong.
    Usage,
    /// The spec or the definitions are wrong; no server was needed to see it.
    Invalid,
    /// The selection matches nothing, so nothing ran.
    NothingSelected,
    /// The server refused the graph.
    Unresolved,
    /// The run failed.
    Failed,
    /// No server could be reached or started, or it was lost.
    Unreachable,
    /// The run was cancelled on the server.
    Cancelled,
    /// Nobody can say how the run ended.
    Unknown,
    /// The user left; the run may go on.
    Interrupted,
}

/// The table for `--help`.
pub(crate) const HELP: &str = "\
Exit codes:
  0    done
  1    an unexpected error on this machine
  2    wrong arguments
  3    the spec or the definitions are wrong (no server was needed to see it)
  4    the selection matches nothing, so nothing ran
  5    the server refused the graph
  6    the run failed
  7    no server could be reached or started, or it was lost
  8    the run was cancelled on the server
  9    nobody can say how the run ended
  130  interrupted; the run may go on";

impl ExitCode {
    fn number(self) -> u8 {
        match self {
            Self::Ok => 0,
            Self::Unexpected => 1,
            Self::Usage => 2,
            Self::Invalid => 3,
            Self::NothingSelected => 4,
            Self::Unresolved => 5,
            Self::Failed => 6,
            Self::Unreachable => 7,
            Self::Cancelled => 8,
            Self::Unknown => 9,
            Self::Interrupted => 130,
        }
    }
}

impl From<ExitCode> for std::process::ExitCode {
    fn from(code: ExitCode) -> Self {
        Self::from(code.number())
    }
}
