//! `proto/SOURCE.toml`: where the schema came from, and digests that prove it is still that schema.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result, bail};
use prost_types::FileDescriptorProto;
use serde::{Deserialize, Serialize};

use super::{package, schema};

/// The first lines of the file.
const HEADER: &str = "\
# Written by `cargo xtask regen-proto --from-spark VERSION`, together with the .proto files beside it.
# A descriptor's digest is the SHA-256 of the compiled file, without source positions and empty options.

";

/// The whole file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Source {
    /// The Spark release whose schema this is.
    pub(super) spark_version: String,
    pub(super) package: Package,
    /// The digest of each file's canonical descriptor, by the name the file is imported under.
    pub(super) descriptors: BTreeMap<String, String>,
}

/// The package of the Python registry that the descriptors were taken from.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Package {
    pub(super) name: String,
    pub(super) version: String,
    pub(super) file: String,
    /// The digest of the package file as a whole.
    pub(super) sha256: String,
}

impl Source {
    pub(super) fn parse(text: &str) -> Result<Self> {
        toml::from_str(text).context("cannot read SOURCE.toml")
    }

    pub(super) fn to_text(&self) -> Result<String> {
        Ok(format!("{HEADER}{}", toml::to_string(self)?))
    }

    /// Fails unless `files` are the recorded ones, all of them and unchanged.
    pub(super) fn verify(&self, files: &[FileDescriptorProto]) -> Result<()> {
        let found = digests(files)?;
        for (name, recorded) in &self.descriptors {
            match found.get(name) {
                Some(digest) if digest == recorded => {}
                Some(_) => bail!("{name} is not the schema that SOURCE.toml records"),
                None => bail!("{name} is missing, but SOURCE.toml records it"),
            }
        }
        if let Some(name) = found.keys().find(|name| !self.descriptors.contains_key(*name)) {
            bail!("{name} is not recorded in SOURCE.toml");
        }
        Ok(())
    }
}

/// The digest of each file's canonical descriptor.
pub(super) fn digests(files: &[FileDescriptorProto]) -> Result<BTreeMap<String, String>> {
    files
        .iter()
        .map(|file| {
            let digest = package::sha256_of(schema::canonical_bytes(file).as_slice())?;
            Ok((file.name().to_owned(), digest))
        })
        .collect()
}
