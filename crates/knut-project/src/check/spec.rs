//! What a spec says that works, and probably not as it was meant.

use crate::code::Code;
use crate::problem::Problem;
use crate::project_files::ProjectFiles;
use crate::text::quoted;

pub(super) fn check(files: &ProjectFiles) -> Vec<Problem> {
    storage(files).into_iter().collect()
}

/// A storage whose path Spark will not keep; see [`Storage::checkpoint_uri`](crate::Storage::checkpoint_uri).
fn storage(files: &ProjectFiles) -> Option<Problem> {
    let (storage, place) = files.reading.storage.as_ref()?;
    let really = storage.checkpoint_uri();
    if really == storage.uri {
        return None;
    }
    let message =
        format!("Spark will keep the checkpoints under {}, not under {}", quoted(&really), quoted(&storage.uri));
    let help = "its path has a character that Spark encodes, such as a space: choose a storage of plain characters";
    Some(Problem::new(Code::CHECKPOINTS_ELSEWHERE, &*files.spec_file, message).at(*place).help(help))
}
