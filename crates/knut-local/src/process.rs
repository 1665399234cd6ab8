//! Finds, recognises and ends server processes. A process counts as ours only by its arguments, never by its pid:
//! pids are used again.

use std::io;
use std::thread;
use std::time::{Duration, Instant};

/// The class that a server process runs; it stands in its arguments.
pub(crate) const SERVER_CLASS: &str = "org.apache.spark.sql.connect.service.SparkConnectServer";

/// How long a process has after the polite signal before it is killed.
const GRACE: Duration = Duration::from_secs(20);
/// How long a killed process may take to disappear.
const KILL_GRACE: Duration = Duration::from_secs(10);
const POLL: Duration = Duration::from_millis(25);

/// The argument by which one server is known.
pub(crate) fn id_argument(id: &str) -> String {
    format!("-Dknut.server.id={id}")
}

/// The argument by which the servers of one project are known when its state file is lost.
pub(crate) fn project_argument(knut_folder: &std::path::Path) -> String {
    format!("-Dknut.project={}", knut_folder.display())
}

/// How a process was ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// It was not there, or not ours.
    Gone,
    /// It ended when asked.
    Asked,
    /// It did not end when asked, and was killed.
    Killed,
}

/// Whether `pid` is now a server process with `argument`. A process that has ended but not been waited for is not.
pub(crate) fn is_server(pid: u32, argument: &str) -> bool {
    platform::arguments(pid).is_some_and(|arguments| arguments.belong_to(argument))
}

/// The server processes with `argument`, lowest pid first.
pub(crate) fn search(argument: &str) -> io::Result<Vec<u32>> {
    let mut pids: Vec<u32> = platform::all()?.into_iter().filter(|pid| is_server(*pid, argument)).collect();
    pids.sort_unstable();
    Ok(pids)
}

/// Ends the server process `pid` if it is one with `argument`: asks it, waits, and kills it if it will not.
pub(crate) fn end(pid: u32, argument: &str) -> io::Result<End> {
    let Some(handle) = platform::Handle::open(pid) else {
        return Ok(End::Gone);
    };
    // Checked after the handle is there: from now on a signal cannot reach another process with the same pid.
    if !is_server(pid, argument) {
        return Ok(End::Gone);
    }
    handle.signal(platform::Signal::Term)?;
    if wait_gone(pid, argument, GRACE) {
        return Ok(End::Asked);
    }
    if is_server(pid, argument) {
        handle.signal(platform::Signal::Kill)?;
    }
    if wait_gone(pid, argument, KILL_GRACE) {
        return Ok(End::Killed);
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, format!("process {pid} does not end")))
}

fn wait_gone(pid: u32, argument: &str, bound: Duration) -> bool {
    let start = Instant::now();
    loop {
        if !is_server(pid, argument) {
            return true;
        }
        if start.elapsed() > bound {
            return false;
        }
        thread::sleep(POLL);
    }
}

/// A process's command line, whole or in its parts.
enum Arguments {
    /// Each argument by itself.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only /proc tells them apart"))]
    Parts(Vec<Vec<u8>>),
    /// All of them joined by spaces.
    #[cfg_attr(all(target_os = "linux", not(test)), expect(dead_code, reason = "/proc tells them apart"))]
    Line(String),
}

impl Arguments {
    fn belong_to(&self, argument: &str) -> bool {
        match self {
            Self::Parts(parts) => {
                let has = |wanted: &str| parts.iter().any(|part| part == wanted.as_bytes());
                has(argument) && has(SERVER_CLASS)
            }
            Self::Line(line) => {
                line.split_once(argument).is_some_and(|(_, rest)| rest.starts_with(' ') && rest.contains(SERVER_CLASS))
            }
        }
    }
}

#[cfg(unix)]
mod platform {
    use super::{Arguments, io};
    use rustix::process::Pid;

    #[derive(Clone, Copy)]
    pub(super) enum Signal {
        Term,
        Kill,
    }

    impl From<Signal> for rustix::process::Signal {
        fn from(signal: Signal) -> Self {
            match signal {
                Signal::Term => Self::TERM,
                Signal::Kill => Self::KILL,
            }
        }
    }

    /// A process that signals can be sent to. On Linux it stays that process even if it ends and its pid is used
    /// again; elsewhere only a moment lies between the caller's check and the signal.
    pub(super) struct Handle {
        pid: Pid,
        #[cfg(target_os = "linux")]
        fd: Option<rustix::fd::OwnedFd>,
    }

    impl Handle {
        /// `None` if there is no such process.
        pub(super) fn open(pid: u32) -> Option<Self> {
            let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
            let pid = pid?;
            #[cfg(target_os = "linux")]
            {
                use rustix::process::{PidfdFlags, pidfd_open};
                match pidfd_open(pid, PidfdFlags::empty()) {
                    Ok(fd) => Some(Self { pid, fd: Some(fd) }),
                    Err(rustix::io::Errno::SRCH) => None,
                    // Kernels before 5.3 and some sandboxes do not have it.
                    Err(_) => Some(Self { pid, fd: None }),
                }
            }
            #[cfg(not(target_os = "linux"))]
            Some(Self { pid })
        }

