//! Starts a project's server, or gives the one that runs.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::net::TcpListener;
use std::process::{Child, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::installation::Installation;
use crate::java::{self, Java};
use crate::launch::{LOG4J, LOG4J_FILE, Launch, default_memory_mib};
use crate::location;
use crate::log;
use crate::options::ServerOptions;
use crate::process::{self, id_argument};
use crate::progress::{OnProgress, Progress};
use crate::project::ProjectFolder;
use crate::server::{Address, Look, Server, Token, look};
use crate::state::State;
use crate::stop::clean_up;

/// How long a server that is reused may take to answer. Long runs keep it busy, but it answers in between.
const REUSE_TIMEOUT: Duration = Duration::from_secs(15);
/// How many of the log's last lines an error carries.
const N_DETAILS: usize = 15;
const FIRST_PAUSE: Duration = Duration::from_millis(20);
const LONGEST_PAUSE: Duration = Duration::from_millis(250);

/// Why a probe did not succeed.
#[derive(Debug)]
pub enum ProbeError {
    /// The server does not answer yet; ask again.
    NotReady(Box<dyn std::error::Error + Send + Sync>),
    /// Something answered that is not this server, or does not take the token; asking again would not help.
    Refused(Box<dyn std::error::Error + Send + Sync>),
}

impl ProbeError {
    fn into_source(self) -> Box<dyn std::error::Error + Send + Sync> {
        match self {
            Self::NotReady(source) | Self::Refused(source) => source,
        }
    }
}

impl fmt::Display for ProbeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::NotReady(_) => "the server does not answer yet",
            Self::Refused(_) => "what answers is not the server that was started",
        })
    }
}

impl std::error::Error for ProbeError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        let (Self::NotReady(source) | Self::Refused(source)) = self;
        Some(source.as_ref())
    }
}

/// How [`start`] asks whether a server answers: one real RPC with the address's token. It must give up by itself
/// after a few seconds. Success proves that what listens there is the server that was started: only it knows the
/// token.
type Probe<'a> = &'a mut dyn FnMut(&Address) -> Result<(), ProbeError>;

/// Gives the server of `project`: the one that runs, else a new one, once it answers `probe`.
///
/// Of two starts at once one starts and the other waits and reuses. A start that was killed leaves a server that the
/// next start takes over. The server outlives this process; [`stop`](crate::stop()) ends it.
///
/// # Errors
/// [`ErrorKind::InvalidOption`], [`ErrorKind::Project`], [`ErrorKind::Java`] (none found), [`ErrorKind::PortTaken`],
/// [`ErrorKind::AlreadyRunning`] (a server that was started with other options, or that does not answer),
/// [`ErrorKind::ServerExited`], [`ErrorKind::ServerNotReady`] (the server is then ended), [`ErrorKind::Locked`],
/// [`ErrorKind::DiskFull`], [`ErrorKind::Io`], [`ErrorKind::Unsupported`] (not a Unix).
pub fn start(
    installation: &Installation,
    project: &ProjectFolder,
    options: &ServerOptions,
    probe: &mut dyn FnMut(&Address) -> Result<(), ProbeError>,
    progress: &mut dyn FnMut(Progress),
) -> Result<Server> {
    if !cfg!(unix) {
        return Err(Error::new(ErrorKind::Unsupported, "a local Spark server can be started on Linux and macOS only")
            .with_hint("use --remote with a Spark Connect server elsewhere"));
    }
    options.check()?;
    project.create()?;
    let _lock = project.lock(progress)?;
    match look(project)? {
        Look::Running { state, pid, port } => {
            fits(&state, Some(port), installation, options)?;
            reuse(&Server::new(project, &state, pid, port, true), probe)
        }
        Look::Starting { mut state, pid } => {
            fits(&state, None, installation, options)?;
            // Its starter died or was interrupted.
            let mut starting = Starting { project, process: Process::Adopted, pid, argument: id_argument(&state.id) };
            starting.finish(&mut state, options, probe, progress)
        }
        Look::Unusable { pid, reason, .. } => Err(Error::new(
            ErrorKind::AlreadyRunning,
            format!("the local server of this project (process {pid}) cannot be used: {reason}"),
        )
        .with_hint("`knut local stop` ends it; its tables stay")),
        Look::Ended { .. } | Look::Absent => {
            clean_up(project)?;
            start_new(installation, project, options, probe, progress)
        }
    }
}

