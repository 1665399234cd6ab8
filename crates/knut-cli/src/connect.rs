//! Which server a command uses, and getting to it: a remote one, or the project's own on this machine.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};
use std::time::Duration;

use knut_client::{Endpoint, ErrorKind, PipelinesClient};
use knut_local::{
    Address, Home, InstallOptions, Installation, ProbeError, Progress, ProjectFolder, Server, ServerOptions, Status,
};
use knut_project::{Project, Remote};
use tokio::runtime::Handle;

use crate::args::ServerArgs;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::printer::Printer;
use crate::runs::KeptRun;

/// How long the end of a session may hold up the end of a command.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(5);

/// How long one look at a starting server may take.
const PROBE_TIMEOUT: Duration = Duration::from_secs(10);
/// After how long a word says what is being waited for.
const PATIENCE: Duration = Duration::from_secs(2);

/// Where to connect to.
#[derive(Debug)]
pub(crate) enum Target {
    /// A server somewhere.
    Remote(Endpoint),
    /// The server of the project in this folder.
    Local(PathBuf),
}

/// What the environment says of a server.
#[derive(Default)]
pub(crate) struct Environment {
    remote: Option<String>,
    token: Option<String>,
}

impl Environment {
    /// Reads `SPARK_REMOTE` and `SPARK_CONNECT_AUTHENTICATE_TOKEN`; empty is not set.
    pub(crate) fn read() -> Self {
        let get =
            |name| std::env::var(name).ok().map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        Self { remote: get("SPARK_REMOTE"), token: get("SPARK_CONNECT_AUTHENTICATE_TOKEN") }
    }
}

/// Chooses the server: the flag, then the environment, then the spec, then this machine. The spec is
/// only asked when nothing nearer says it.
pub(crate) fn choose(
    args: &ServerArgs,
    environment: Environment,
    in_spec: impl FnOnce() -> Result<Option<Remote>, Failure>,
    project: &Path,
) -> Result<Target, Failure> {
    let Environment { remote, token } = environment;
    let is_from_environment = args.remote.is_none() && remote.is_some();
    let url = match args.remote.clone().or(remote) {
        _ if args.local => None,
        Some(url) => Some(url),
        None => in_spec()?.map(|remote| remote.reveal().to_owned()),
    };
    let Some(url) = url else { return Ok(Target::Local(project.to_owned())) };
    let mut endpoint = Endpoint::parse(&url).map_err(|error| {
        let failure = Failure::from(error);
        if is_from_environment {
            failure.hint("it stands in SPARK_REMOTE; a connection string looks like sc://host:15002/;token=…")
        } else {
            failure
        }
    })?;
    if let (None, Some(token)) = (&endpoint.token, token) {
        endpoint = endpoint.token(token);
    }
    Ok(Target::Remote(endpoint))
}

/// A client, and the server behind it if it is one of this machine.
pub(crate) struct Connected {
    pub(crate) client: PipelinesClient,
    local: Option<Server>,
}

impl Connected {
    /// Whether the server was one of this machine and its process has ended.
    pub(crate) fn is_gone(&self) -> bool {
        let Some(server) = &self.local else { return false };
        // What cannot be found out is no reason to give up.
        ProjectFolder::new(server.project_root())
            .and_then(|project| Server::find(&project))
            .is_ok_and(|status| !matches!(status, Status::Running(running) if running.pid() == server.pid()))
    }

    /// Claims the project's local server for one run; `None` for a server elsewhere.
    ///
    /// Two runs of one project write the same tables and checkpoints, and ruin each other.
    pub(crate) fn lock(&self) -> Result<Option<File>, Failure> {
        let Some(server) = &self.local else { return Ok(None) };
        let file = File::create(server.project_root().join(".knut/run.lock"))?;
        match file.try_lock() {
            Ok(()) => Ok(Some(file)),
            Err(TryLockError::WouldBlock) => {
                let failure = Failure::new(ExitCode::Unexpected, "another run of this project is going on");
                Err(failure.hint("wait for its end: two runs would write the same tables at once"))
            }
            Err(TryLockError::Error(error)) => Err(error.into()),
        }
    }

    /// Ends the session, unless the user brought it along. The command has told its outcome: that
    /// the server does not forget the session at once changes nothing, so nobody waits long for it.
    pub(crate) async fn close(self) {
        if self.client.endpoint().session_id.is_none() {
            let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.client.close()).await;
        }
    }

    /// As [`close`](Self::close), for a session that an earlier knut made.
    pub(crate) async fn end_session(self) {
        let _ = tokio::time::timeout(CLOSE_TIMEOUT, self.client.close()).await;
    }

    /// Whether the server is the project's own on this machine.
    pub(crate) fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// A project's storage as its server is to be told, and whether checkpoints land just there.
    ///
    /// A local server may call the project's `.knut` folder by another path, because Spark writes
    /// checkpoints elsewhere when a path has a space or the like in it.
    pub(crate) fn storage(&self, project: &Project) -> (String, bool) {
        let storage = &project.spec.storage;
        let by_server = || {
            let inside = storage.uri.strip_prefix(&format!("file://{}/", project.root.join(".knut").display()))?;
            Some(format!("file://{}/{inside}", self.local.as_ref()?.knut_folder().display()))
        };
        match by_server() {
            Some(uri) => (uri, true),
            None => (storage.uri.clone(), storage.uri == storage.checkpoint_uri()),
        }
    }
}

