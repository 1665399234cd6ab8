//! Fetches and unpacks packages with a virtual environment's pip, and says in plain words why that failed.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::child::{self, Ended, Event};
use crate::error::{Error, ErrorKind, Result};
use crate::progress::{OnProgress, Progress};

/// How many of pip's last lines an error carries.
const N_DETAILS: usize = 12;

/// Unpacks in Python because its decompression is native: the same in Rust is many times slower in a debug build.
const UNPACK: &str = include_str!("unpack.py");

/// What is fetched from the registry.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Package {
    pub(crate) name: &'static str,
    /// What pip is asked for.
    pub(crate) requirement: &'static str,
    /// Whether only a wheel will do: a source archive of it would have to be built.
    pub(crate) wheel_only: bool,
}

/// A virtual environment in a staging folder, used once and thrown away with it.
pub(crate) struct Pip {
    python: PathBuf,
    stage: PathBuf,
}

impl Pip {
    /// Makes the virtual environment with the machine's `python`.
    pub(crate) fn prepare(python: &Path, stage: &Path, progress: OnProgress<'_>) -> Result<Self> {
        progress(Progress::PreparingPython);
        let venv = stage.join("venv");
        let ended = run(Command::new(python).args(["-m", "venv"]).arg(&venv), stage, &mut |_| ())
            .map_err(|source| python_error(python, source))?;
        if !ended.status.success() {
            return Err(venv_error(python, &ended.lines));
        }
        let folder = if cfg!(windows) { "Scripts" } else { "bin" };
        Ok(Self { python: venv.join(folder).join("python"), stage: stage.to_owned() })
    }

    /// Downloads `package` and gives the path of its archive.
    pub(crate) fn download(&self, package: Package, progress: OnProgress<'_>) -> Result<PathBuf> {
        let folder = self.stage.join(format!("{}-download", package.name));
        let temporary = self.stage.join("tmp");
        let mut total_bytes = None;
        let mut checking = false;
        progress(Progress::Downloading { package: package.name, bytes: 0, total_bytes });
        let mut command = Command::new(&self.python);
        command.args(["-m", "pip", "download", "--no-deps", "--no-input", "--dest"]);
        command.arg(&folder);
        if package.wheel_only {
            command.args(["--only-binary", ":all:"]);
        }
        command.arg(package.requirement);
        let ended = run(&mut command, &self.stage, &mut |event| {
            match event {
                Event::Line(line) => {
                    if let Some(bytes) = announced_size(line, package.name) {
                        total_bytes = Some(bytes);
                    } else if total_bytes.is_some() && line.contains("started") {
                        // "Installing build dependencies: started": the archive is there.
                        checking = true;
                    }
                }
                Event::Tick => {}
            }
            if checking {
                progress(Progress::Checking { package: package.name });
            } else {
                let bytes = largest_file(&temporary, package.name);
                progress(Progress::Downloading {
                    package: package.name,
                    bytes: bytes.min(total_bytes.unwrap_or(u64::MAX)),
                    total_bytes,
                });
            }
        })
        .map_err(|source| python_error(&self.python, source))?;
        if !ended.status.success() {
            return Err(pip_error(package, &ended.lines));
        }
        only_file(&folder, package)
    }

    /// Unpacks what is needed of `archive` into `destination`, which is made.
    pub(crate) fn unpack(
        &self,
        package: Package,
        archive: &Path,
        destination: &Path,
        progress: OnProgress<'_>,
    ) -> Result<()> {
        progress(Progress::Unpacking { package: package.name, bytes: 0, total_bytes: None });
        fs::create_dir_all(destination).map_err(|error| Error::io("cannot make", destination, error))?;
        let mut command = Command::new(&self.python);
        command.args(["-c", UNPACK]).arg(archive).arg(destination);
        let ended = run(&mut command, &self.stage, &mut |event| {
            if let Event::Line(line) = event
                && let Some((bytes, total)) = line.split_once(' ')
                && let (Ok(bytes), Ok(total)) = (bytes.parse(), total.parse())
            {
                progress(Progress::Unpacking { package: package.name, bytes, total_bytes: Some(total) });
            }
        })
        .map_err(|source| python_error(&self.python, source))?;
        if ended.status.success() {
            return Ok(());
        }
        if let Some(error) = disk_full(&ended.lines) {
            return Err(error);
        }
        Err(Error::new(ErrorKind::Package, format!("cannot unpack {}", package.requirement))
            .with_hint("try again; the package may have been damaged on its way")
            .with_details(last(&ended.lines)))
    }
}

