//! What is known of a project's server, and finding it.

use std::fmt;
use std::net::{IpAddr, SocketAddr};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::location;
use crate::process::{self, id_argument, project_argument};
use crate::project::ProjectFolder;
use crate::state::{self, Read, State};

/// A server's secret: whoever has it may run anything on the server. It does not show itself in debug output.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Token(String);

impl Token {
    /// The secret itself: ASCII letters and digits.
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// 244 random bits.
    pub(crate) fn random() -> Self {
        let half = || uuid::Uuid::new_v4().simple().to_string();
        Self(half() + &half())
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Where a server listens and what it wants to be shown. Its text is host and port, without the token.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Address {
    socket: SocketAddr,
    token: Token,
}

impl Address {
    pub(crate) fn new(port: u16, token: Token) -> Self {
        let ip = IpAddr::from([127, 0, 0, 1]);
        Self { socket: SocketAddr::new(ip, port), token }
    }

    /// Host and port; the host is this machine's loopback address.
    pub fn socket(&self) -> SocketAddr {
        self.socket
    }

    /// The port.
    pub fn port(&self) -> u16 {
        self.socket.port()
    }

    /// To be sent with each request, as `authorization: Bearer TOKEN`.
    pub fn token(&self) -> &Token {
        &self.token
    }

    /// The address as Spark Connect clients take it, `sc://localhost:PORT/;token=TOKEN`. It holds the secret.
    ///
    /// The name and not the number: PySpark encrypts what has a token, which this server does not, unless the host
    /// is called `localhost`.
    pub fn connection_string(&self) -> String {
        format!("sc://localhost:{}/;token={}", self.port(), self.token.reveal())
    }
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.socket.fmt(f)
    }
}

/// A running server of a project, started by knut.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Server {
    pid: u32,
    address: Address,
    log_path: PathBuf,
    project_root: PathBuf,
    knut_folder: PathBuf,
    spark_version: String,
    java_version: String,
    reused: bool,
}

impl Server {
    /// Looks for the server of `project`, without asking it anything: it runs, but need not answer.
    ///
    /// # Errors
    /// [`ErrorKind::Project`](crate::ErrorKind::Project) if its state cannot be read;
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the machine does not list its processes.
    pub fn find(project: &ProjectFolder) -> Result<Status> {
        Ok(match look(project)? {
            Look::Running { state, pid, port } => Status::Running(Self::new(project, &state, pid, port, true)),
            Look::Starting { pid, .. } => Status::Starting { pid },
            Look::Unusable { pid, reason, .. } => Status::Stale { pid: Some(pid), reason },
            Look::Ended { reason } => Status::Stale { pid: None, reason },
            Look::Absent => Status::Stopped,
        })
    }

    pub(crate) fn new(project: &ProjectFolder, state: &State, pid: u32, port: u16, reused: bool) -> Self {
        Self {
            pid,
            address: Address::new(port, state.token.clone()),
            log_path: project.log_path(),
            project_root: project.root().to_owned(),
            knut_folder: location::last_path(project),
            spark_version: state.spark_version.clone(),
            java_version: state.java_version.clone(),
            reused,
        }
    }

    /// Its process id.
    pub fn pid(&self) -> u32 {
        self.pid
    }

    /// Where it listens, and its token.
    pub fn address(&self) -> &Address {
        &self.address
    }

    /// Its log, which is kept when it ends, until the start after the next.
    pub fn log_path(&self) -> &Path {
        &self.log_path
    }

    /// The folder of its project.
    pub fn project_root(&self) -> &Path {
        &self.project_root
    }

    /// The path by which it calls the project's `.knut` folder: another one than
    /// [`ProjectFolder::knut_folder`] where that has characters that Spark does not take as they are.
    pub fn knut_folder(&self) -> &Path {
        &self.knut_folder
    }

    /// The Spark that it runs, such as `4.3.0`.
    pub fn spark_version(&self) -> &str {
        &self.spark_version
    }

    /// The Java that it runs on, such as `17.0.15`.
    pub fn java_version(&self) -> &str {
        &self.java_version
    }

    /// Whether it ran already when it was asked for.
    pub fn is_reused(&self) -> bool {
        self.reused
    }
}

/// Whether a project has a server.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Status {
    /// It has one that has answered.
    Running(Server),
    /// One has been started and has not answered yet.
    Starting {
        /// Its process id.
        pid: u32,
    },
    /// It has none.
    Stopped,
    /// What is known of its server is no longer true or not usable.
    Stale {
        /// A server process of this project that still runs but cannot be used, only stopped; `None`: it has ended,
        /// and the next start puts things in order.
        pid: Option<u32>,
        /// What is wrong, as one fragment.
        reason: String,
    },
}

/// As [`Status`], with what start and stop need.
#[derive(Debug)]
pub(crate) enum Look {
    Running { state: State, pid: u32, port: u16 },
    Starting { state: State, pid: u32 },
    Unusable { pid: u32, argument: String, reason: String },
    Ended { reason: String },
    Absent,
}

