//! A path of a source: from what its author wrote to what the server reads.
//!
//! Spark reads a path as a pattern: `*`, `?`, `[…]`, `{…}` choose files and `\` takes the next
//! character as it is. The author may use that; the folder that the project lies in must not.

use std::path::Path;

use crate::storage::{has_scheme, normalized, placeholder};
use crate::text::quoted;

/// The characters for which Hadoop takes a path for a pattern. Source: Spark 4.3,
/// `SparkHadoopUtil.isGlobPath`.
const PATTERN_CHARS: [char; 7] = ['{', '}', '[', ']', '*', '?', '\\'];

/// Why a path is refused, and what to do.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPath {
    pub(crate) message: String,
    pub(crate) help: String,
}

/// The path to send; `root` is the project's absolute folder.
///
/// With a scheme it passes as written. Without one it means a file of this machine and becomes a
/// `file:` URI: the server's own default file system may be another. It is not percent-encoded,
/// because Hadoop's `Path` takes `%20` for three characters.
pub(crate) fn server_path(root: &Path, written: &str, must_exist: bool) -> Result<String, BadPath> {
    let bad = |message: String, help: &str| Err(BadPath { message, help: help.to_owned() });
    if written.trim().is_empty() {
        return bad("a path is empty".to_owned(), "write a file or folder relative to the project");
    }
    if written.contains("${")
        && let Some(found) = placeholder(written)
    {
        let message =
            format!("the path {} holds {}, a placeholder that nobody filled in", quoted(written), quoted(found));
        return bad(message, "fill it in");
    }
    if has_scheme(written) {
        return Ok(written.to_owned());
    }
    if written == "~" || written.starts_with("~/") {
        let message = format!("the path {} begins with `~`, which only a shell expands", quoted(written));
        return bad(message, "write the whole path, or one relative to the project");
    }
    let is_pattern = written.contains(PATTERN_CHARS);
    if must_exist && !is_pattern && !root.join(written).exists() {
        let message = format!("the path {} does not exist", quoted(&root.join(written).to_string_lossy()));
        let help = if written.starts_with('/') {
            format!("if it is a path of the server's machine, write it as a URI: `file://{written}`")
        } else {
            "it is relative to the project's folder".to_owned()
        };
        return Err(BadPath { message, help });
    }
    let Some(folder) = root.to_str() else {
        return bad("the path of the project is not UTF-8".to_owned(), "write the path as a URI");
    };
    // An absolute path replaces the folder, which then has nothing to escape.
    let path = normalized(&Path::new(&escaped(folder)).join(written));
    Ok(format!("file://{}", path.to_string_lossy()))
}

/// A path whose characters all stand for themselves.
pub(crate) fn escaped(path: &str) -> String {
    let mut out = String::with_capacity(path.len());
    for c in path.chars() {
        if PATTERN_CHARS.contains(&c) {
            out.push('\\');
        }
        out.push(c);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(root: &str, written: &str, expected: &str) {
        assert_eq!(server_path(Path::new(root), written, true), Ok(expected.to_owned()), "{root} {written}");
    }

    /// C017, C018: the project's folder is literal, the author's part may be a pattern.
    #[test]
    fn the_projects_folder_is_literal_and_the_authors_part_a_pattern() {
        check("/p", "data/*.csv", "file:///p/data/*.csv");
        check("/p/my project", "./data/{a,b}", "file:///p/my project/data/{a,b}");
        check("/p/a[1]", "../d/*", "file:///p/d/*");
        check("/p/a[1]", "d/*", r"file:///p/a\[1\]/d/*");
        check("/p/a*b/{x}/q?u", "d/[0-9]", r"file:///p/a\*b/\{x\}/q\?u/d/[0-9]");
        check("/p/é 漢%20", "d/*", "file:///p/é 漢%20/d/*");
        check("/", "d/*", "file:///d/*");
        check("/p", "/data/*.csv", "file:///data/*.csv");
        check("/p/a[1]", "s3a://bucket/x y", "s3a://bucket/x y");
        check("/p", "file:///nowhere", "file:///nowhere");
    }

    #[test]
    fn a_path_without_pattern_must_exist() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("a[1] b");
        std::fs::create_dir_all(root.join("data")).unwrap();
        let sent = server_path(&root, "data", true).unwrap();
        assert_eq!(sent, format!("file://{}/a\\[1\\] b/data", folder.path().display()));
        let shown = root.join("dada").display().to_string();
        let missing = server_path(&root, "dada", true).unwrap_err();
        assert_eq!(missing.message, format!("the path `{shown}` does not exist"));
        let absolute = server_path(&root, "/no/such", true).unwrap_err();
        assert!(absolute.help.ends_with("write it as a URI: `file:///no/such`"));
    }

    #[test]
    fn what_only_a_shell_or_a_template_understands_is_refused() {
        for (written, message) in [
            ("", "a path is empty"),
            ("~/x", "the path `~/x` begins with `~`, which only a shell expands"),
            ("s3a://${B}/x", "the path `s3a://${B}/x` holds `${B}`, a placeholder that nobody filled in"),
        ] {
            assert_eq!(server_path(Path::new("/p"), written, true).unwrap_err().message, message, "{written}");
        }
    }
}
