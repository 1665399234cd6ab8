//! What a spec says that works, and probably not as it was meant.

use std::path::Path;

use super::static_confs;
use crate::code::Code;
use crate::problem::{Place, Problem};
use crate::project_files::ProjectFiles;
use crate::storage::{Storage, has_scheme};
use crate::text::quoted;

pub(super) fn check(files: &ProjectFiles) -> Vec<Problem> {
    let confs = files.reading.confs.iter().filter(|(key, _)| static_confs::is_static(key));
    let mut problems: Vec<Problem> = confs
        .map(|(key, place)| {
            let message = static_confs::message(key);
            Problem::new(Code::STATIC_CONF, &*files.spec_file, message).at(*place).help(static_confs::HELP)
        })
        .collect();
    if let Some((storage, place)) = &files.reading.storage {
        problems.extend(moved(files, storage, *place));
        problems.extend(without_scheme(files, storage, *place));
        problems.extend(among_tables(files, storage, *place));
    }
    problems
}

/// C012 (a), (b): a storage whose path Spark will not keep; see [`Storage::checkpoint_uri`].
fn moved(files: &ProjectFiles, storage: &Storage, place: Place) -> Option<Problem> {
    let really = storage.checkpoint_uri();
    if really == storage.uri {
        return None;
    }
    let message =
        format!("Spark will keep the checkpoints under {}, not under {}", quoted(&really), quoted(&storage.uri));
    let help = "its path has a character that Spark encodes, such as a space: choose a storage of plain characters";
    Some(Problem::new(Code::CHECKPOINTS_ELSEWHERE, &*files.spec_file, message).at(place).help(help))
}

/// A folder of this machine, where something else is likely to be meant.
fn without_scheme(files: &ProjectFiles, storage: &Storage, place: Place) -> Option<Problem> {
    if has_scheme(&storage.written) {
        return None;
    }
    let is_elsewhere = files.reading.remote.as_ref().is_some_and(|remote| {
        let host = remote.reveal().trim_start_matches("sc://");
        !["localhost", "127.0.0.1", "[::1]"].iter().any(|here| host.starts_with(here))
    });
    let is_own = path_of(storage).is_some_and(|path| path.starts_with(files.root.join(".knut")));
    if is_own && !is_elsewhere {
        return None;
    }
    let message = if is_elsewhere {
        format!("{} is a folder of this machine, and the server is on another", quoted(&storage.written))
    } else {
        format!("{} has no scheme, so it is sent as {}", quoted(&storage.written), quoted(&storage.uri))
    };
    let help = format!("write the URI of a place that the server reaches, such as {}", quoted(&storage.uri));
    Some(Problem::new(Code::STORAGE_WITHOUT_SCHEME, &*files.spec_file, message).at(place).help(help))
}

/// C012 (d): a storage in the folder of the tables: that of the project's own server, or the one that
/// Spark makes where it is started.
fn among_tables(files: &ProjectFiles, storage: &Storage, place: Place) -> Option<Problem> {
    let path = path_of(storage)?;
    let warehouses = [".knut/warehouse", "spark-warehouse"].map(|folder| files.root.join(folder));
    let warehouse = warehouses.iter().find(|warehouse| path.starts_with(warehouse))?;
    let message = format!("the storage lies among the tables of {}", quoted(&warehouse.to_string_lossy()));
    let help = "give checkpoints a folder of their own, such as `.knut/storage`";
    Some(Problem::new(Code::STORAGE_AMONG_TABLES, &*files.spec_file, message).at(place).help(help))
}

/// The path of a storage that is a folder of this machine.
fn path_of(storage: &Storage) -> Option<&Path> {
    let path = storage.uri.strip_prefix("file:")?;
    Some(Path::new(path.strip_prefix("//").unwrap_or(path)))
}
