//! The commands, one file each.

pub(crate) mod init;
pub(crate) mod local;
pub(crate) mod run;
pub(crate) mod sql;

use std::path::PathBuf;

use crate::args::ProjectArgs;
use crate::failure::Failure;

/// The spec that the arguments name, or the nearest one.
fn spec_path(args: &ProjectArgs) -> Result<PathBuf, Failure> {
    Ok(match &args.spec {
        Some(path) => knut_project::spec_at(path)?,
        None => knut_project::find_spec(&std::env::current_dir()?)?,
    })
}

/// The folder whose local server is meant: the project's, or this one where there is no project.
fn server_folder(args: &ProjectArgs) -> Result<PathBuf, Failure> {
    let here = std::env::current_dir()?;
    let spec = match &args.spec {
        Some(path) => knut_project::spec_at(path)?,
        None => match knut_project::find_spec(&here) {
            Ok(spec) => spec,
            Err(_) => return Ok(here),
        },
    };
    let spec = spec.canonicalize()?;
    Ok(spec.parent().map_or(here, PathBuf::from))
}
