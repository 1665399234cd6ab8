//! The runs of a project that are kept on disk, so that another process can go on with them.
//!
//! Each has a folder `.knut/runs/ID` with a `run.json` in it. Nothing in it is secret.

use std::fs;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use jiff::Timestamp;
use knut_client::RunHandle;
use serde::{Deserialize, Serialize};

use crate::exit_code::ExitCode;
use crate::failure::Failure;

/// How many runs are kept; older ones go when a new one comes.
const MAX_KEPT: usize = 100;
const FILE: &str = "run.json";

/// One run.
#[derive(Debug)]
pub(crate) struct KeptRun {
    folder: PathBuf,
    pub(crate) what: Run,
}

/// What is kept of it.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct Run {
    /// The pipeline's name.
    pub(crate) pipeline: String,
    /// Whether it runs on the project's local server.
    pub(crate) is_local: bool,
    pub(crate) handle: RunHandle,
    /// How it ended, as far as knut saw it; `None` while it goes on or when nobody looked.
    pub(crate) outcome: Option<String>,
}

impl KeptRun {
    /// Keeps a run of the project in `root`.
    pub(crate) fn keep(root: &Path, run: Run) -> io::Result<Self> {
        let knut = root.join(".knut");
        let runs = knut.join("runs");
        fs::create_dir_all(&runs)?;
        let ignore = knut.join(".gitignore");
        if !ignore.exists() {
            fs::write(ignore, "*\n")?;
        }
        prune(&runs);
        let started = i64::try_from(run.handle.started).ok().and_then(|at| Timestamp::from_second(at).ok());
        let started = started.unwrap_or_default().strftime("%Y%m%dT%H%M%SZ").to_string();
        // Part of a random id: runs that begin in the same second have names of their own.
        let id: String = run.handle.operation_id.to_string().chars().take(8).collect();
        let kept = Self { folder: runs.join(format!("{started}-{id}")), what: run };
        fs::create_dir_all(&kept.folder)?;
        kept.write()?;
        Ok(kept)
    }

    /// The project's runs, the newest first. What cannot be read is passed over.
    pub(crate) fn all(root: &Path) -> Vec<Self> {
        let mut folders = folders(&root.join(".knut/runs"));
        folders.reverse();
        folders.into_iter().filter_map(Self::read).collect()
    }

    /// The run that the user means: an id, the beginning of one, or the newest.
    pub(crate) fn find(root: &Path, id: Option<&str>) -> Result<Self, Failure> {
        let mut all = Self::all(root);
        let Some(id) = id else {
            let none = || Failure::new(ExitCode::Usage, format!("no run of the project in {} is kept", root.display()));
            return if all.is_empty() { Err(none()) } else { Ok(all.swap_remove(0)) };
        };
        all.retain(|run| run.id().starts_with(id));
        match all.len() {
            0 => Err(Failure::new(ExitCode::Usage, format!("no run that is kept has the id {id}"))
                .hint("`ls .knut/runs` in the project's folder lists them")),
            1 => Ok(all.swap_remove(0)),
            n => Err(Failure::new(ExitCode::Usage, format!("{n} runs have an id that begins with {id}"))
                .hint(format!("write more of it, as in {}", all[0].id()))),
        }
    }

    /// Under which name the user knows it.
    pub(crate) fn id(&self) -> String {
        self.folder.file_name().unwrap_or_default().to_string_lossy().into_owned()
    }

    /// Keeps how it ended. That this fails changes nothing of the run.
    pub(crate) fn ended(&mut self, outcome: impl Into<String>) {
        self.what.outcome = Some(outcome.into());
        let _ = self.write();
    }

    fn read(folder: PathBuf) -> Option<Self> {
        let what = serde_json::from_slice(&fs::read(folder.join(FILE)).ok()?).ok()?;
        Some(Self { folder, what })
    }

    /// Whole or not at all, whatever happens to this process meanwhile.
    fn write(&self) -> io::Result<()> {
        let mut file = tempfile::NamedTempFile::new_in(&self.folder)?;
        file.write_all(&serde_json::to_vec(&self.what)?)?;
        file.persist(self.folder.join(FILE))?;
        Ok(())
    }
}

/// The runs' folders, the oldest first: their names begin with the time.
fn folders(runs: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(runs).into_iter().flatten().flatten();
    let mut folders: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.join(FILE).exists()).collect();
    folders.sort();
    folders
}

fn prune(runs: &Path) {
    let folders = folders(runs);
    let n_old = (folders.len() + 1).saturating_sub(MAX_KEPT);
    for old in &folders[..n_old.min(folders.len())] {
        // One that cannot be removed is in nobody's way.
        let _ = fs::remove_dir_all(old);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(n: u64) -> Run {
        let handle = format!(
            r#"{{"version":1,"host":"h","port":1,"use_ssl":null,"user_id":null,"server_side_session_id":null,
            "session_id":"00000000-0000-4000-8000-000000000000","last_response_id":null,"mode":"attached",
            "operation_id":"{n:08x}-0000-4000-8000-000000000000","dry_run":false,"plan_digest":"","spark_version":"4.3.0",
            "started":{}}}"#,
            1_700_000_000 + n
        );
        let handle = RunHandle::from_json(&handle).unwrap();
        Run { pipeline: "p".to_owned(), is_local: false, handle, outcome: None }
    }

    #[test]
    fn runs_are_found_by_the_beginning_of_their_id_or_as_the_last_one() {
        let root = tempfile::tempdir().unwrap();
        let told = |id| match KeptRun::find(root.path(), id) {
            Ok(run) => run.id(),
            Err(failure) => failure.text().to_owned(),
        };
        assert!(told(None).starts_with("no run of the project"));
        for n in 0..3 {
            KeptRun::keep(root.path(), run(n)).unwrap();
        }
        assert_eq!(told(None), "20231114T221322Z-00000002");
        assert_eq!(told(Some("20231114T221320")), "20231114T221320Z-00000000");
        assert_eq!(told(Some("2023")), "3 runs have an id that begins with 2023");
        assert_eq!(told(Some("x")), "no run that is kept has the id x");
        fs::write(root.path().join(".knut/runs/20231114T221322Z-00000002/run.json"), "{").unwrap();
        assert_eq!(told(None), "20231114T221321Z-00000001");
        assert_eq!(fs::read_to_string(root.path().join(".knut/.gitignore")).unwrap(), "*\n");
    }

    #[test]
    fn only_the_newest_are_kept() {
        let root = tempfile::tempdir().unwrap();
        for n in 0..MAX_KEPT as u64 + 5 {
            KeptRun::keep(root.path(), run(n)).unwrap().ended("succeeded");
        }
        let all = KeptRun::all(root.path());
        assert_eq!((all.len(), all[0].what.handle.started), (MAX_KEPT, 1_700_000_104));
        assert_eq!(all[0].what.outcome.as_deref(), Some("succeeded"));
    }
}
