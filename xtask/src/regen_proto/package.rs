//! The package of the Python registry that carries the descriptors: fetching it, and reading what is needed.
//!
//! Only the generated `*_pb2.py` modules and the package's metadata are looked at, and nothing is installed. (For a
//! source distribution, pip runs the package's own setup script to learn its metadata; `--package` avoids that.)

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{Context as _, Result, bail, ensure};
use flate2::read::GzDecoder;
use sha2::{Digest as _, Sha256};

use super::source;

/// The folder of the generated modules inside the package.
const MODULES: &str = "pyspark/sql/connect/proto/";

/// What a package file holds.
#[derive(Debug)]
pub(super) struct Package {
    /// Where it came from, as `SOURCE.toml` records it.
    pub(super) origin: source::Package,
    /// The text of the `*_pb2.py` modules, by their file names.
    pub(super) modules: BTreeMap<String, String>,
}

/// Downloads the package for a Spark version into `folder`, with the machine's own pip.
pub(super) fn download(version: &str, folder: &Path) -> Result<PathBuf> {
    let requirement = format!("{}=={version}", package_name(version)?);
    let status = Command::new("python3")
        .args(["-m", "pip", "download", "--no-deps", "--dest"])
        .arg(folder)
        .arg(&requirement)
        .status()
        .context("cannot run python3, which downloads the package (or give one with --package)")?;
    ensure!(status.success(), "pip could not download {requirement}: {status}");

    let mut files = folder.read_dir()?.map(|entry| Ok(entry?.path())).collect::<io::Result<Vec<_>>>()?;
    match (files.pop(), files.is_empty()) {
        (Some(file), true) => Ok(file),
        _ => bail!("pip should have left exactly one file in {}", folder.display()),
    }
}

/// The package that carries the descriptors: the small client-only one where there is one.
fn package_name(version: &str) -> Result<&'static str> {
    let mut parts = version.split('.');
    let mut number = || parts.next()?.parse::<u32>().ok();
    match (number(), number()) {
        (Some(major), Some(minor)) if (major, minor) <= (4, 2) => Ok("pyspark-client"),
        (Some(_), Some(_)) => Ok("pyspark"),
        _ => bail!("{version:?} is not a Spark version, such as 4.3.0"),
    }
}

/// Reads a source distribution (`.tar.gz`) or a wheel (`.whl`), which must be of the given version.
pub(super) fn read(path: &Path, version: &str) -> Result<Package> {
    let read = || -> Result<Package> {
        let file_name = path.file_name().and_then(|name| name.to_str()).context("its name is not text")?;
        let mut contents = Contents::default();
        if file_name.ends_with(".tar.gz") {
            contents.read_sdist(File::open(path)?)?;
        } else if path.extension().is_some_and(|extension| extension == "whl") {
            contents.read_wheel(File::open(path)?)?;
        } else {
            bail!("it is neither a .tar.gz nor a .whl");
        }
        let package = contents.into_package(file_name, sha256_of(File::open(path)?)?)?;
        ensure!(
            package.origin.version == version,
            "it holds {} {}, not version {version}",
            package.origin.name,
            package.origin.version
        );
        Ok(package)
    };
    read().with_context(|| format!("cannot use the package {}", path.display()))
}

/// What is collected while an archive is read.
#[derive(Debug, Default)]
struct Contents {
    metadata: Option<String>,
    modules: BTreeMap<String, String>,
}

impl Contents {
    fn read_sdist(&mut self, file: impl Read) -> Result<()> {
        let mut archive = tar::Archive::new(GzDecoder::new(file));
        for entry in archive.entries()? {
            let mut entry = entry?;
            // Everything lies in one top folder, named after the package and its version.
            let name = String::from_utf8_lossy(&entry.path_bytes()).into_owned();
            if let Some((_, name)) = name.split_once('/') {
                self.take(name, name == "PKG-INFO", &mut entry)?;
            }
        }
        Ok(())
    }

    fn read_wheel(&mut self, file: File) -> Result<()> {
        let mut archive = zip::ZipArchive::new(file)?;
        for index in 0..archive.len() {
            let mut entry = archive.by_index(index)?;
            let name = entry.name()?.into_owned();
            let is_metadata =
                name.split_once('/').is_some_and(|(folder, name)| folder.ends_with(".dist-info") && name == "METADATA");
            self.take(&name, is_metadata, &mut entry)?;
        }
        Ok(())
    }

    fn take(&mut self, name: &str, is_metadata: bool, entry: &mut impl Read) -> Result<()> {
        let module = name.strip_prefix(MODULES).filter(|name| name.ends_with("_pb2.py"));
        if !is_metadata && module.is_none() {
            return Ok(());
        }
        let mut text = String::new();
        entry.read_to_string(&mut text).with_context(|| format!("cannot read {name}"))?;
        match module {
            Some(module) => drop(self.modules.insert(module.to_owned(), text)),
            None => self.metadata = Some(text),
        }
        Ok(())
    }

    fn into_package(self, file_name: &str, sha256: String) -> Result<Package> {
        let metadata = self.metadata.context("it has no PKG-INFO or METADATA")?;
        let field = |name: &str| {
            // The description follows the first empty line, and can hold anything.
            let mut lines = metadata.lines().take_while(|line| !line.is_empty());
            let value = lines.find_map(|line| line.strip_prefix(name)?.strip_prefix(": "));
            value.map(str::to_owned).with_context(|| format!("its metadata has no {name}"))
        };
        ensure!(!self.modules.is_empty(), "it has no {MODULES}*_pb2.py");
        Ok(Package {
            origin: source::Package {
                name: field("Name")?,
                version: field("Version")?,
                file: file_name.to_owned(),
                sha256,
            },
            modules: self.modules,
        })
    }
}

/// The SHA-256 of everything `reader` has, in hexadecimal.
pub(super) fn sha256_of(mut reader: impl Read) -> io::Result<String> {
    let mut hash = Hash(Sha256::new());
    io::copy(&mut reader, &mut hash)?;
    let digest = hash.0.finalize();
    let hex = digest.iter().map(|byte| format!("{byte:02x}"));
    Ok(hex.collect())
}

struct Hash(Sha256);

impl Write for Hash {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.update(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
