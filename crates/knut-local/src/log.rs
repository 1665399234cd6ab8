//! Reads the server's log: where it listens, and its last lines for an error.

use std::fs::File;
use std::io::{self, Read as _, Seek as _, SeekFrom};
use std::net::SocketAddr;
use std::path::Path;

/// How much of a log's end is read for its last lines, in bytes.
const TAIL_BYTES: u64 = 64 * 1024;

/// What Spark 4.3's `SparkConnectServer` logs once its port is bound. Observed: "Spark Connect server started at:
/// 127.0.0.1:40085" (`tests/real.rs` starts real servers and so notices a change).
const STARTED: &str = "SparkConnectServer: Spark Connect server started at: ";

/// Where the server that writes this log listens; `None` if it has not said so yet.
pub(crate) fn bound_address(path: &Path) -> io::Result<Option<SocketAddr>> {
    // The line stands among the first: nothing a user's query writes can come before it.
    let mut text = Vec::new();
    File::open(path)?.take(TAIL_BYTES).read_to_end(&mut text)?;
    let text = String::from_utf8_lossy(&text);
    // Only whole lines: the last one may still be being written.
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    Ok(whole.lines().find_map(|line| line.split_once(STARTED)).and_then(|(_, address)| address.trim().parse().ok()))
}

/// The last `n` lines, oldest first; none if the log cannot be read. Stack frames are left out: what went wrong stands
/// above them, and they would push it out.
pub(crate) fn last_lines(path: &Path, n: usize) -> Vec<String> {
    let read = || -> io::Result<Vec<u8>> {
        let mut file = File::open(path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(length.saturating_sub(TAIL_BYTES)))?;
        let mut bytes = Vec::new();
        file.read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    let bytes = read().unwrap_or_default();
    let text = String::from_utf8_lossy(&bytes);
    let lines: Vec<_> = text.lines().filter(|line| !line.trim().is_empty() && !is_frame(line)).collect();
    let skip = lines.len().saturating_sub(n);
    lines[skip..].iter().map(|line| (*line).to_owned()).collect()
}

fn is_frame(line: &str) -> bool {
    let line = line.trim_start();
    line.starts_with("at ") || (line.starts_with("... ") && line.ends_with(" more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn log(text: &str) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), text).unwrap();
        file
    }

    #[test]
    fn the_address_is_read_once_its_line_is_whole() {
        let line = "2026-11-30T18:08:57.264Z INFO SparkConnectServer: Spark Connect server started at: 127.0.0.1:40085";
        assert_eq!(bound_address(log("").path()).unwrap(), None);
        assert_eq!(bound_address(log("a\nb").path()).unwrap(), None);
        assert_eq!(bound_address(log(line).path()).unwrap(), None, "still being written");
        let whole = log(&format!("a\n{line}\nb"));
        let address = bound_address(whole.path()).unwrap().unwrap();
        assert_eq!(address.to_string(), "127.0.0.1:40085");
    }

    #[test]
    fn the_last_lines_leave_out_stack_frames() {
        let file = log("one\nException: no\n\tat a.b(C.scala)\n\t... 5 more\n\nlast\n");
        assert_eq!(last_lines(file.path(), 2), ["Exception: no", "last"]);
        assert_eq!(last_lines(Path::new("/none"), 2), Vec::<String>::new());
    }
}
