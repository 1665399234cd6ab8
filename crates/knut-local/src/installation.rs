//! What an installed Spark is, and how one that is there in full is told from one that is not.

use std::collections::BTreeMap;
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
    /// What must be there at least, with sizes in bytes, to notice a folder that was damaged later. More may be: a user
    /// may have added a driver's jar.
    pub(crate) files: BTreeMap<String, u64>,
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
    let is_whole = marker.files.iter().all(|(name, bytes)| {
        fs::metadata(folder.join(name)).is_ok_and(|found| found.is_file() && found.len() == *bytes)
    });
    is_whole.then_some(marker)
}

/// Completes a staged folder: writes down what it holds.
pub(crate) fn write_marker(folder: &Path, package: &str, version: &str) -> Result<()> {
    let fail = |error| Error::io("cannot write", folder, error);
    let marker =
        Marker { package: package.to_owned(), version: version.to_owned(), files: list(folder).map_err(fail)? };
    let text = serde_json::to_vec_pretty(&marker).map_err(|error| fail(error.into()))?;
    fs::write(folder.join(MARKER), text).map_err(fail)
}

/// The files under `folder` by their relative names, with their sizes in bytes.
fn list(folder: &Path) -> io::Result<BTreeMap<String, u64>> {
    let mut files = BTreeMap::new();
    let mut folders = vec![PathBuf::new()];
    while let Some(current) = folders.pop() {
        for entry in fs::read_dir(folder.join(&current))? {
            let entry = entry?;
            let name = current.join(entry.file_name());
            if entry.file_type()?.is_dir() {
                folders.push(name);
            } else if let Some(name) = name.to_str() {
                files.insert(name.to_owned(), entry.metadata()?.len());
            }
        }
    }
    Ok(files)
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
        fs::write(home.spark().join("jars/added.jar"), "x").unwrap();
        assert!(Installation::find(&home).unwrap().is_some(), "more is there");
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