/// Runs a Python or pip command whose temporary files stay in the staging folder: `/tmp` may be too small for them,
/// and what a killed pip leaves behind goes with the folder.
fn run(command: &mut Command, stage: &Path, watch: &mut dyn FnMut(Event<'_>)) -> io::Result<Ended> {
    let temporary = stage.join("tmp");
    fs::create_dir_all(&temporary)?;
    command
        .env("TMPDIR", &temporary)
        .env("TEMP", &temporary)
        .env("TMP", &temporary)
        .env("PYTHONUNBUFFERED", "1")
        .env("PYTHONUTF8", "1")
        .env("PIP_DISABLE_PIP_VERSION_CHECK", "1")
        .env("PIP_NO_COLOR", "1")
        // A user's settings for installing would make a download fail.
        .env("PIP_USER", "0")
        .env_remove("PIP_TARGET")
        .env_remove("PIP_PREFIX")
        // The messages are read here.
        .env("LC_ALL", "C.UTF-8")
        .env_remove("PYTHONHOME")
        .env_remove("PYTHONPATH");
    child::run(command, watch)
}

/// The size in `Downloading pyspark-4.3.0.tar.gz (455.9 MB)` or `Using cached …`, if the line is about `package`.
/// pip's units are powers of 1000.
fn announced_size(line: &str, package: &str) -> Option<u64> {
    let line = line.trim();
    let rest = line.strip_prefix("Downloading ").or_else(|| line.strip_prefix("Using cached "))?;
    let (name, size) = rest.split_once(" (")?;
    if !name.rsplit('/').next()?.starts_with(package) {
        return None;
    }
    let (number, unit) = size.strip_suffix(')')?.split_once(' ')?;
    let factor: u64 = match unit {
        "bytes" => 1,
        "kB" => 1_000,
        "MB" => 1_000_000,
        "GB" => 1_000_000_000,
        _ => return None,
    };
    // Whole and tenths apart: a float would need a cast that can lose its sign.
    let (whole, tenths) = number.split_once('.').unwrap_or((number, "0"));
    let tenths: u64 = tenths.chars().next()?.to_digit(10)?.into();
    let whole: u64 = whole.parse().ok()?;
    whole.checked_mul(factor)?.checked_add(tenths * factor / 10)
}

/// The size of the largest file of `package` that pip has under its temporary folder; 0 if there is none yet.
fn largest_file(temporary: &Path, package: &str) -> u64 {
    let subfolders = list(temporary).filter(|path| path.is_dir());
    subfolders
        .flat_map(|folder| list(&folder))
        .filter(|path| path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(package)))
        .filter_map(|path| fs::metadata(path).ok())
        .filter(fs::Metadata::is_file)
        .map(|metadata| metadata.len())
        .max()
        .unwrap_or(0)
}

/// What is in `folder`; nothing if it cannot be read, which while pip works on it is not an error.
fn list(folder: &Path) -> impl Iterator<Item = PathBuf> + use<> {
    fs::read_dir(folder).into_iter().flatten().filter_map(|entry| Some(entry.ok()?.path()))
}

fn only_file(folder: &Path, package: Package) -> Result<PathBuf> {
    let mut files = list(folder);
    match (files.next(), files.next()) {
        (Some(file), None) => Ok(file),
        _ => Err(Error::new(ErrorKind::Package, format!("pip did not leave one archive of {}", package.requirement))),
    }
}

fn python_error(python: &Path, source: io::Error) -> Error {
    if source.kind() == io::ErrorKind::NotFound {
        return Error::new(ErrorKind::Python, format!("no {} was found", python.display()))
            .with_hint("install Python 3.10 or later; knut fetches Spark with its pip");
    }
    Error::io("cannot run", python, source)
        .with_kind(ErrorKind::Python)
        .with_hint_if_none("install Python 3.10 or later; knut fetches Spark with its pip")
}

fn venv_error(python: &Path, lines: &[String]) -> Error {
    if let Some(error) = disk_full(lines) {
        return error;
    }
    let text = lines.join("\n");
    let without_pip =
        ["ensurepip", "No module named venv", "No module named pip"].iter().any(|part| text.contains(part));
    let error =
        Error::new(ErrorKind::Python, format!("{} cannot make a virtual environment with pip", python.display()))
            .with_details(last(lines));
    if without_pip {
        error.with_hint("install Python's venv module; on Debian and Ubuntu: apt install python3-venv")
    } else {
        error.with_hint("`python3 -m venv` must work; install Python 3.10 or later")
    }
}