/// Whether a server that runs is what `options` ask for.
fn fits(state: &State, port: Option<u16>, installation: &Installation, options: &ServerOptions) -> Result<()> {
    let differs = if state.spark_version != installation.spark_version() {
        Some(format!("with Spark {}", state.spark_version))
    } else if let (Some(asked), Some(port)) = (options.port, port)
        && asked != port
    {
        Some(format!("on port {port}"))
    } else if options.memory_mib.is_some() && options.memory_mib != state.memory_mib {
        Some("with other memory".to_owned())
    } else {
        let other = options.confs.iter().find(|(key, value)| state.confs.get(*key) != Some(value));
        other.map(|(key, _)| format!("with another {key}"))
    };
    match differs {
        None => Ok(()),
        Some(how) => {
            Err(Error::new(ErrorKind::AlreadyRunning, format!("the local server of this project already runs {how}"))
                .with_hint("`knut local stop` ends it, so that it can be started as asked"))
        }
    }
}

fn reuse(server: &Server, probe: Probe<'_>) -> Result<Server> {
    let start = Instant::now();
    let mut pause = FIRST_PAUSE;
    loop {
        let error = match probe(server.address()) {
            Ok(()) => return Ok(server.clone()),
            Err(error) => error,
        };
        let refused = matches!(error, ProbeError::Refused(_));
        if refused || start.elapsed() > REUSE_TIMEOUT {
            let pid = server.pid();
            return Err(Error::new(
                ErrorKind::AlreadyRunning,
                format!("the local server of this project (process {pid}) does not answer"),
            )
            .with_hint("`knut local stop` ends it; its tables stay")
            .with_details(log::last_lines(server.log_path(), N_DETAILS))
            .with_source(error.into_source()));
        }
        thread::sleep(pause);
        pause = (pause * 2).min(LONGEST_PAUSE);
    }
}

fn start_new(
    installation: &Installation,
    project: &ProjectFolder,
    options: &ServerOptions,
    probe: Probe<'_>,
    progress: OnProgress<'_>,
) -> Result<Server> {
    let java = Java::find(installation.home(), &options.java, progress).ok_or_else(java::missing)?;
    if let Some(port) = options.port {
        check_port(port)?;
    }
    let knut_folder = location::path(project, installation.home())?;
    let log = prepare_folder(project)?;

    let mut state = State::new(Token::random(), installation.spark_version(), &java.version);
    state.confs.clone_from(&options.confs);
    state.memory_mib = options.memory_mib;
    // Before the process: if this one dies between the two, the next knut finds the process by its id.
    state.write(project)?;
    let launch = Launch {
        installation,
        project,
        options,
        java: &java,
        knut_folder: &knut_folder,
        id: &state.id,
        token: &state.token,
        memory_mib: options.memory_mib.map_or_else(default_memory_mib, u64::from),
    };
    let child = spawn(&launch, &log)
        .map_err(|source| Error::io("cannot run", &java.program, source).with_kind(ErrorKind::Java));
    let child = match child {
        Ok(child) => child,
        Err(error) => {
            clean_up(project)?;
            return Err(error);
        }
    };
    let mut starting =
        Starting { project, pid: child.id(), process: Process::Child(child), argument: id_argument(&state.id) };
    starting.finish(&mut state, options, probe, progress)
}

/// A port that was asked for and is taken is told now, in plain words, rather than by the server's log.
fn check_port(port: u16) -> Result<()> {
    match TcpListener::bind(("127.0.0.1", port)) {
        Ok(_) => Ok(()),
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => Err(port_taken(port)),
        Err(error) => Err(Error::new(ErrorKind::InvalidOption, format!("cannot listen on port {port}"))
            .with_hint("choose another port, or leave it out to get any free one")
            .with_source(error)),
    }
}

fn port_taken(port: u16) -> Error {
    Error::new(ErrorKind::PortTaken, format!("another program already listens on port {port}"))
        .with_hint("choose another port, or leave it out to get any free one")
}

/// Makes the temporary folder and the log settings, keeps the last log and opens a new one.
fn prepare_folder(project: &ProjectFolder) -> Result<File> {
    let fail = |error| Error::io("cannot write to", &project.server_folder(), error).with_kind(ErrorKind::Project);
    fs::create_dir_all(project.temporary_folder()).map_err(fail)?;
    fs::write(project.server_folder().join(LOG4J_FILE), LOG4J).map_err(fail)?;
    let path = project.log_path();
    match fs::rename(&path, project.previous_log_path()) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(fail(error)),
        _ => {}
    }
    File::options().append(true).create(true).open(path).map_err(fail)
}

fn spawn(launch: &Launch<'_>, log: &File) -> io::Result<Child> {
    let mut command = launch.command();
    command.stdin(Stdio::null()).stdout(log.try_clone()?).stderr(log.try_clone()?);
    // A terminal's Ctrl-C goes to the group of the program in front of it, which the server must not be in.
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(&mut command, 0);
    command.spawn()
}

