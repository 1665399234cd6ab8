//! A project as it was at a revision of git, read without touching the work tree or the index.
//!
//! The files come straight from git's store (`ls-tree`, `cat-file`), so no filter, text conversion
//! or external diff of anybody's configuration acts on them, and lie in a folder that goes away.

use std::ffi::OsStr;
use std::fs;
use std::io::{self, BufRead as _, BufReader, Read as _, Write as _};
use std::path::{Component, Path, PathBuf};
use std::process::{Command, Stdio};

use knut_project::Project;

use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// What is read; other files, such as data, are only there.
const READ: [&str; 5] = ["sql", "py", "yml", "yaml", "toml"];

/// The project as of `revision`.
///
/// # Errors
/// When there is no git, no repository, no such revision, no spec in it, or when the project was
/// not valid then.
pub(crate) fn project_at(project: &Project, revision: &str) -> Result<Project, Failure> {
    let git = Git { folder: &project.root };
    let prefix = git.text(&["rev-parse", "--show-prefix"]).map_err(|said| {
        let text = format!("git cannot tell of {}: {said}", project.root.display());
        Failure::new(ExitCode::Usage, text).hint("`--diff` compares with a revision of git")
    })?;
    let prefix = prefix.strip_suffix('\n').unwrap_or(&prefix).to_owned();
    // After `--end-of-options` nothing is an option, whatever it begins with.
    let wanted = format!("{revision}^{{commit}}");
    let commit = git.text(&["rev-parse", "--verify", "--quiet", "--end-of-options", &wanted]).map_err(|_| {
        Failure::new(ExitCode::Usage, format!("git knows no revision {revision}"))
            .hint("name a branch, a tag or a commit that this clone has; `git fetch` brings those of others")
    })?;
    let commit = commit.trim();
    let mut blobs = Blobs::start(&git)?;

    let spec = format!("{prefix}{}", project.spec_file);
    let entries = git.tree(commit, &prefix)?;
    let Some(found) = entries.iter().find(|entry| entry.path == spec) else {
        return Err(Failure::new(ExitCode::Usage, format!("{revision} has no {spec}"))
            .hint("the project was not there yet, or its spec had another name"));
    };
    let reaches_out = String::from_utf8_lossy(&blobs.read(&found.id)?).contains("..");
    let entries = if reaches_out { git.tree(commit, "")? } else { entries };

    let folder = tempfile::tempdir()?;
    for entry in &entries {
        write(folder.path(), entry, &mut blobs, &project.spec_file)?;
    }
    let then = Project::load_definitions(&folder.path().join(&spec));
    then.map_err(|problems| Failure::from(problems).context(&format!("at {revision}")))
}

/// The `git` of this machine, in one folder.
struct Git<'a> {
    folder: &'a Path,
}

/// A file of a tree.
struct Entry {
    mode: String,
    id: String,
    path: String,
}

impl Git<'_> {
    fn command(&self, args: &[&str]) -> Command {
        let mut command = Command::new("git");
        command.arg("-C").arg(self.folder).args(args).stdin(Stdio::null());
        // Nothing is written, not even to make the next call faster, and nobody is asked anything.
        command.env("GIT_OPTIONAL_LOCKS", "0").env("GIT_TERMINAL_PROMPT", "0").env("LC_ALL", "C");
        command
    }

    /// What git prints; the error is what it complains of.
    fn text(&self, args: &[&str]) -> Result<String, String> {
        let output = self.command(args).output().map_err(|error| match error.kind() {
            io::ErrorKind::NotFound => "git is not installed".to_owned(),
            _ => format!("git does not start: {error}"),
        })?;
        if output.status.success() {
            return Ok(String::from_utf8_lossy(&output.stdout).into_owned());
        }
        let said = String::from_utf8_lossy(&output.stderr);
        Err(said.trim().lines().next().unwrap_or("git says nothing").to_owned())
    }

    /// The files at or below a path of a commit; the empty path is everything.
    fn tree(&self, commit: &str, path: &str) -> Result<Vec<Entry>, Failure> {
        let mut args = vec!["ls-tree", "-r", "-z", "--full-tree", commit];
        if !path.is_empty() {
            args.extend(["--", path]);
        }
        let listed = self
            .text(&args)
            .map_err(|said| Failure::new(ExitCode::Unexpected, format!("git cannot list {commit}: {said}")))?;
        let entry = |line: &str| {
            let (about, path) = line.split_once('\t')?;
            let mut about = about.split(' ');
            let (mode, _, id) = (about.next()?, about.next()?, about.next()?);
            Some(Entry { mode: mode.to_owned(), id: id.to_owned(), path: path.to_owned() })
        };
        Ok(listed.split('\0').filter_map(entry).collect())
    }
}