fn pip_error(package: Package, lines: &[String]) -> Error {
    if let Some(error) = disk_full(lines) {
        return error;
    }
    let text = lines.join("\n");
    let says = |parts: &[&str]| parts.iter().any(|part| text.contains(part));
    let error = if says(&[
        "NewConnectionError",
        "ConnectTimeoutError",
        "ReadTimeoutError",
        "ProxyError",
        "Name or service not known",
        "Temporary failure in name resolution",
        "nodename nor servname",
        "Network is unreachable",
        "No route to host",
        "Connection refused",
        "Connection broken",
        "ConnectionResetError",
        "SSLError",
        "timed out",
    ]) {
        Error::new(
            ErrorKind::Offline,
            format!("cannot fetch {}: the Python package registry was not reached", package.requirement),
        )
        .with_hint("check the network, and pip's own settings if a proxy or mirror is needed")
    } else if says(&["Requires-Python", "requires a different Python", "requires a different python"]) {
        Error::new(ErrorKind::PackageMissing, format!("this Python is too old for {}", package.requirement))
            .with_hint("install Python 3.10 or later")
    } else if says(&["No matching distribution found", "Could not find a version"]) {
        Error::new(
            ErrorKind::PackageMissing,
            format!("the package registry that pip uses has no {} for this machine", package.requirement),
        )
        .with_hint("if pip is set to use a mirror, check that it carries this package")
    } else {
        Error::new(ErrorKind::Package, format!("pip cannot fetch {}", package.requirement))
            .with_hint("pip's last lines say why")
    };
    error.with_details(last(lines))
}

fn disk_full(lines: &[String]) -> Option<Error> {
    // Only the line that says so: above it stands a traceback through pip.
    let line = lines.iter().rev().find(|line| {
        line.contains("No space left on device") || line.contains("Errno 28]") || line.contains("Disk quota exceeded")
    })?;
    Some(
        Error::new(ErrorKind::DiskFull, "no disk space left while installing Spark")
            .with_hint("free about 2 GB, or set KNUT_HOME to a folder on a larger disk")
            .with_details([line.clone()]),
    )
}

fn last(lines: &[String]) -> Vec<String> {
    let skip = lines.len().saturating_sub(N_DETAILS);
    lines.iter().skip(skip).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PYSPARK: Package = Package { name: "pyspark", requirement: "pyspark==4.3.0", wheel_only: false };

    #[test]
    fn the_size_is_read_from_what_pip_says() {
        let cases = [
            ("  Downloading pyspark-4.3.0.tar.gz (455.9 MB)", Some(455_900_000)),
            ("Using cached pyspark-4.3.0.tar.gz (12 kB)", Some(12_000)),
            ("  Downloading a/b/pyspark-4.3.0.tar.gz (1.2 GB)", Some(1_200_000_000)),
            ("  Downloading py4j-0.10.9.9-py2.py3-none-any.whl (203 kB)", None),
            ("  Downloading pyspark-4.3.0.tar.gz", None),
            ("  Downloading pyspark-4.3.0.tar.gz (x MB)", None),
            ("Collecting pyspark==4.3.0", None),
        ];
        for (line, expected) in cases {
            assert_eq!(announced_size(line, "pyspark"), expected, "{line}");
        }
    }

    #[test]
    fn what_pip_says_becomes_a_kind_and_a_next_step() {
        let cases = [
            (
                "WARNING: Retrying … NewConnectionError('… Failed to establish a new connection: [Errno -3] Temporary failure in name resolution')\nERROR: No matching distribution found for pyspark==4.3.0",
                ErrorKind::Offline,
            ),
            (
                "ERROR: Ignored the following versions that require a different python version: 4.3.0 Requires-Python >=3.10\nERROR: No matching distribution found for pyspark==4.3.0",
                ErrorKind::PackageMissing,
            ),
            (
                "ERROR: Could not find a version that satisfies the requirement pyspark==4.3.0 (from versions: 4.2.0)",
                ErrorKind::PackageMissing,
            ),
            (
                "ERROR: Could not install packages due to an OSError: [Errno 28] No space left on device",
                ErrorKind::DiskFull,
            ),
            ("ERROR: something new", ErrorKind::Package),
        ];
        for (text, kind) in cases {
            let lines: Vec<_> = text.lines().map(str::to_owned).collect();
            let error = pip_error(PYSPARK, &lines);
            assert_eq!(error.kind(), kind, "{text}");
            assert!(error.hint().is_some(), "{text}");
            assert_eq!(error.details(), lines, "{text}");
        }
    }

    #[test]
    fn only_the_last_lines_are_shown() {
        let lines: Vec<_> = (0..100).map(|n| n.to_string()).collect();
        assert_eq!(last(&lines).len(), N_DETAILS);
        assert_eq!(last(&lines).last().unwrap(), "99");
    }
}