/// Connects; a local server is installed and started if needed.
pub(crate) async fn connect(target: Target, printer: &mut Printer) -> Result<Connected, Failure> {
    let (mut endpoint, local) = match target {
        Target::Remote(endpoint) => (endpoint, None),
        Target::Local(project) => {
            let server = start_local(&project, None, printer).await?;
            (endpoint_of(server.address()), Some(server))
        }
    };
    endpoint.user_id = endpoint.user_id.or_else(user);
    let address = endpoint.to_string();
    let mut connecting = Box::pin(PipelinesClient::connect_to(endpoint));
    let client = if let Ok(connected) = tokio::time::timeout(PATIENCE, connecting.as_mut()).await {
        connected?
    } else {
        printer.note(&format!("connecting to {address}"));
        connecting.await?
    };
    Ok(Connected { client, local })
}

/// Connects to the session of a run that another process began. A local server is not started: with
/// the old one the session has gone.
pub(crate) async fn resume(
    run: &KeptRun,
    remote: Option<&str>,
    environment: &Environment,
    folder: &Path,
) -> Result<Connected, Failure> {
    let handle = &run.what.handle;
    let (endpoint, local) = match remote.or(environment.remote.as_deref()) {
        _ if run.what.is_local => {
            let Status::Running(server) = Server::find(&ProjectFolder::new(folder)?)? else {
                let text = format!("the local Spark server of run {} has ended, and with it what it knew", run.id());
                let failure = Failure::new(ExitCode::Unknown, text);
                return Err(failure.hint("look at the tables before you run again: flows may have committed"));
            };
            (endpoint_of(server.address()), Some(server))
        }
        // What the environment names may be another server; the flag is taken at its word.
        Some(url) => {
            let named = Endpoint::parse(url)?;
            let is_meant = remote.is_some() || (&named.host, named.port) == (&handle.host, handle.port);
            (if is_meant { named } else { handle.endpoint() }, None)
        }
        None => (handle.endpoint(), None),
    };
    let endpoint = match (&endpoint.token, &environment.token) {
        (None, Some(token)) => endpoint.token(token),
        _ => endpoint,
    };
    let client = PipelinesClient::resume(endpoint, handle).await.map_err(|error| {
        if error.is_session_lost() {
            let text = format!("the server has forgotten the session of run {}", run.id());
            let failure = Failure::new(ExitCode::Unknown, text);
            failure.hint("it was restarted, or nobody used the session for an hour; the tables tell what was written")
        } else {
            error.into()
        }
    })?;
    Ok(Connected { client, local })
}

/// Who is asking, for the server's own records.
fn user() -> Option<String> {
    ["USER", "USERNAME"].into_iter().find_map(|name| std::env::var(name).ok()).filter(|user| !user.is_empty())
}

fn endpoint_of(address: &Address) -> Endpoint {
    Endpoint::new(address.socket().ip().to_string(), address.port()).token(address.token().reveal())
}

/// Finds or starts the server of the project in `folder`.
pub(crate) async fn start_local(folder: &Path, port: Option<u16>, printer: &mut Printer) -> Result<Server, Failure> {
    let installation = install(printer).await?;
    let project = ProjectFolder::new(folder)?;
    let options = ServerOptions { port, ..ServerOptions::default() };
    let handle = Handle::current();
    blocking(printer, move |progress| {
        let mut probe = |address: &Address| handle.block_on(probe(address));
        knut_local::start(&installation, &project, &options, &mut probe, progress)
    })
    .await
}

/// Installs Spark unless it is there.
pub(crate) async fn install(printer: &mut Printer) -> Result<Installation, Failure> {
    let home = Home::from_env()?;
    if let Some(installation) = Installation::find(&home)? {
        return Ok(installation);
    }
    printer.note(&format!("installing Spark {} into {} (once)", knut_local::SPARK_VERSION, home.path().display()));
    blocking(printer, move |progress| knut_local::install(&home, &InstallOptions::default(), progress)).await
}

/// Asks for the server's version: only the real thing, with the right token, can answer.
async fn probe(address: &Address) -> Result<(), ProbeError> {
    let connecting = PipelinesClient::connect_to(endpoint_of(address));
    let Ok(connected) = tokio::time::timeout(PROBE_TIMEOUT, connecting).await else {
        return Err(ProbeError::NotReady("it takes the connection and does not answer".into()));
    };
    match connected {
        Ok(client) => {
            // A session that is left behind goes by itself after an hour.
            let _ = tokio::time::timeout(PROBE_TIMEOUT, client.close()).await;
            Ok(())
        }
        Err(error) if matches!(error.kind(), ErrorKind::Transport | ErrorKind::Timeout) => {
            Err(ProbeError::NotReady(Box::new(error)))
        }
        Err(error) => Err(ProbeError::Refused(Box::new(error))),
    }
}

