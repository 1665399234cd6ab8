//! Finds a Java that can run Spark: `JAVA_HOME`, then `PATH`, then the one that knut installed.
//!
//! It is looked for at every start, never remembered: a Java that was there at install time may be gone.

use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::{Error, ErrorKind, Result};
use crate::home::Home;
use crate::installation;
use crate::progress::{OnProgress, Progress};

/// The oldest Java that Spark 4.3 runs on.
pub(crate) const OLDEST_JAVA: u32 = 17;

/// Where to look for Java. The default is this process's `JAVA_HOME` and `PATH`.
#[derive(Clone, Debug)]
pub struct JavaSearch {
    /// A Java installation to try first; `None`: no `JAVA_HOME`.
    pub java_home: Option<PathBuf>,
    /// A list of folders like `PATH`; `None`: do not look.
    pub path: Option<OsString>,
}

impl Default for JavaSearch {
    fn default() -> Self {
        Self {
            java_home: std::env::var_os("JAVA_HOME").filter(|home| !home.is_empty()).map(PathBuf::from),
            path: std::env::var_os("PATH"),
        }
    }
}

/// How a Java was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JavaOrigin {
    /// Named by `JAVA_HOME`.
    JavaHome,
    /// On the `PATH`.
    Path,
    /// Installed by knut into its home.
    Installed,
}

/// A Java that can run Spark.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Java {
    /// The `java` program.
    pub program: PathBuf,
    /// Its version as it tells it, such as `17.0.15`.
    pub version: String,
    /// How it was found.
    pub origin: JavaOrigin,
}

impl Java {
    /// Looks for a Java that can run Spark; those that cannot are reported as [`Progress::JavaSkipped`].
    ///
    /// `None` means that there is none; [`install`](crate::install) then adds one.
    pub fn find(home: &Home, search: &JavaSearch, progress: &mut dyn FnMut(Progress)) -> Option<Self> {
        search_java(home, search, progress)
    }
}

fn search_java(home: &Home, search: &JavaSearch, progress: OnProgress<'_>) -> Option<Java> {
    let mut candidates = Vec::new();
    if let Some(java_home) = &search.java_home {
        candidates.push((java_home.join("bin").join(program_name()), JavaOrigin::JavaHome));
    }
    if let Some(path) = &search.path {
        for folder in std::env::split_paths(path) {
            let program = folder.join(program_name());
            if folder.is_absolute() && program.is_file() {
                candidates.push((program, JavaOrigin::Path));
            }
        }
    }
    if let Some(program) = installed(home) {
        candidates.push((program, JavaOrigin::Installed));
    }
    let mut seen = Vec::new();
    for (program, origin) in candidates {
        // The same program often stands on the PATH twice (`/bin` and `/usr/bin`); asking it once is enough.
        let real = std::fs::canonicalize(&program).unwrap_or_else(|_| program.clone());
        if seen.contains(&real) {
            continue;
        }
        seen.push(real);
        match check(&program) {
            Ok(version) => {
                return Some(Java { program, version, origin });
            }
            Err(reason) => {
                let path = match (&search.java_home, origin) {
                    (Some(java_home), JavaOrigin::JavaHome) => java_home.clone(),
                    _ => program,
                };
                progress(Progress::JavaSkipped { path, reason });
            }
        }
    }
    None
}

/// The Java that knut installed, if it is there in full.
pub(crate) fn installed(home: &Home) -> Option<PathBuf> {
    let folder = home.jdk();
    installation::read_marker(&folder)?;
    Some(program_in_jdk(&folder))
}

pub(crate) fn program_in_jdk(folder: &Path) -> PathBuf {
    folder.join("java-runtime").join("bin").join(program_name())
}

pub(crate) fn missing() -> Error {
    Error::new(ErrorKind::Java, format!("no Java {OLDEST_JAVA} or later was found")).with_hint(format!(
        "run `knut local install`, which adds one, or set JAVA_HOME to a Java {OLDEST_JAVA} or later"
    ))
}

fn program_name() -> &'static str {
    if cfg!(windows) { "java.exe" } else { "java" }
}

