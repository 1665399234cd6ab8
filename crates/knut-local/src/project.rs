//! Where a project keeps its server's things: everything lies under `.knut/` in the project's own folder.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};
use std::thread;
use std::time::{Duration, Instant};

use crate::error::{Error, ErrorKind, Result};
use crate::progress::{OnProgress, Progress};

/// How long a start or stop waits for another one of the same project. Longer than a start may take by default.
const LOCK_TIMEOUT: Duration = Duration::from_mins(5);

/// A project's folder: the one that holds `spark-pipeline.yml`. Its server's state, log, tables and metastore lie in
/// `.knut/` beside that file, so that a project has one server and its own tables.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProjectFolder {
    root: PathBuf,
}

impl ProjectFolder {
    /// The project in the folder `root`. Symbolic links are followed now, so that one project has one server however
    /// it is reached; a folder that is gone is taken as it is named, so that its server can still be stopped.
    ///
    /// # Errors
    /// [`ErrorKind::Project`] if `root` is empty or the current folder is unknown.
    pub fn new(root: impl AsRef<Path>) -> Result<Self> {
        let root = root.as_ref();
        let root = fs::canonicalize(root).or_else(|_| std::path::absolute(root)).map_err(|source| {
            Error::new(ErrorKind::Project, format!("cannot use {} as the project's folder", root.display()))
                .with_source(source)
        })?;
        Ok(Self { root })
    }

    /// The project's folder; relative paths in its SQL are taken from here.
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// knut's folder in the project. It need not exist yet.
    pub fn knut_folder(&self) -> PathBuf {
        self.root.join(".knut")
    }

    /// The log of the server that runs or ran last.
    pub fn log_path(&self) -> PathBuf {
        self.server_folder().join("server.log")
    }

    pub(crate) fn previous_log_path(&self) -> PathBuf {
        self.server_folder().join("server.previous.log")
    }

    /// Only its user may enter it: the token is in there.
    pub(crate) fn server_folder(&self) -> PathBuf {
        self.knut_folder().join("server")
    }

    pub(crate) fn state_path(&self) -> PathBuf {
        self.server_folder().join("server.json")
    }

    /// For what a server needs only while it runs.
    pub(crate) fn temporary_folder(&self) -> PathBuf {
        self.server_folder().join("tmp")
    }

    /// Where Derby keeps what tables there are.
    pub(crate) fn metastore_folder(&self) -> PathBuf {
        self.knut_folder().join("metastore")
    }

    /// Where the tables' files are.
    pub(crate) fn warehouse_folder(&self) -> PathBuf {
        self.knut_folder().join("warehouse")
    }

    /// Makes the folders that a start needs.
    pub(crate) fn create(&self) -> Result<()> {
        if !self.root.is_dir() {
            return Err(Error::new(ErrorKind::Project, format!("there is no folder {}", self.root.display())));
        }
        if self.root.to_str().is_none() {
            return Err(Error::new(
                ErrorKind::Project,
                format!("the project's path {} is not UTF-8", self.root.display()),
            )
            .with_hint("rename the folder: Java is told paths as text"));
        }
        // Observed with Derby 10.16: it makes a database under such a path, and can never open it again.
        if self.root.to_string_lossy().contains(':') {
            return Err(Error::new(
                ErrorKind::Project,
                format!(
                    "the project's path {} has a ':', which the local server's metastore cannot open",
                    self.root.display()
                ),
            )
            .with_hint("rename the folder"));
        }
        let knut = self.knut_folder();
        let fail = |path: &Path, error| {
            Error::io("cannot write to", path, error)
                .with_kind(ErrorKind::Project)
                .with_hint_if_none("the local server keeps its tables and state there; make it writable")
        };
        fs::create_dir_all(&knut).map_err(|error| fail(&knut, error))?;
        let ignore = knut.join(".gitignore");
        // Empty it is after a disk was full.
        if fs::read(&ignore).unwrap_or_default().is_empty() {
            // Nothing in here is for a repository, least of all the token.
            fs::write(&ignore, "*\n").map_err(|error| fail(&ignore, error))?;
        }
        let server = self.server_folder();
        create_private(&server).map_err(|error| fail(&server, error))?;
        for folder in [self.metastore_folder(), self.warehouse_folder()] {
            fs::create_dir_all(&folder).map_err(|error| fail(&folder, error))?;
        }
        Ok(())
    }

