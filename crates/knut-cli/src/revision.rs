//! A project as it was at a revision of git, read without touching the work tree or the index.
//!
//! The files come straight from git's store (`ls-tree`, `cat-file`), so no filter, text conversion
//! or external diff of anybody's configuration acts on them, and lie in a folder that goes away.

use std::collections::{BTreeMap, VecDeque};
use std::ffi::{OsStr, OsString};
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
    let has_links = entries.iter().any(|entry| entry.mode == LINK);
    let entries = if reaches_out || has_links { git.tree(commit, "")? } else { entries };

    let folder = tempfile::tempdir()?;
    let links = links(&entries, &mut blobs)?;
    for entry in &entries {
        write(folder.path(), entry, &entries, &links, &mut blobs, &project.spec_file)?;
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
        // Inside a hook these name the repository of the hook; here it is the project's that counts.
        for name in ["DIR", "WORK_TREE", "INDEX_FILE", "COMMON_DIR", "PREFIX", "NAMESPACE", "OBJECT_DIRECTORY"] {
            command.env_remove(format!("GIT_{name}"));
        }
        command.env_remove("GIT_ALTERNATE_OBJECT_DIRECTORIES").env("GIT_LITERAL_PATHSPECS", "1");
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

/// The mode of a link in a tree.
const LINK: &str = "120000";

/// How many links may follow one another; as on Linux.
const MAX_LINKS: usize = 40;

/// Where the links of a tree lead, as they are written.
fn links(entries: &[Entry], blobs: &mut Blobs) -> Result<BTreeMap<PathBuf, PathBuf>, Failure> {
    let mut links = BTreeMap::new();
    for entry in entries.iter().filter(|entry| entry.mode == LINK) {
        let target = String::from_utf8_lossy(&blobs.read(&entry.id)?).into_owned();
        links.insert(PathBuf::from(&entry.path), PathBuf::from(target));
    }
    Ok(links)
}

/// Writes a file below `folder`. No link is ever made, so that nothing is written or read through
/// one: a link becomes a copy of the file of the tree that it leads to.
fn write(
    folder: &Path,
    entry: &Entry,
    entries: &[Entry],
    links: &BTreeMap<PathBuf, PathBuf>,
    blobs: &mut Blobs,
    spec_file: &str,
) -> Result<(), Failure> {
    let relative = Path::new(&entry.path);
    // git keeps no other paths; a store that somebody made by hand might.
    if !relative.components().all(|part| matches!(part, Component::Normal(_))) {
        return Ok(());
    }
    let extension = relative.extension().and_then(OsStr::to_str).unwrap_or_default();
    let is_read = READ.contains(&extension) || relative.file_name() == Some(OsStr::new(spec_file));
    let content = match entry.mode.as_str() {
        // A repository in the repository: its files are not in this one.
        "160000" => return Ok(()),
        LINK => {
            let target =
                followed(relative, links).and_then(|path| entries.iter().find(|other| Path::new(&other.path) == path));
            match target {
                Some(file) if is_read => blobs.read(&file.id)?,
                None if is_read => {
                    let target = links.get(relative).map(|target| target.display().to_string()).unwrap_or_default();
                    let text = format!("{} was a link to {target}, which is no file of the repository", entry.path);
                    return Err(Failure::new(ExitCode::Invalid, text).hint("what it led to then is not known"));
                }
                _ => Vec::new(),
            }
        }
        _ if is_read => blobs.read(&entry.id)?,
        _ => Vec::new(),
    };
    let path = folder.join(relative);
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    // A name that stands twice in a tree is nothing that git made.
    let twice = |error: io::Error| match error.kind() {
        io::ErrorKind::AlreadyExists => {
            Failure::new(ExitCode::Invalid, format!("{} is in the repository twice", entry.path))
        }
        _ => error.into(),
    };
    Ok(fs::File::create_new(path).map_err(twice)?.write_all(&content)?)
}

/// The path that a path means with all links followed; `None` if it leaves the repository or
/// leads around in a circle.
fn followed(path: &Path, links: &BTreeMap<PathBuf, PathBuf>) -> Option<PathBuf> {
    let mut rest: VecDeque<OsString> = path.iter().map(OsStr::to_owned).collect();
    let mut place = PathBuf::new();
    let mut n_links = 0;
    while let Some(part) = rest.pop_front() {
        match Path::new(&part).components().next()? {
            Component::CurDir => {}
            Component::ParentDir => {
                if !place.pop() {
                    return None;
                }
            }
            Component::Normal(name) => {
                place.push(name);
                if let Some(target) = links.get(&place) {
                    n_links += 1;
                    if n_links > MAX_LINKS {
                        return None;
                    }
                    place.pop();
                    for part in target.iter().rev() {
                        rest.push_front(part.to_owned());
                    }
                }
            }
            Component::RootDir | Component::Prefix(_) => return None,
        }
    }
    Some(place)
}
