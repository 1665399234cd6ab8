//! By which path a server calls its project's `.knut` folder, and that this path still leads there.
//!
//! Spark reads `[`, `{`, `*` and `?` in a table's path as a pattern and then finds nothing, log4j splits paths at
//! commas, and the metastore keeps absolute paths. So a project whose path has such characters is reached through a
//! link with a plain name in knut's home, and the path that a project's tables were made under is kept beside them:
//! in a project that was moved or copied it leads elsewhere, and Spark would quietly read and write another project's
//! files.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use crate::error::{Error, ErrorKind, Result};
use crate::home::Home;
use crate::project::ProjectFolder;

/// Derby's folder in the metastore folder.
pub(crate) const DATABASE: &str = "derby";
/// Beside it: the path that the tables were made under.
const RECORD: &str = "made-under";

/// The path by which the server of `project`, whose folders exist, is to call its `.knut` folder.
pub(crate) fn path(project: &ProjectFolder, home: &Home) -> Result<PathBuf> {
    let folder = project.knut_folder();
    let current = if is_exact(&folder) { folder.clone() } else { through_link(project, home)? };
    let record = project.metastore_folder().join(RECORD);
    let has_tables = project.metastore_folder().join(DATABASE).exists();
    if has_tables && let Ok(recorded) = fs::read_to_string(&record) {
        let recorded = PathBuf::from(recorded);
        if leads_to(&recorded, &folder) {
            return Ok(recorded);
        }
        return Err(Error::new(
            ErrorKind::Project,
            format!(
                "the local tables of {} were made under {}, which is not this project's folder now",
                project.root().display(),
                recorded.display()
            ),
        )
        .with_hint(format!(
            "move the project (or knut's home) back, or remove {} to begin with empty tables",
            project.knut_folder().display()
        )));
    }
    fs::write(&record, current.as_os_str().as_encoded_bytes())
        .map_err(|error| Error::io("cannot write", &record, error).with_kind(ErrorKind::Project))?;
    Ok(current)
}

/// The path by which the project's server calls, or last called, its `.knut` folder.
pub(crate) fn last_path(project: &ProjectFolder) -> PathBuf {
    let folder = project.knut_folder();
    let recorded = fs::read_to_string(project.metastore_folder().join(RECORD)).map(PathBuf::from);
    recorded.ok().filter(|recorded| leads_to(recorded, &folder)).unwrap_or(folder)
}

fn leads_to(path: &Path, folder: &Path) -> bool {
    match (fs::canonicalize(path), fs::canonicalize(folder)) {
        (Ok(path), Ok(folder)) => path == folder,
        _ => false,
    }
}

/// Whether a server writes under `path` all that it is told to write there. A space is taken everywhere but by
/// streaming checkpoints, which Spark 4.3 writes under `%20` instead.
fn is_exact(path: &Path) -> bool {
    is_plain(path) && !path.as_os_str().as_encoded_bytes().contains(&b' ')
}

/// Whether all that a server is made of takes `path` as it is written. Anything but letters and digits of any script and a few
/// marks is taken as not plain: a link too many costs nothing.
fn is_plain(path: &Path) -> bool {
    path.to_str()
        .is_some_and(|path| path.chars().all(|c| c.is_alphanumeric() || matches!(c, '/' | '.' | '_' | '-' | ' ')))
}

fn through_link(project: &ProjectFolder, home: &Home) -> Result<PathBuf> {
    let target = project.knut_folder();
    let links = home.aliases();
    let link = links.join(name_for(&target));
    if !is_exact(&link) && is_plain(&target) {
        return Ok(target);
    }
    if !is_plain(&link) {
        return Err(Error::new(
            ErrorKind::Project,
            format!("{} has characters in its path that Spark cannot work with", target.display()),
        )
        .with_hint("rename the folder, or set KNUT_HOME to a path of letters and digits"));
    }
    let fail = |error| Error::io("cannot make the link", &link, error).with_kind(ErrorKind::Home);
    fs::create_dir_all(&links).map_err(fail)?;
    make_link(&target, &link).map_err(fail)?;
    Ok(link)
}

fn make_link(target: &Path, link: &Path) -> io::Result<()> {
    match fs::read_link(link) {
        Ok(found) if found == target => return Ok(()),
        Ok(_) => {
            return Err(io::Error::new(io::ErrorKind::AlreadyExists, "it leads elsewhere"));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => {}
        Err(error) => return Err(error),
    }
    #[cfg(unix)]
    return std::os::unix::fs::symlink(target, link);
    #[cfg(not(unix))]
    return Err(io::ErrorKind::Unsupported.into());
}

/// A name that is always the same for the same path (FNV-1a, 64 bits): the metastore keeps it.
fn name_for(path: &Path) -> String {
    let mut hash: u64 = 0xcbf2_9ce4_8422_2325;
    for byte in path.as_os_str().as_encoded_bytes() {
        hash = (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3);
    }
    format!("{hash:016x}")
}

#[cfg(unix)]
#[cfg(test)]
mod tests {
    use super::*;

    fn project(root: &Path) -> ProjectFolder {
        fs::create_dir_all(root).unwrap();
        let project = ProjectFolder::new(root).unwrap();
        project.create().unwrap();
        project
    }

    fn make_tables(project: &ProjectFolder) {
        fs::create_dir_all(project.metastore_folder().join(DATABASE)).unwrap();
    }

    #[test]
    fn a_plain_path_is_used_as_it_is_and_a_pattern_through_a_link() {
        let folder = tempfile::Builder::new().prefix("knut").tempdir().unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        let plain = project(&folder.path().join("größe日a-b.c"));
        assert_eq!(path(&plain, &home).unwrap(), plain.knut_folder());

        for name in ["a b", "[a]", "a{b}", "a*", "a?", "it's", "a\"b", "a%20b", "a;b", "a$b", "a\\b", "a\nb"] {
            let odd = project(&folder.path().join(name));
            let used = path(&odd, &home).unwrap();
            assert!(is_plain(&used), "{}", used.display());
            assert!(leads_to(&used, &odd.knut_folder()), "{name}");
            make_tables(&odd);
            assert_eq!(path(&odd, &home).unwrap(), used, "{name}");
            assert_eq!(last_path(&odd), used, "{name}");
        }
    }

    #[test]
    fn two_odd_projects_have_two_links() {
        let folder = tempfile::tempdir().unwrap();
        assert_ne!(name_for(&folder.path().join("a")), name_for(&folder.path().join("b")));
        assert_eq!(name_for(Path::new("")), "cbf29ce484222325");
    }

    #[test]
    fn a_moved_or_copied_project_with_tables_is_refused_and_one_without_is_not() {
        let folder = tempfile::tempdir().unwrap();
        let home = Home::at(folder.path().join("home")).unwrap();
        let first = folder.path().join("first");
        let before = project(&first);
        path(&before, &home).unwrap();
        let second = folder.path().join("second");
        fs::rename(&first, &second).unwrap();
        let moved = project(&second);
        assert_eq!(path(&moved, &home).unwrap(), moved.knut_folder());

        make_tables(&moved);
        fs::rename(&second, &first).unwrap();
        let error = path(&project(&first), &home).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Project);
        assert!(error.to_string().contains("second"), "{error}");

        std::os::unix::fs::symlink(&first, &second).unwrap();
        path(&project(&first), &home).unwrap();
    }
}