    /// Takes the lock that makes starts and stops of one project go one after another. It ends with the value, and
    /// with the process however it ends. `None` if the project has no server folder, so nothing was ever started.
    pub(crate) fn lock(&self, progress: OnProgress<'_>) -> Result<Option<File>> {
        let path = self.server_folder().join("lock");
        let file = match File::options().create(true).truncate(false).write(true).open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                return Err(Error::io("cannot open", &path, error).with_kind(ErrorKind::Project));
            }
        };
        let start = Instant::now();
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => return Ok(Some(file)),
                Err(TryLockError::WouldBlock) if start.elapsed() < LOCK_TIMEOUT => {
                    if !told {
                        progress(Progress::WaitingForServer);
                        told = true;
                    }
                    thread::sleep(Duration::from_millis(50));
                }
                Err(TryLockError::WouldBlock) => {
                    return Err(Error::new(
                        ErrorKind::Locked,
                        format!(
                            "another knut has been starting or stopping the server of {} for too long",
                            self.root.display()
                        ),
                    )
                    .with_hint("end that knut, then try again"));
                }
                Err(TryLockError::Error(error)) => {
                    return Err(Error::io("cannot lock", &path, error).with_kind(ErrorKind::Project));
                }
            }
        }
    }
}

/// Makes `folder` so that only its user may enter it; one that is there is closed to others before anything secret
/// is put into it.
fn create_private(folder: &Path) -> io::Result<()> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::{DirBuilderExt as _, PermissionsExt as _};
        fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
        let mode = fs::metadata(folder)?.permissions().mode();
        if mode & 0o077 != 0 {
            fs::set_permissions(folder, fs::Permissions::from_mode(0o700))?;
        }
        Ok(())
    }
    #[cfg(not(unix))]
    fs::create_dir_all(folder)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Home;

    #[cfg(unix)]
    #[test]
    fn the_server_folder_is_closed_to_others_even_if_it_was_open() {
        use std::os::unix::fs::PermissionsExt as _;
        let folder = tempfile::tempdir().unwrap();
        let project = ProjectFolder::new(folder.path()).unwrap();
        fs::create_dir_all(project.server_folder()).unwrap();
        fs::set_permissions(project.server_folder(), fs::Permissions::from_mode(0o755)).unwrap();
        project.create().unwrap();
        let mode = fs::metadata(project.server_folder()).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o700);
        let ignore = fs::read_to_string(project.knut_folder().join(".gitignore")).unwrap();
        assert_eq!(ignore, "*\n");
    }

    #[cfg(unix)]
    #[test]
    fn a_link_to_a_project_is_that_project() {
        let folder = tempfile::tempdir().unwrap();
        let real = folder.path().join("real");
        fs::create_dir(&real).unwrap();
        std::os::unix::fs::symlink(&real, folder.path().join("link")).unwrap();
        assert_eq!(ProjectFolder::new(folder.path().join("link")).unwrap(), ProjectFolder::new(&real).unwrap());
    }

    #[test]
    fn a_folder_that_is_not_there_is_an_error_that_names_it() {
        let folder = tempfile::tempdir().unwrap();
        let project = ProjectFolder::new(folder.path().join("gone")).unwrap();
        let error = project.create().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Project);
        assert!(error.to_string().contains("gone"));
        assert!(project.lock(&mut |_| ()).unwrap().is_none());
    }

    #[cfg(unix)]
    #[test]
    fn a_path_with_a_colon_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a:b");
        fs::create_dir(&root).unwrap();
        let error = ProjectFolder::new(&root).unwrap().create().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Project);
        assert!(error.to_string().contains("a:b"), "{error}");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_path_that_is_not_text_is_refused() {
        use std::os::unix::ffi::OsStrExt as _;
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join(std::ffi::OsStr::from_bytes(b"a\xff"));
        fs::create_dir(&root).unwrap();
        let error = ProjectFolder::new(&root).unwrap().create().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Project);
        assert!(Home::at(&root).is_err());
    }
}
