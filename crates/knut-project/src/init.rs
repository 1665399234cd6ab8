//! Writes a new project that runs at once.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};

use crate::problem::{Problem, Problems};
use crate::scalar::PlainType;
use crate::text::{quoted, reason};

/// The longest name, in bytes: a folder's name may be no longer on common file systems.
const MAX_NAME_BYTES: usize = 255;

const SPEC: &str = include_str!("../templates/spark-pipeline.yml");

/// The word in the spec's template that the project's name replaces.
const NAME_MARK: &str = "PROJECT_NAME";

/// The other files of a new project.
const FILES: [(&str, &str); 5] = [
    ("knut.toml", include_str!("../templates/knut.toml")),
    ("data/orders/2024-05.csv", include_str!("../templates/data/orders/2024-05.csv")),
    ("transformations/orders.sql", include_str!("../templates/transformations/orders.sql")),
    ("transformations/revenue_by_country.sql", include_str!("../templates/transformations/revenue_by_country.sql")),
    (".gitignore", include_str!("../templates/gitignore")),
];

/// Writes a new project named `name` into `folder`, which is made if it is not there, and returns
/// the files it wrote, relative to `folder`.
///
/// The project has a streaming source of CSV files, a streaming table and a materialized view, and
/// keeps everything that a run makes under `.knut/`.
///
/// # Errors
/// When the name is unfit, when any of the files exists (all that do are named, and nothing is
/// written), or when a file cannot be written.
pub fn init(folder: &Path, name: &str) -> Result<Vec<PathBuf>, Problems> {
    check_name(name)?;
    let spec = SPEC.replace(NAME_MARK, &yaml_string(name));
    let files: Vec<(&str, &str)> = [("spark-pipeline.yml", &*spec)].into_iter().chain(FILES).collect();

    // A spec of the other name would make the project one with two specs.
    let in_the_way = files.iter().map(|(path, _)| *path).chain(["spark-pipeline.yaml"]);
    let existing = in_the_way.filter(|path| folder.join(path).symlink_metadata().is_ok()).map(|path| {
        let problem =
            Problem::without_code(folder.join(path).display().to_string(), "the file exists and is not overwritten");
        problem.help("choose another folder, or move the file away")
    });
    if let Some(problems) = Problems::from_list(existing.collect()) {
        return Err(problems);
    }

    for (path, text) in &files {
        let path = folder.join(path);
        let written = path.parent().map_or(Ok(()), fs::create_dir_all).and_then(|()| {
            // Fails if somebody made the file in between.
            OpenOptions::new().write(true).create_new(true).open(&path)?.write_all(text.as_bytes())
        });
        if let Err(error) = written {
            let message = format!("the file cannot be written: {}", reason(&error));
            return Err(Problem::without_code(path.display().to_string(), message).into());
        }
    }
    Ok(files.into_iter().map(|(path, _)| PathBuf::from(path)).collect())
}

fn check_name(name: &str) -> Result<(), Problem> {
    let reason = if name.trim().is_empty() {
        "it is empty"
    } else if name.len() > MAX_NAME_BYTES {
        "it is longer than 255 bytes"
    } else if name.chars().any(char::is_control) {
        "it has a control character"
    } else if name.contains(['/', '\\']) || name == "." || name == ".." {
        "it is a path"
    } else {
        return Ok(());
    };
    let problem = Problem::without_code(quoted(name), format!("not a fit name for a project: {reason}"));
    Err(problem.help("choose a name such as `my_project`"))
}

/// A string as YAML reads it back, without quotes where none are needed.
fn yaml_string(text: &str) -> String {
    let is_word = text.starts_with(|c: char| c.is_ascii_alphabetic())
        && text.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-'));
    if is_word && PlainType::of(text) == PlainType::Text {
        return text.to_owned();
    }
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}
