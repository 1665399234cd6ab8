//! Ends a project's server, and only that.

use std::fs;
use std::path::Path;

use crate::error::{Error, ErrorKind, Result};
use crate::process::{self, End, id_argument, project_argument};
use crate::progress::Progress;
use crate::project::ProjectFolder;
use crate::server::{Look, look};
use crate::state;

/// What a stop found and did.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stopped {
    /// There was no server to end.
    NotRunning,
    /// The server has ended.
    Ended {
        /// The process id it had.
        pid: u32,
        /// Whether it had to be killed because it did not end when asked.
        killed: bool,
    },
}

/// Ends the server of `project`, if one runs that knut started for it: asks it, waits, and kills it after 20 seconds.
/// Its tables and its log stay.
///
/// # Errors
/// [`ErrorKind::Locked`] if another start or stop of this project does not end; [`ErrorKind::Project`] if the state
/// cannot be read or removed; [`ErrorKind::Io`] if the process cannot be ended (it may be another user's).
pub fn stop(project: &ProjectFolder, progress: &mut dyn FnMut(Progress)) -> Result<Stopped> {
    let _lock = project.lock(progress)?;
    let mut stopped = Stopped::NotRunning;
    let known = match look(project)? {
        Look::Running { state, pid, .. } | Look::Starting { state, pid } => Some((pid, id_argument(&state.id))),
        Look::Unusable { pid, argument, .. } => Some((pid, argument)),
        Look::Ended { .. } | Look::Absent => None,
    };
    // Besides the one that is known: whatever else was started for this project and lost from sight.
    let argument = project_argument(&project.knut_folder());
    let lost = process::search(&argument).unwrap_or_default();
    let lost = lost.into_iter().map(|pid| (pid, argument.clone()));
    for (pid, argument) in known.into_iter().chain(lost) {
        progress(Progress::StoppingServer { pid });
        let end = process::end(pid, &argument).map_err(|source| {
            Error::new(ErrorKind::Io, format!("cannot end the local server, process {pid}")).with_source(source)
        })?;
        if end != End::Gone && stopped == Stopped::NotRunning {
            stopped = Stopped::Ended { pid, killed: end == End::Killed };
        }
    }
    clean_up(project)?;
    Ok(stopped)
}

/// Removes what only a running server needs. Called when none runs, under the lock.
pub(crate) fn clean_up(project: &ProjectFolder) -> Result<()> {
    state::remove(project)?;
    remove_folder(&project.temporary_folder());
    Ok(())
}

/// What cannot be removed now is removed before the next start.
fn remove_folder(folder: &Path) {
    let _ = fs::remove_dir_all(folder);
}
