//! The commands, one file each.

pub(crate) mod attach;
pub(crate) mod check;
pub(crate) mod graph;
pub(crate) mod init;
pub(crate) mod local;
pub(crate) mod preview;
pub(crate) mod run;
pub(crate) mod sql;

use std::path::PathBuf;

use crate::args::ProjectArgs;
use crate::failure::Failure;

/// The spec that the arguments name, or the nearest one.
fn spec_path(args: &ProjectArgs) -> Result<PathBuf, Failure> {
    match nearest_spec(args)? {
        Some(spec) => Ok(spec),
        // Asked again for the words that say where it looked.
        None => Ok(knut_project::find_spec(&std::env::current_dir()?)?),
    }
}

/// As [`spec_path`]; `None` where there is no project. Two specs in one folder are an error all the same.
fn nearest_spec(args: &ProjectArgs) -> Result<Option<PathBuf>, Failure> {
    Ok(match &args.spec {
        Some(path) => Some(knut_project::spec_at(path)?),
        None => knut_project::nearest_spec(&std::env::current_dir()?)?,
    })
}

/// The folder whose local server is meant: the project's, or this one where there is no project.
fn server_folder(args: &ProjectArgs) -> Result<PathBuf, Failure> {
    let here = std::env::current_dir()?;
    let Some(spec) = nearest_spec(args)? else { return Ok(here) };
    // The folder that the spec's path leads through, not the one that a linked spec lies in.
    let spec = std::path::absolute(spec)?;
    Ok(spec.parent().map_or(here, PathBuf::from))
}