        /// A process that has ended meanwhile is not an error.
        pub(super) fn signal(&self, signal: Signal) -> io::Result<()> {
            #[cfg(target_os = "linux")]
            let sent = match &self.fd {
                Some(fd) => rustix::process::pidfd_send_signal(fd, signal.into()),
                None => rustix::process::kill_process(self.pid, signal.into()),
            };
            #[cfg(not(target_os = "linux"))]
            let sent = rustix::process::kill_process(self.pid, signal.into());
            match sent {
                Ok(()) | Err(rustix::io::Errno::SRCH) => Ok(()),
                Err(error) => Err(error.into()),
            }
        }
    }

    /// `None` if there is no such process, or it has ended and only waits to be collected.
    #[cfg(target_os = "linux")]
    pub(super) fn arguments(pid: u32) -> Option<Arguments> {
        let bytes = std::fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let parts = bytes.split(|byte| *byte == 0).map(<[u8]>::to_vec);
        Some(Arguments::Parts(parts.collect()))
    }

    #[cfg(target_os = "linux")]
    pub(super) fn all() -> io::Result<Vec<u32>> {
        let mut pids = Vec::new();
        for entry in std::fs::read_dir("/proc")? {
            // A process may end while the folder is read.
            let Ok(entry) = entry else { continue };
            pids.extend(entry.file_name().to_str().and_then(|name| name.parse::<u32>().ok()));
        }
        Ok(pids)
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn arguments(pid: u32) -> Option<Arguments> {
        let text = ps(&["-ww", "-o", "command=", "-p", &pid.to_string()]).ok()?;
        Some(Arguments::Line(text))
    }

    #[cfg(not(target_os = "linux"))]
    pub(super) fn all() -> io::Result<Vec<u32>> {
        let text = ps(&["-ax", "-o", "pid="])?;
        Ok(text.lines().filter_map(|line| line.trim().parse().ok()).collect())
    }

    #[cfg(not(target_os = "linux"))]
    fn ps(arguments: &[&str]) -> io::Result<String> {
        let output = std::process::Command::new("ps").args(arguments).output()?;
        Ok(String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

#[cfg(not(unix))]
mod platform {
    //! Nothing can be started here (see `start`), so nothing can be found or ended.
    use super::{Arguments, io};

    #[derive(Clone, Copy)]
    pub(super) enum Signal {
        Term,
        Kill,
    }

    pub(super) struct Handle;

    impl Handle {
        pub(super) fn open(_pid: u32) -> Option<Self> {
            None
        }

        pub(super) fn signal(&self, _signal: Signal) -> io::Result<()> {
            Ok(())
        }
    }

    pub(super) fn arguments(_pid: u32) -> Option<Arguments> {
        None
    }

    pub(super) fn all() -> io::Result<Vec<u32>> {
        Ok(Vec::new())
    }
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};

    /// A process with the arguments of a server that ends when its input does or when it is asked.
    fn fake_server(id: &str, class: &str, script: &str) -> Child {
        Command::new("sh").args(["-c", script, "sh", &id_argument(id), class]).stdin(Stdio::piped()).spawn().unwrap()
    }

    #[test]
    fn a_process_is_ours_by_its_arguments_and_ends_when_asked() {
        let id = uuid::Uuid::new_v4().to_string();
        let argument = id_argument(&id);
        let mut child = fake_server(&id, SERVER_CLASS, "read x");
        let pid = child.id();
        while !is_server(pid, &argument) {
            thread::sleep(POLL);
        }
        assert_eq!(search(&argument).unwrap(), [pid]);
        let other = id_argument(&uuid::Uuid::new_v4().to_string());
        assert!(!is_server(pid, &other));
        assert_eq!(end(pid, &other).unwrap(), End::Gone, "a recycled pid");
        assert!(child.try_wait().unwrap().is_none(), "and it still runs");

        assert_eq!(end(pid, &argument).unwrap(), End::Asked);
        assert!(!is_server(pid, &argument), "an uncollected process is gone");
        child.wait().unwrap();
        assert_eq!(end(pid, &argument).unwrap(), End::Gone);
    }

    #[test]
    fn a_process_that_only_names_the_id_is_not_ours() {
        let id = uuid::Uuid::new_v4().to_string();
        let mut child = fake_server(&id, "grep", "read x");
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(300) {
            assert!(!is_server(child.id(), &id_argument(&id)));
            thread::sleep(POLL);
        }
        drop(child.stdin.take());
        child.wait().unwrap();
    }

    #[test]
    fn pids_that_cannot_be_are_gone() {
        let argument = id_argument("x");
        for pid in [0, u32::MAX, i32::MAX.cast_unsigned()] {
            assert_eq!(end(pid, &argument).unwrap(), End::Gone);
        }
    }

    #[test]
    fn a_line_of_ps_needs_the_whole_argument_and_the_class() {
        let line = |text: &str| Arguments::Line(text.to_owned());
        let argument = id_argument("a-b");
        assert!(line(&format!("java {argument} -cp x {SERVER_CLASS}")).belong_to(&argument));
        assert!(!line(&format!("java {argument}c -cp x {SERVER_CLASS}")).belong_to(&argument));
        assert!(!line(&format!("grep {argument}")).belong_to(&argument));
        assert!(!line("").belong_to(&argument));
    }
}
