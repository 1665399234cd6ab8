//! Finds the spec of a project.

use std::fs;
use std::path::{Path, PathBuf};

use crate::problem::Problem;
use crate::text::{quoted, reason};

/// The names a spec may have when nobody names it.
const SPEC_NAMES: [&str; 2] = ["spark-pipeline.yml", "spark-pipeline.yaml"];

/// Finds the spec of the project that `start` lies in: `spark-pipeline.yml` or `.yaml` in that
/// folder, else in the nearest folder above it.
///
/// # Errors
/// When there is none up to the root, when one folder has both, or when `start` is relative and
/// there is no current folder to resolve it against.
pub fn find_spec(start: &Path) -> Result<PathBuf, Problem> {
    if let Some(spec) = nearest_spec(start)? {
        return Ok(spec);
    }
    let shown = start.display().to_string();
    let problem =
        Problem::without_code(shown, "no spark-pipeline.yml or spark-pipeline.yaml in this folder or any above it");
    let elsewhere = match similar_in(start) {
        Some(name) => format!("`--spec {name}` takes the one here"),
        None => "`--spec PATH` takes one from elsewhere".to_owned(),
    };
    Err(problem.help(format!("`knut init` writes a new project; {elsewhere}")))
}

/// As [`find_spec`]; `None` where there is no project.
///
/// # Errors
/// When one folder has both, or when `start` is relative and there is no current folder.
pub fn nearest_spec(start: &Path) -> Result<Option<PathBuf>, Problem> {
    let start = std::path::absolute(start).map_err(|error| {
        Problem::without_code(start.display().to_string(), format!("no such folder: {}", reason(&error)))
    })?;
    for folder in start.ancestors() {
        if let Some(spec) = spec_in(folder)? {
            return Ok(Some(spec));
        }
    }
    Ok(None)
}

/// The spec that a user named: a file of any name, or a folder that has one.
///
/// # Errors
/// When there is nothing at `path`, or it is a folder with no spec or with two.
pub fn spec_at(path: &Path) -> Result<PathBuf, Problem> {
    let shown = path.display().to_string();
    let kind = match fs::metadata(path) {
        Ok(metadata) => metadata,
        Err(error) => {
            let problem = Problem::without_code(shown, format!("the spec cannot be read: {}", reason(&error)));
            return Err(problem.help("`--spec` takes a pipeline spec or the folder that has one"));
        }
    };
    if kind.is_dir() {
        let missing = "the folder has no spark-pipeline.yml and no spark-pipeline.yaml";
        return spec_in(path)?.ok_or_else(|| {
            let problem = Problem::without_code(shown, missing);
            match similar_in(path) {
                Some(name) => {
                    problem.help(format!("name the file itself: {}", quoted(&path.join(name).to_string_lossy())))
                }
                None => problem.help("`knut init` writes a new project"),
            }
        });
    }
    if kind.is_file() {
        Ok(path.to_owned())
    } else {
        Err(Problem::without_code(shown, "the spec is not a regular file"))
    }
}

fn spec_in(folder: &Path) -> Result<Option<PathBuf>, Problem> {
    let mut found = SPEC_NAMES.iter().map(|name| folder.join(name)).filter(|path| path.is_file());
    match (found.next(), found.next()) {
        (Some(_), Some(_)) => {
            let both = SPEC_NAMES.join(" and ");
            let problem = Problem::without_code(folder.display().to_string(), format!("the folder has both {both}"));
            Err(problem.help("remove one of them, or name one with `--spec`"))
        }
        (first, _) => Ok(first),
    }
}

/// A file that is probably meant as a spec but bears another name.
fn similar_in(folder: &Path) -> Option<String> {
    let names = fs::read_dir(folder).ok()?.flatten().filter_map(|entry| entry.file_name().into_string().ok());
    let is_yaml = |name: &str| Path::new(name).extension().is_some_and(|ext| ext == "yml" || ext == "yaml");
    names.filter(|name| name.contains("pipeline") && is_yaml(name)).min()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_spec_above_is_found() {
        let top = tempfile::tempdir().unwrap();
        let deep = top.path().join("a/b/c");
        fs::create_dir_all(&deep).unwrap();
        fs::write(top.path().join("spark-pipeline.yaml"), "").unwrap();
        assert_eq!(find_spec(&deep).unwrap(), top.path().join("spark-pipeline.yaml"));
        fs::write(top.path().join("a/spark-pipeline.yml"), "").unwrap();
        assert_eq!(find_spec(&deep).unwrap(), top.path().join("a/spark-pipeline.yml"));
        // A folder that bears the name is no spec.
        fs::create_dir(deep.join("spark-pipeline.yml")).unwrap();
        assert_eq!(find_spec(&deep).unwrap(), top.path().join("a/spark-pipeline.yml"));
    }

    #[test]
    fn no_spec_and_two_specs_say_where_and_what_next() {
        let top = tempfile::tempdir().unwrap();
        let shown = top.path().display();
        let none = find_spec(top.path()).unwrap_err();
        assert_eq!(
            none.to_string(),
            format!("{shown}: no spark-pipeline.yml or spark-pipeline.yaml in this folder or any above it")
        );
        assert!(none.help.unwrap().contains("knut init"));
        fs::write(top.path().join("sdp-pipeline.yml"), "").unwrap();
        assert!(find_spec(top.path()).unwrap_err().help.unwrap().contains("--spec sdp-pipeline.yml"));
        fs::write(top.path().join("spark-pipeline.yml"), "").unwrap();
        fs::write(top.path().join("spark-pipeline.yaml"), "").unwrap();
        let both = format!("{shown}: the folder has both spark-pipeline.yml and spark-pipeline.yaml");
        assert_eq!(find_spec(top.path()).unwrap_err().to_string(), both);
        assert_eq!(spec_at(top.path()).unwrap_err().to_string(), both);
        assert!(spec_at(&top.path().join("spark-pipeline.yml")).is_ok());
    }

    #[test]
    fn a_named_spec_is_a_file_or_a_folder_with_one() {
        let top = tempfile::tempdir().unwrap();
        let missing = spec_at(&top.path().join("x.yml")).unwrap_err();
        assert!(missing.to_string().ends_with("x.yml: the spec cannot be read: there is no such file"), "{missing}");
        let empty = spec_at(top.path()).unwrap_err();
        assert!(empty.message.contains("the folder has no spark-pipeline.yml"), "{empty}");
        fs::write(top.path().join("spark-pipeline.yml"), "").unwrap();
        assert_eq!(spec_at(top.path()).unwrap(), top.path().join("spark-pipeline.yml"));
    }
}