/// The contents of git's store, one after the other from one process.
struct Blobs {
    child: std::process::Child,
    answers: BufReader<std::process::ChildStdout>,
}

impl Blobs {
    fn start(git: &Git<'_>) -> Result<Self, Failure> {
        let mut command = git.command(&["cat-file", "--batch"]);
        let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
        match child.stdout.take() {
            Some(answers) => Ok(Self { child, answers: BufReader::new(answers) }),
            None => Err(Failure::new(ExitCode::Unexpected, "git gives no answers")),
        }
    }

    fn read(&mut self, id: &str) -> Result<Vec<u8>, Failure> {
        let gone = || Failure::new(ExitCode::Unexpected, format!("git does not give the object {id}"));
        let questions = self.child.stdin.as_mut().ok_or_else(gone)?;
        writeln!(questions, "{id}")?;
        questions.flush()?;
        let mut head = String::new();
        self.answers.read_line(&mut head)?;
        let size = head.trim_end().rsplit(' ').next().and_then(|size| size.parse::<u64>().ok()).ok_or_else(gone)?;
        let mut content = Vec::new();
        self.answers.by_ref().take(size).read_to_end(&mut content)?;
        // A line ends each answer.
        self.answers.read_exact(&mut [0])?;
        Ok(content)
    }
}

impl Drop for Blobs {
    fn drop(&mut self) {
        // It ends when there are no more questions.
        drop(self.child.stdin.take());
        let _ = self.child.wait();
    }
}

fn write(folder: &Path, entry: &Entry, blobs: &mut Blobs, spec_file: &str) -> Result<(), Failure> {
    let relative = Path::new(&entry.path);
    // git keeps no other paths; a store that somebody made by hand might.
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(());
    }
    let path = folder.join(relative);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    let extension = relative.extension().and_then(OsStr::to_str).unwrap_or_default();
    let is_read = READ.contains(&extension) || relative.file_name() == Some(OsStr::new(spec_file));
    match entry.mode.as_str() {
        "120000" => {
            let target = blobs.read(&entry.id)?;
            link(&String::from_utf8_lossy(&target), relative, &path, is_read)
        }
        // A repository in the repository: its files are not in this one.
        "160000" => Ok(()),
        _ if is_read => Ok(fs::write(&path, blobs.read(&entry.id)?)?),
        _ => Ok(fs::write(&path, [])?),
    }
}

/// Links stay links while they lead to a place in the repository; nothing outside is read as if
/// it had been there.
fn link(target: &str, relative: &Path, path: &Path, is_read: bool) -> Result<(), Failure> {
    let mut place: Vec<&OsStr> = Vec::new();
    let mut stays = !Path::new(target).is_absolute();
    let parts: PathBuf = relative.parent().unwrap_or(Path::new("")).join(target);
    for part in parts.components() {
        match part {
            Component::Normal(name) => place.push(name),
            Component::ParentDir => stays &= place.pop().is_some(),
            Component::CurDir => {}
            Component::RootDir | Component::Prefix(_) => stays = false,
        }
    }
    if stays {
        #[cfg(unix)]
        return Ok(std::os::unix::fs::symlink(target, path)?);
    }
    if is_read {
        let text = format!("{} was a link to {target}, which is not in the repository", relative.display());
        return Err(Failure::new(ExitCode::Invalid, text).hint("what it led to then is not known"));
    }
    Ok(fs::write(path, [])?)
}
