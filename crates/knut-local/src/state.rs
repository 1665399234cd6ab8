//! The file by which a later knut finds a running server again. It holds the token, so only its user may read it.

use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Write as _};
use std::path::Path;

use serde::{Deserialize, Serialize};

use crate::error::{Error, ErrorKind, Result};
use crate::project::ProjectFolder;
use crate::server::Token;

/// Grows when the meaning of [`State`] changes.
const FORMAT: u32 = 1;

/// What is known of a server that was started. `format`, `id` and `pid` keep their meaning in every format, so that
/// any knut can find and stop the server of any other.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct State {
    format: u32,
    /// Also in the process's arguments, which is how it is known again. Not a secret.
    pub(crate) id: String,
    /// `None` only between writing this and knowing it: the process is then looked for by its id.
    pub(crate) pid: Option<u32>,
    pub(crate) token: Token,
    /// Where it listens; `None` until it has answered once.
    pub(crate) port: Option<u16>,
    pub(crate) spark_version: String,
    pub(crate) java_version: String,
    /// As asked by the one who started it.
    pub(crate) confs: BTreeMap<String, String>,
    pub(crate) memory_mib: Option<u32>,
}

/// What a project's state file says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) enum Read {
    /// There is none.
    Absent,
    /// One of this format.
    Known(State),
    /// One of another format, but a server can be told from it.
    Foreign { id: String, pid: Option<u32> },
    /// One that tells nothing, with what is wrong with it.
    Garbled(String),
}

impl State {
    pub(crate) fn new(token: Token, spark_version: &str, java_version: &str) -> Self {
        Self {
            format: FORMAT,
            id: uuid::Uuid::new_v4().to_string(),
            pid: None,
            token,
            port: None,
            spark_version: spark_version.to_owned(),
            java_version: java_version.to_owned(),
            confs: BTreeMap::new(),
            memory_mib: None,
        }
    }

    /// Replaces the project's state file in one step. The new file is made readable by its user alone.
    pub(crate) fn write(&self, project: &ProjectFolder) -> Result<()> {
        let path = project.state_path();
        self.write_to(&path, &project.server_folder())
            .map_err(|error| Error::io("cannot write", &path, error).with_kind(ErrorKind::Project))
    }

    fn write_to(&self, path: &Path, folder: &Path) -> io::Result<()> {
        // `tempfile` makes its files with mode 0600, and renaming keeps it: there is no moment at which others can read.
        let mut file = tempfile::NamedTempFile::new_in(folder)?;
        file.write_all(&serde_json::to_vec_pretty(self)?)?;
        file.persist(path)?;
        Ok(())
    }
}

/// Reads the project's state file. Whatever is in it, this gives a value: the file may be of another knut, cut short
/// or edited.
///
/// # Errors
/// Only if the file is there and cannot be read.
pub(crate) fn read(project: &ProjectFolder) -> Result<Read> {
    let path = project.state_path();
    let text = match fs::read(&path) {
        Ok(text) => text,
        Err(error) if matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory) => {
            return Ok(Read::Absent);
        }
        Err(error) => {
            return Err(Error::io("cannot read", &path, error).with_kind(ErrorKind::Project));
        }
    };
    Ok(parse(&text))
}

pub(crate) fn remove(project: &ProjectFolder) -> Result<()> {
    let path = project.state_path();
    match fs::remove_file(&path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(Error::io("cannot remove", &path, error).with_kind(ErrorKind::Project))
        }
        _ => Ok(()),
    }
}

fn parse(text: &[u8]) -> Read {
    #[derive(Deserialize)]
    struct Core {
        format: u32,
        id: String,
        pid: Option<u32>,
    }
    let core: Core = match serde_json::from_slice(text) {
        Ok(core) => core,
        Err(error) => return Read::Garbled(error.to_string()),
    };
    // The id is looked for among processes' arguments: one that could fit any of them must not be used.
    if uuid::Uuid::try_parse(&core.id).is_err() || core.pid == Some(0) {
        return Read::Garbled("its id or pid is not one that knut writes".to_owned());
    }
    if core.format != FORMAT {
        return Read::Foreign { id: core.id, pid: core.pid };
    }
    match serde_json::from_slice(text) {
        Ok(state) => Read::Known(state),
        Err(error) => Read::Garbled(error.to_string()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state() -> State {
        let mut state = State::new(Token::random(), "4.3.0", "17.0.1");
        state.pid = Some(42);
        state.port = Some(15002);
        state
    }

    #[cfg(unix)]
    #[test]
    fn a_state_comes_back_as_written_and_only_its_user_may_read_it() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let project = ProjectFolder::new(folder.path()).unwrap();
        project.create().unwrap();
        assert_eq!(read(&project).unwrap(), Read::Absent);
        let state = state();
        state.write(&project).unwrap();
        state.write(&project).unwrap();
        assert_eq!(read(&project).unwrap(), Read::Known(state));
        let mode = fs::metadata(project.state_path()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        remove(&project).unwrap();
        remove(&project).unwrap();
        assert_eq!(read(&project).unwrap(), Read::Absent);
    }

    #[test]
    fn a_file_of_another_format_still_tells_which_process() {
        let id = uuid::Uuid::new_v4().to_string();
        let text = format!(r#"{{"format": 99, "id": "{id}", "pid": 7, "new": []}}"#);
        assert_eq!(parse(text.as_bytes()), Read::Foreign { id, pid: Some(7) });
    }

    #[test]
    fn garbled_files_are_told_as_such() {
        let whole = serde_json::to_string(&state()).unwrap();
        for end in 0..whole.len() {
            let read = parse(&whole.as_bytes()[..end]);
            assert!(matches!(read, Read::Garbled(_)), "{end}: {read:?}");
        }
        for text in [
            r#"{"format":1,"id":"","pid":1}"#,
            r#"{"format":1,"id":"x","pid":-1}"#,
            r#"{"format":2,"id":"*","pid":1}"#,
            "[]",
            "\u{0}",
        ] {
            assert!(matches!(parse(text.as_bytes()), Read::Garbled(_)), "{text}");
        }
    }
}