/// Runs `program -version`; gives its version if Spark can run on it, else why not.
pub(crate) fn check(program: &Path) -> Result<String, String> {
    let output = Command::new(program)
        .arg("-version")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("cannot be run: {error}"))?;
    let text = String::from_utf8_lossy(&output.stderr);
    if !output.status.success() {
        let line = text.lines().next().unwrap_or_default().trim();
        return Err(format!("`java -version` failed ({}): {line}", output.status));
    }
    let version = version_in(&text).ok_or_else(|| "`java -version` does not tell a version".to_owned())?;
    match major(version) {
        Some(major) if major >= OLDEST_JAVA => Ok(version.to_owned()),
        _ => Err(format!("is version {version}; Spark needs {OLDEST_JAVA} or later")),
    }
}

/// The quoted version in the text of `java -version`: `openjdk version "17.0.15" 2025-04-15`. Other lines may come
/// first ("Picked up JAVA_TOOL_OPTIONS: …").
fn version_in(text: &str) -> Option<&str> {
    text.lines()
        .find_map(|line| line.split_once(" version \""))
        .and_then(|(_, rest)| rest.split_once('"'))
        .map(|(version, _)| version)
}

/// `17.0.15` → 17, `1.8.0_402` → 8, `25-ea` → 25.
fn major(version: &str) -> Option<u32> {
    let mut numbers = version.split(|c: char| !c.is_ascii_digit()).map(str::parse::<u32>);
    match numbers.next()?.ok()? {
        1 => numbers.next()?.ok(),
        major => Some(major),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_read_in_all_their_spellings() {
        let text = "Picked up JAVA_TOOL_OPTIONS: -Dx=\"y\"\nopenjdk version \"17.0.15\" 2025-04-15\n";
        assert_eq!(version_in(text), Some("17.0.15"));
        assert_eq!(version_in("nothing"), None);
        let majors = ["17.0.15", "1.8.0_402", "25-ea", "21", "x"].map(major);
        assert_eq!(majors, [Some(17), Some(8), Some(25), Some(21), None]);
    }

    #[cfg(unix)]
    fn fake_java(folder: &Path, script: &str) -> PathBuf {
        use std::os::unix::fs::PermissionsExt as _;
        let bin = folder.join("bin");
        std::fs::create_dir_all(&bin).unwrap();
        let program = bin.join("java");
        std::fs::write(&program, format!("#!/bin/sh\n{script}\n")).unwrap();
        std::fs::set_permissions(&program, std::fs::Permissions::from_mode(0o755)).unwrap();
        program
    }

    #[cfg(unix)]
    #[test]
    fn a_broken_or_old_java_is_named_and_the_next_one_is_taken() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        let old = folder.path().join("old");
        let broken = folder.path().join("broken");
        let good = folder.path().join("good");
        fake_java(&old, "echo 'java version \"1.8.0_1\"' >&2");
        fake_java(&broken, "echo 'no runtime' >&2; exit 1");
        let program = fake_java(&good, "echo 'openjdk version \"21.0.1\"' >&2");
        let path = std::env::join_paths([broken.join("bin"), good.join("bin")]).unwrap();

        let mut skipped = Vec::new();
        let mut search = JavaSearch { java_home: Some(old.clone()), path: Some(path) };
        let java = Java::find(&home, &search, &mut |step| skipped.push(step)).unwrap();
        assert_eq!(java.program, program);
        assert_eq!(java.version, "21.0.1");
        assert_eq!(java.origin, JavaOrigin::Path);
        let skipped: Vec<_> = skipped
            .into_iter()
            .map(|step| match step {
                Progress::JavaSkipped { path, reason } => (path, reason),
                other => panic!("{other:?}"),
            })
            .collect();
        assert_eq!(skipped[0].0, old);
        assert!(skipped[0].1.contains("1.8.0_1"), "{skipped:?}");
        assert_eq!(skipped[1].0, broken.join("bin/java"));
        assert!(skipped[1].1.contains("no runtime"), "{skipped:?}");

        search.path = None;
        search.java_home = Some(folder.path().join("gone"));
        let mut reasons = Vec::new();
        assert_eq!(Java::find(&home, &search, &mut |step| reasons.push(step)), None);
        assert_eq!(reasons.len(), 1);
    }
}