enum Process {
    /// Started here.
    Child(Child),
    /// Started by a knut that is gone.
    Adopted,
}

/// A server that runs and has not answered yet.
struct Starting<'a> {
    project: &'a ProjectFolder,
    process: Process,
    pid: u32,
    argument: String,
}

impl Starting<'_> {
    /// Waits until the server answers and writes down where. If that fails, the server is ended.
    fn finish(
        &mut self,
        state: &mut State,
        options: &ServerOptions,
        probe: Probe<'_>,
        progress: OnProgress<'_>,
    ) -> Result<Server> {
        progress(Progress::StartingServer { pid: self.pid });
        state.pid = Some(self.pid);
        let result =
            state.write(self.project).and_then(|()| self.wait(state, options, probe, progress)).and_then(|port| {
                state.port = Some(port);
                state.write(self.project)?;
                Ok(Server::new(self.project, state, self.pid, port, false))
            });
        if result.is_err() {
            // The first error is the one to tell. What cannot be ended or removed now, the next start deals with.
            let ended = process::end(self.pid, &self.argument);
            let _ = clean_up(self.project);
            if let (Ok(_), Process::Child(child)) = (ended, &mut self.process) {
                let _ = child.wait();
            }
        } else if let Process::Child(mut child) = std::mem::replace(&mut self.process, Process::Adopted) {
            // Collects the process when it ends, so that none is left behind as a zombie of a long-lived caller.
            thread::spawn(move || child.wait());
        }
        result
    }

    fn wait(
        &mut self,
        state: &State,
        options: &ServerOptions,
        probe: Probe<'_>,
        progress: OnProgress<'_>,
    ) -> Result<u16> {
        let log_path = self.project.log_path();
        let start = Instant::now();
        let mut pause = FIRST_PAUSE;
        let mut address: Option<Address> = None;
        let mut last_error = None;
        loop {
            if let Some(how) = self.ended() {
                return Err(self.exited(&how, options));
            }
            if address.is_none() {
                let bound =
                    log::bound_address(&log_path).map_err(|error| Error::io("cannot read", &log_path, error))?;
                address = bound.map(|bound| Address::new(bound.port(), state.token.clone()));
                if let (Some(asked), Some(address)) = (options.port, &address)
                    && asked != address.port()
                {
                    return Err(port_taken(asked));
                }
                if address.is_some() {
                    pause = FIRST_PAUSE;
                }
            }
            if let Some(address) = &address {
                match probe(address) {
                    Ok(()) => return Ok(address.port()),
                    Err(ProbeError::NotReady(error)) => last_error = Some(error),
                    Err(ProbeError::Refused(error)) => {
                        return Err(Error::new(
                            ErrorKind::ServerNotReady,
                            format!("what answers on {address} is not the server that was started"),
                        )
                        .with_hint("try again")
                        .with_source(error));
                    }
                }
            }
            if start.elapsed() > options.start_timeout {
                let seconds = options.start_timeout.as_secs_f32();
                let error = Error::new(
                    ErrorKind::ServerNotReady,
                    format!("the local server did not answer within {seconds} s and was ended"),
                )
                .with_hint(format!("its log is {}", log_path.display()))
                .with_details(log::last_lines(&log_path, N_DETAILS));
                return Err(match last_error {
                    Some(source) => error.with_source(source),
                    None => error,
                });
            }
            progress(Progress::WaitingForAnswer { elapsed: start.elapsed() });
            thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }

    /// How the process ended; `None` while it runs.
    fn ended(&mut self) -> Option<String> {
        match &mut self.process {
            Process::Child(child) => match child.try_wait() {
                Ok(Some(status)) => Some(status.to_string()),
                Ok(None) | Err(_) => None,
            },
            Process::Adopted => {
                (!process::is_server(self.pid, &self.argument)).then(|| "its status is not known".to_owned())
            }
        }
    }

    fn exited(&self, how: &str, options: &ServerOptions) -> Error {
        let log_path = self.project.log_path();
        let lines = log::last_lines(&log_path, N_DETAILS);
        // Taken between the check and the server's own try.
        let taken = lines.iter().any(|line| line.contains("Address already in use"));
        match options.port {
            Some(port) if taken => port_taken(port).with_details(lines),
            _ => Error::new(ErrorKind::ServerExited, format!("the local server ended before it answered ({how})"))
                .with_hint(format!("its log is {}", log_path.display()))
                .with_details(lines),
        }
    }
}
