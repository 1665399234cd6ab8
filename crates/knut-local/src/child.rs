//! Runs a program to its end while its lines are read and a clock ticks, so that its progress can be shown.

use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::process::{Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

/// How often [`Event::Tick`] comes while the program says nothing.
const TICK: Duration = Duration::from_millis(200);
/// How many of the program's last lines are kept for an error.
const N_KEPT_LINES: usize = 200;

/// What a running program's watcher is told.
pub(crate) enum Event<'a> {
    /// A line of its output or error output, without line end.
    Line(&'a str),
    /// Time has passed.
    Tick,
}

/// How a program ended.
pub(crate) struct Ended {
    pub(crate) status: ExitStatus,
    /// The last lines of what it wrote, oldest first.
    pub(crate) lines: Vec<String>,
}

/// Runs `command` without input and tells `watch` of each line and tick.
pub(crate) fn run(command: &mut Command, watch: &mut dyn FnMut(Event<'_>)) -> io::Result<Ended> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (sender, receiver) = mpsc::channel();
    let readers = [
        child.stdout.take().map(|out| read_lines(out, sender.clone())),
        child.stderr.take().map(|err| read_lines(err, sender)),
    ];
    let mut lines = VecDeque::new();
    loop {
        match receiver.recv_timeout(TICK) {
            Ok(line) => {
                watch(Event::Line(&line));
                if lines.len() == N_KEPT_LINES {
                    lines.pop_front();
                }
                lines.push_back(line);
            }
            Err(RecvTimeoutError::Timeout) => watch(Event::Tick),
            Err(RecvTimeoutError::Disconnected) => break,
        }
    }
    for reader in readers.into_iter().flatten() {
        // A reader ends with its pipe and cannot fail in a way that matters here.
        let _ = reader.join();
    }
    Ok(Ended { status: child.wait()?, lines: lines.into() })
}

fn read_lines(pipe: impl Read + Send + 'static, sender: Sender<String>) -> thread::JoinHandle<()> {
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while reader.read_until(b'\n', &mut bytes).is_ok_and(|n| n > 0) {
            let text = String::from_utf8_lossy(&bytes);
            // What a terminal would have overwritten is not a line.
            let line = text.trim_end().rsplit('\r').next().unwrap_or_default();
            if !line.is_empty() && sender.send(line.to_owned()).is_err() {
                return;
            }
            bytes.clear();
        }
    })
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_pipes_are_read_and_the_status_comes_back() {
        let mut command = Command::new("sh");
        command.args(["-c", "echo one; echo two >&2; printf 'a\\rb\\n'; exit 3"]);
        let mut n_lines = 0;
        let ended = run(&mut command, &mut |event| {
            if matches!(event, Event::Line(_)) {
                n_lines += 1;
            }
        })
        .unwrap();
        let mut lines = ended.lines;
        lines.sort();
        assert_eq!(lines, ["b", "one", "two"]);
        assert_eq!((n_lines, ended.status.code()), (3, Some(3)));
    }
}