pub(crate) fn look(project: &ProjectFolder) -> Result<Look> {
    let by_project = |reason: &str| -> Result<Option<Look>> {
        let argument = project_argument(&project.knut_folder());
        let pid = search(&argument)?;
        Ok(pid.map(|pid| Look::Unusable { pid, argument, reason: reason.to_owned() }))
    };
    let ended = |reason: &str| Look::Ended { reason: reason.to_owned() };
    Ok(match state::read(project)? {
        Read::Absent => by_project("its state file is gone")?.unwrap_or(Look::Absent),
        Read::Garbled(what) => by_project(&format!("its state file cannot be read: {what}"))?
            .unwrap_or_else(|| ended(&format!("its state file cannot be read: {what}"))),
        Read::Foreign { id, pid } => match verified(pid, &id)? {
            Some(pid) if !is_of(project, pid) => elsewhere(pid),
            Some(pid) => Look::Unusable {
                pid,
                argument: id_argument(&id),
                reason: "another version of knut started it".to_owned(),
            },
            None => ended("it has ended without being stopped"),
        },
        Read::Known(state) => match (verified(state.pid, &state.id)?, state.port) {
            (Some(pid), _) if !is_of(project, pid) => elsewhere(pid),
            (Some(pid), Some(port)) => Look::Running { state, pid, port },
            (Some(pid), None) => Look::Starting { state, pid },
            (None, _) => ended("it has ended without being stopped"),
        },
    })
}

/// Whether a server process was started for this project. One that was copied, or moved while its server ran, has the
/// state file of another folder's server: to use that one would write there, to stop it would stop it under another's
/// hands.
fn is_of(project: &ProjectFolder, pid: u32) -> bool {
    process::is_server(pid, &project_argument(&project.knut_folder()))
}

fn elsewhere(pid: u32) -> Look {
    let reason =
        format!("the server it names, process {pid}, was started for another folder: this one was copied or moved");
    Look::Ended { reason }
}

/// The process with this id, if it runs. A pid that was never written down is searched for.
fn verified(pid: Option<u32>, id: &str) -> Result<Option<u32>> {
    let argument = id_argument(id);
    match pid {
        Some(pid) => Ok(process::is_server(pid, &argument).then_some(pid)),
        None => search(&argument),
    }
}

fn search(argument: &str) -> Result<Option<u32>> {
    let pids = process::search(argument)
        .map_err(|error| Error::io("cannot list the processes of", Path::new("this machine"), error))?;
    Ok(pids.first().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_random_and_does_not_show_itself() {
        let token = Token::random();
        assert_ne!(token, Token::random());
        assert_eq!(token.reveal().len(), 64);
        let address = Address::new(15002, token.clone());
        for text in [format!("{token:?}"), format!("{address:?}"), address.to_string()] {
            assert!(!text.contains(token.reveal()), "{text}");
        }
        assert_eq!(address.to_string(), "127.0.0.1:15002");
        assert!(address.connection_string().ends_with(token.reveal()));
    }

    /// A copied project has the id of the original's server, and must not touch it.
    #[cfg(unix)]
    #[test]
    fn the_server_of_a_copied_project_is_the_originals() {
        use std::process::{Command, Stdio};
        let folder = tempfile::tempdir().unwrap();
        let project = ProjectFolder::new(folder.path()).unwrap();
        project.create().unwrap();
        let mut state = State::new(Token::random(), "4.3.0", "17");
        let id = id_argument(&state.id);
        let start = |project: &str| {
            let arguments = ["-c", "read line", "sh", &id, project, process::SERVER_CLASS];
            Command::new("sh").args(arguments).stdin(Stdio::piped()).spawn().unwrap()
        };
        let own = project_argument(&project.knut_folder());
        for (argument, is_ours) in [(own.as_str(), true), ("-Dknut.project=/elsewhere/.knut", false)] {
            let mut child = start(argument);
            state.pid = Some(child.id());
            state.port = Some(1);
            state.write(&project).unwrap();
            // Its arguments are there a moment after it is.
            while !process::is_server(child.id(), &id) {
                std::thread::yield_now();
            }
            let found = Server::find(&project).unwrap();
            assert_eq!(matches!(found, Status::Running(_)), is_ours, "{found:?}");
            assert_eq!(matches!(found, Status::Stale { pid: None, .. }), !is_ours, "{found:?}");
            child.kill().unwrap();
            child.wait().unwrap();
        }
    }

    #[test]
    fn what_is_left_of_a_server_that_ended_is_stale_and_nothing_is_stopped() {
        let folder = tempfile::tempdir().unwrap();
        let project = ProjectFolder::new(folder.path()).unwrap();
        assert_eq!(Server::find(&project).unwrap(), Status::Stopped);
        project.create().unwrap();
        assert_eq!(Server::find(&project).unwrap(), Status::Stopped);

        let mut state = State::new(Token::random(), "4.3.0", "17");
        // This test's own process: a pid that is in use, but not by that server.
        state.pid = Some(std::process::id());
        state.port = Some(1);
        state.write(&project).unwrap();
        let status = Server::find(&project).unwrap();
        assert!(matches!(status, Status::Stale { pid: None, .. }), "{status:?}");

        std::fs::write(project.state_path(), "{").unwrap();
        let status = Server::find(&project).unwrap();
        assert!(matches!(status, Status::Stale { pid: None, .. }), "{status:?}");

        std::fs::remove_dir_all(project.knut_folder()).unwrap();
        assert_eq!(Server::find(&project).unwrap(), Status::Stopped);
    }
}