/// Runs a long step on a thread of its own and shows its progress meanwhile.
pub(crate) async fn blocking<T: Send + 'static>(
    printer: &mut Printer,
    step: impl FnOnce(&mut dyn FnMut(Progress)) -> Result<T, knut_local::Error> + Send + 'static,
) -> Result<T, Failure> {
    let (sender, mut receiver) = tokio::sync::mpsc::unbounded_channel();
    let running = tokio::task::spawn_blocking(move || {
        step(&mut |progress| {
            // Nobody listens after an interrupt.
            let _ = sender.send(progress);
        })
    });
    let mut shown = Shown::default();
    while let Some(progress) = receiver.recv().await {
        shown.show(&progress, printer);
    }
    match running.await {
        Ok(result) => Ok(result?),
        Err(error) => Err(Failure::new(ExitCode::Unexpected, error.to_string())),
    }
}

/// What was said of a long step, so that it is said once, and figures only from time to time.
#[derive(Default)]
struct Shown {
    last: String,
    tenth: u64,
    seconds: u64,
}

impl Shown {
    fn show(&mut self, progress: &Progress, printer: &mut Printer) {
        let text = match progress {
            Progress::WaitingForInstall => "another knut is installing; waiting for it".to_owned(),
            Progress::PreparingPython => "preparing Python's installer".to_owned(),
            Progress::Downloading { package, bytes, total_bytes } => {
                return self.figures(&format!("downloading {package}"), *bytes, *total_bytes, printer);
            }
            Progress::Checking { package } => format!("checking {package}"),
            Progress::Unpacking { package, bytes, total_bytes } => {
                return self.figures(&format!("unpacking {package}"), *bytes, *total_bytes, printer);
            }
            Progress::JavaSkipped { path, reason } => format!("not using the Java at {}: {reason}", path.display()),
            Progress::InstallingJava => "no Java 17 or later found; installing one".to_owned(),
            Progress::WaitingForServer => {
                "another knut is starting or stopping this project's server; waiting for it".to_owned()
            }
            Progress::StartingServer { pid } => format!("starting Spark on this machine (process {pid})"),
            Progress::WaitingForAnswer { elapsed } => {
                // A word every five seconds tells that it is alive.
                let seconds = elapsed.as_secs() / 5 * 5;
                if seconds == self.seconds {
                    return;
                }
                self.seconds = seconds;
                format!("waiting for Spark to answer, {seconds} s")
            }
            Progress::StoppingServer { pid } => format!("stopping Spark (process {pid})"),
            _ => return,
        };
        self.once(text, printer);
    }

    fn once(&mut self, text: String, printer: &mut Printer) {
        if text != self.last {
            printer.note(&text);
            self.last = text;
        }
    }

    fn figures(&mut self, what: &str, bytes: u64, total_bytes: Option<u64>, printer: &mut Printer) {
        let mb = |bytes: u64| bytes / 1_000_000;
        let tenth =
            total_bytes.filter(|total| *total > 0).map_or(mb(bytes) / 50, |total| bytes.saturating_mul(10) / total);
        if self.last == what && tenth == self.tenth {
            return;
        }
        self.tenth = tenth;
        what.clone_into(&mut self.last);
        match total_bytes {
            Some(total) => printer.note(&format!("{what}, {} of {} MB", mb(bytes), mb(total))),
            None => printer.note(&format!("{what}, {} MB", mb(bytes))),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chosen(remote: Option<&str>, local: bool, environment: Option<&str>) -> String {
        let args = ServerArgs { remote: remote.map(str::to_owned), local };
        let environment = Environment { remote: environment.map(str::to_owned), token: Some("SENTINEL".to_owned()) };
        let in_spec = || Err(Failure::new(ExitCode::Invalid, "the spec is asked"));
        match choose(&args, environment, in_spec, Path::new("/p")) {
            Ok(Target::Remote(endpoint)) => format!("{endpoint} {}", endpoint.token.is_some()),
            Ok(Target::Local(folder)) => folder.display().to_string(),
            Err(_) => "refused".to_owned(),
        }
    }

    /// C054: flag over environment over spec over this machine.
    #[test]
    fn the_nearest_says_which_server() {
        assert_eq!(chosen(Some("sc://flag"), false, Some("sc://env")), "flag:15002 true");
        assert_eq!(chosen(None, false, Some("sc://env")), "env:15002 true");
        assert_eq!(chosen(None, false, None), "refused");
        assert_eq!(chosen(None, true, Some("sc://env")), "/p");
        assert_eq!(chosen(None, false, Some("local[*]")), "refused");
        let args = ServerArgs { remote: None, local: false };
        let target = choose(&args, Environment::default(), || Ok(None), Path::new("/p"));
        assert!(matches!(target, Ok(Target::Local(folder)) if folder == Path::new("/p")));
    }
}
