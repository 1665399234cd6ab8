//! What an installed Spark is, and how one that is there in full is told from one that is not.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{Error, Result};
use crate::home::Home;

/// The Spark release that this knut installs and starts.
pub const SPARK_VERSION: &str = "4.3.0";

/// Written last into a staged folder, before it is moved to its final name.
const MARKER: &str = "knut.json";

/// Says what a folder must hold. A folder without it, or that differs from it, was not installed in full.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Marker {
    pub(crate) package: String,
    pub(crate) version: String,
    /// Number and summed size of the files in the folder, to notice one that was damaged later.
    pub(crate) n_files: u64,
    pub(crate) bytes: u64,
}

/// A Spark that is installed in full.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Installation {
    home: Home,
    spark_home: PathBuf,
}

impl Installation {
    /// The Spark that was installed into `home`; `None` if there is none, or only a damaged one, so that
    /// [`install`](crate::install) is what to do next.
    ///
    /// # Errors
    /// [`ErrorKind::Io`](crate::ErrorKind::Io) if the folder is there but cannot be read.
    pub fn find(home: &Home) -> Result<Option<Self>> {
        let spark_home = home.spark();
        match fs::metadata(&spark_home) {
            Ok(_) => {}
            Err(error) if is_absent(&error) => return Ok(None),
            Err(error) => return Err(Error::io("cannot read", &spark_home, error)),
        }
        Ok(read_marker(&spark_home).map(|_| Self { home: home.clone(), spark_home }))
    }

    /// The home it was installed into.
    pub fn home(&self) -> &Home {
        &self.home
    }

    /// The folder that Spark calls `SPARK_HOME`.
    pub fn spark_home(&self) -> &Path {
        &self.spark_home
    }

    /// The release that is installed, such as `4.3.0`.
    pub fn spark_version(&self) -> &'static str {
        SPARK_VERSION
    }
}

fn is_absent(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotFound | io::ErrorKind::NotADirectory)
}

/// The marker of `folder` if the folder holds what the marker says, else `None`.
pub(crate) fn read_marker(folder: &Path) -> Option<Marker> {
    let text = fs::read(folder.join(MARKER)).ok()?;
    let marker: Marker = serde_json::from_slice(&text).ok()?;
    let (n_files, bytes) = measure(folder).ok()?;
    (marker.n_files == n_files && marker.bytes == bytes).then_some(marker)
}

/// Completes a staged folder: counts what it holds and writes the marker.
pub(crate) fn write_marker(folder: &Path, package: &str, version: &str) -> Result<()> {
    let fail = |error| Error::io("cannot write", folder, error);
    let (n_files, bytes) = measure(folder).map_err(fail)?;
    let marker = Marker { package: package.to_owned(), version: version.to_owned(), n_files, bytes };
    let text = serde_json::to_vec_pretty(&marker).map_err(|error| fail(error.into()))?;
    fs::write(folder.join(MARKER), text).map_err(fail)
}

/// Number and summed size of the files under `folder`, less the marker itself.
fn measure(folder: &Path) -> io::Result<(u64, u64)> {
    let mut total = (0, 0);
    let mut folders = vec![folder.to_owned()];
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(&current)? {
            let entry = entry?;
            let kind = entry.file_type()?;
            if kind.is_dir() {
                folders.push(entry.path());
            } else if !(current == folder && entry.file_name() == MARKER) {
                total.0 += 1;
                total.1 += entry.metadata()?.len();
            }
        }
    }
    Ok(total)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn installed() -> (tempfile::TempDir, Home) {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path()).unwrap();
        fs::create_dir_all(home.spark().join("jars")).unwrap();
        fs::write(home.spark().join("jars/a.jar"), "abc").unwrap();
        (folder, home)
    }

    #[test]
    fn a_folder_is_trusted_only_with_its_marker_and_all_its_files() {
        let (_folder, home) = installed();
        assert_eq!(Installation::find(&home).unwrap(), None);
        write_marker(&home.spark(), "pyspark", SPARK_VERSION).unwrap();
        let found = Installation::find(&home).unwrap().unwrap();
        assert_eq!(found.spark_home(), home.spark());

        fs::write(home.spark().join("jars/a.jar"), "ab").unwrap();
        assert_eq!(Installation::find(&home).unwrap(), None, "cut short");
        fs::write(home.spark().join("jars/a.jar"), "abc").unwrap();
        assert!(Installation::find(&home).unwrap().is_some());
        fs::remove_file(home.spark().join("jars/a.jar")).unwrap();
        assert_eq!(Installation::find(&home).unwrap(), None, "a file gone");
    }

    #[test]
    fn a_garbled_marker_is_not_trusted() {
        let (_folder, home) = installed();
        fs::write(home.spark().join(MARKER), "{\"package\"").unwrap();
        assert_eq!(Installation::find(&home).unwrap(), None);
    }
}
