//! What the black-box suites share: running the real `knut` binary in a project of its own, and
//! reading tables back through Spark.
//!
//! It may panic: a step that fails is a failed test.
#![expect(clippy::unwrap_used, clippy::expect_used, reason = "test support fails tests")]
#![expect(clippy::missing_panics_doc, reason = "every panic here is a failed test")]

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use std::sync::OnceLock;

use tempfile::TempDir;

/// The workspace's folder.
pub fn workspace() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("the suites stand in the workspace")
}

/// The `knut` binary, built from the code as it is.
pub fn knut() -> &'static Path {
    static BINARY: OnceLock<PathBuf> = OnceLock::new();
    BINARY.get_or_init(|| built("knut-cli"))
}

/// Builds a package's binary from the code as it is and tells where it is.
pub fn built(package: &str) -> PathBuf {
    let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
    let build = ["build", "--locked", "--package", package, "--message-format", "json-render-diagnostics"];
    let output = Command::new(cargo).args(build).current_dir(workspace()).stderr(Stdio::inherit()).output().unwrap();
    assert!(output.status.success(), "{package} does not build");
    let messages = String::from_utf8(output.stdout).unwrap();
    let messages = messages.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let executables = messages.filter_map(|message| message["executable"].as_str().map(PathBuf::from));
    executables.collect::<Vec<_>>().pop().expect("cargo names the binary that it built")
}

/// What one run of `knut` did.
#[derive(Clone, Debug)]
pub struct Ran {
    /// The exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// Its stdout.
    pub stdout: String,
    /// Its stderr.
    pub stderr: String,
}

impl Ran {
    fn new(output: Output) -> Self {
        let text = |bytes| String::from_utf8(bytes).expect("knut writes UTF-8");
        Self { code: output.status.code(), stdout: text(output.stdout), stderr: text(output.stderr) }
    }

    /// Runs a command of [`Project::command`] to its end.
    pub fn of(command: &mut Command) -> Self {
        Self::new(command.output().unwrap())
    }

    /// Code and both outputs in one text, for a snapshot.
    pub fn told(&self) -> String {
        let code = self.code.map_or("none".to_owned(), |code| code.to_string());
        format!("code: {code}\n--- stdout\n{}--- stderr\n{}", self.stdout, self.stderr)
    }

    /// Fails the test unless the code is `code`.
    #[track_caller]
    #[expect(
        clippy::must_use_candidate,
        clippy::return_self_not_must_use,
        reason = "often the code is all that matters"
    )]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "{}", self.told());
        self
    }
}

/// A folder of its own with a project in it. Its local server, if one was started, ends with it.
#[derive(Debug)]
pub struct Project {
    folder: TempDir,
    uses_spark: bool,
}

impl Project {
    /// An empty folder.
    pub fn empty() -> Self {
        Self { folder: tempfile::tempdir().unwrap(), uses_spark: false }
    }

    /// A copy of a folder of the workspace, without what runs left in it.
    pub fn copy_of(folder: &str) -> Self {
        let project = Self::empty();
        copy(&workspace().join(folder), project.path());
        project
    }

    /// A project with a spec and one SQL file.
    pub fn with_sql(sql: &str) -> Self {
        let spec = "name: test\nstorage: .knut/storage\nlibraries:\n  - glob:\n      include: transformations/**\n";
        Self::empty().file("spark-pipeline.yml", spec).file("transformations/a.sql", sql)
    }

    /// Adds a file.
    #[must_use]
    pub fn file(self, path: &str, text: impl AsRef<[u8]>) -> Self {
        self.write(path, text);
        self
    }

    /// Writes a file.
    pub fn write(&self, path: &str, text: impl AsRef<[u8]>) {
        let path = self.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    /// The folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Runs `knut` in the folder, with no server named in the environment.
    pub fn run(&mut self, args: &[&str]) -> Ran {
        self.uses_spark |= args.contains(&"--local") || args.starts_with(&["local", "start"]);
        Ran::new(self.command(args).output().unwrap())
    }

    /// The command itself, for what needs more than running it.
    pub fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new(knut());
        command.args(args).current_dir(self.path()).stdin(Stdio::null());
        for name in ["SPARK_REMOTE", "SPARK_CONNECT_AUTHENTICATE_TOKEN", "CLICOLOR_FORCE", "NO_COLOR"] {
            command.env_remove(name);
        }
        command
    }

    /// The rows of a query on the project's local Spark, as JSON texts in sorted order.
    pub fn rows(&mut self, query: &str) -> Vec<String> {
        let out = self.path().join("rows");
        let _ = std::fs::remove_dir_all(&out);
        let statement = format!("INSERT OVERWRITE DIRECTORY 'file:{}' USING json {query}", out.display());
        self.run(&["sql", "--local", &statement]).expect(0);
        let files = out.read_dir().unwrap().map(|entry| entry.unwrap().path());
        let files = files.filter(|path| path.extension().is_some_and(|extension| extension == "json"));
        let mut rows: Vec<String> = files
            .flat_map(|path| std::fs::read_to_string(path).unwrap().lines().map(str::to_owned).collect::<Vec<_>>())
            .collect();
        rows.sort();
        rows
    }
}

impl Drop for Project {
    fn drop(&mut self) {
        if self.uses_spark {
            // The test has told what it had to tell; a server that does not end is not its subject.
            let _ = self.command(&["local", "stop"]).output();
        }
    }
}

fn copy(from: &Path, to: &Path) {
    std::fs::create_dir_all(to).unwrap();
    for entry in from.read_dir().unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap();
        if name == ".knut" {
            continue;
        }
        if path.is_dir() {
            copy(&path, &to.join(name));
        } else {
            std::fs::copy(&path, to.join(name)).unwrap();
        }
    }
}
