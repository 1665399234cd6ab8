//! The `storage` of a spec: from what its author wrote to the URI that the server takes.

use std::fmt::Write as _;
use std::path::{Component, Path, PathBuf};

use crate::text::quoted;

/// Where a run keeps its streaming checkpoints.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Storage {
    /// What the author wrote.
    pub written: String,
    /// What the server is sent: a URI with a scheme, written as Hadoop's `Path` reads it. That is
    /// the plain path, never percent-encoded: `Path` takes `%20` for three characters.
    pub uri: String,
}

impl Storage {
    /// Reads a `storage`; a path without a scheme is resolved against `base`, an absolute folder.
    ///
    /// A URI passes exactly as written, but without line ends behind it.
    ///
    /// # Errors
    /// When it is empty, begins with `~`, holds a placeholder that nobody filled in, or `base` is
    /// not UTF-8.
    pub fn resolve(written: &str, base: &Path) -> Result<Self, StorageError> {
        // A literal block of YAML ends with a line feed that nobody means.
        let written = written.trim_end_matches(['\r', '\n']);
        if written.trim().is_empty() {
            return Err(StorageError::Empty);
        }
        if let Some(placeholder) = placeholder(written) {
            return Err(StorageError::Placeholder(placeholder.to_owned()));
        }
        if written == "~" || written.starts_with("~/") {
            return Err(StorageError::Home);
        }
        let uri = if has_scheme(written) { written.to_owned() } else { file_uri(&normalized(&base.join(written)))? };
        Ok(Self { written: written.to_owned(), uri })
    }

    /// The folder that Spark 4.3 really writes checkpoints under, as a URI in the spelling of
    /// [`Storage::uri`].
    ///
    /// It differs from `uri` when the path has a character that Java's `URI` must quote (a space,
    /// `%`, `[`, `#`, …): Spark turns the path of a checkpoint into an encoded URI and that back
    /// into a path without decoding it, so that `file:///tmp/a b` gets its checkpoints under
    /// `/tmp/a%20b`. No spelling of `uri` avoids this: sent as `a%20b` they land under `a%2520b`.
    ///
    /// Source: Spark 4.3, `SystemMetadata.getLatestCheckpointDir`. Observed: Spark 4.3.0.
    pub fn checkpoint_uri(&self) -> String {
        let path_start = path_start(&self.uri);
        let (head, path) = self.uri.split_at(path_start);
        let mut out = head.to_owned();
        for c in path.chars() {
            if is_kept_by_java(c) {
                out.push(c);
                continue;
            }
            for byte in c.encode_utf8(&mut [0; 4]).bytes() {
                // Writing to a string cannot fail.
                let _ = write!(out, "%{byte:02X}");
            }
        }
        out
    }
}

/// Why a `storage` is refused.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum StorageError {
    /// It is empty.
    #[error("`storage` is empty")]
    Empty,
    /// It holds a placeholder, which is given.
    #[error("`storage` holds {}, a placeholder that nobody filled in", quoted(.0))]
    Placeholder(String),
    /// It begins with `~`.
    #[error("`storage` begins with `~`, which only a shell expands")]
    Home,
    /// The folder it is relative to is not UTF-8, and a request cannot carry it.
    #[error("the path of the project is not UTF-8, so that `storage` must be a full URI")]
    NotUtf8,
}

/// Whether a text begins like a URI.
pub(crate) fn has_scheme(text: &str) -> bool {
    let Some((scheme, _)) = text.split_once(':') else { return false };
    scheme.starts_with(|c: char| c.is_ascii_alphabetic())
        && scheme.bytes().all(|byte| byte.is_ascii_alphanumeric() || matches!(byte, b'+' | b'-' | b'.'))
}

/// The first piece that a template should have replaced: `${X}`, `{x}`, `<x>` or `__X__`.
pub(crate) fn placeholder(text: &str) -> Option<&str> {
    let between = |open: &str, close: char| {
        let start = text.find(open)?;
        let length = text[start..].find(close)?;
        Some(&text[start..=start + length])
    };
    let is_word = |word: &str| !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_uppercase() || byte == b'_');
    let dunder = || {
        text.match_indices("__").find_map(|(start, _)| {
            let length = text[start + 2..].find("__")?;
            let end = start + 2 + length;
            is_word(&text[start + 2..end]).then(|| &text[start..end + 2])
        })
    };
    between("${", '}').or_else(|| between("{", '}')).or_else(|| between("<", '>')).or_else(dunder)
}

/// The `file:` URI of an absolute path, as Hadoop's `Path` reads it.
pub(crate) fn file_uri(path: &Path) -> Result<String, StorageError> {
    path.to_str().map(|path| format!("file://{path}")).ok_or(StorageError::NotUtf8)
}

/// A path without `.` and `..`, by its text alone: so does Hadoop's `Path`.
pub(crate) fn normalized(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for component in path.components() {
        match component {
            Component::CurDir => {}
            Component::ParentDir => {
                out.pop();
            }
            other => out.push(other),
        }
    }
    out
}

/// Where the path begins in a URI: behind the scheme and the authority.
fn path_start(uri: &str) -> usize {
    let after_scheme = uri.find(':').map_or(0, |colon| colon + 1);
    match uri[after_scheme..].strip_prefix("//") {
        Some(rest) => after_scheme + 2 + rest.find('/').unwrap_or(rest.len()),
        None => after_scheme,
    }
}

/// Whether Java's `URI` leaves a character of a path as it is.
fn is_kept_by_java(c: char) -> bool {
    if c.is_ascii() {
        c.is_ascii_alphanumeric() || "-_.!~*'():@&=+$,;/".contains(c)
    } else {
        !c.is_whitespace() && !c.is_control()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C012, C017, C018: what is sent, and where Spark then writes.
    #[test]
    fn storage_is_sent_as_hadoop_reads_it() {
        let check = |written: &str, base: &str, uri: &str, checkpoints: &str| {
            let storage = Storage::resolve(written, Path::new(base)).unwrap();
            assert_eq!(storage.uri, uri, "{written}");
            assert_eq!(storage.checkpoint_uri(), checkpoints, "{written}");
        };
        let same = |written: &str, base: &str, uri: &str| check(written, base, uri, uri);
        same(".knut/storage", "/home/me/shop", "file:///home/me/shop/.knut/storage");
        same("./_pipeline_storage", "/p", "file:///p/_pipeline_storage");
        same("../x/./y", "/p/q", "file:///p/x/y");
        same("/tmp/x", "/p", "file:///tmp/x");
        same("storage-root", "/", "file:///storage-root");
        same("x", "/tmp/é漢", "file:///tmp/é漢/x");
        same("x", "/tmp/a*b", "file:///tmp/a*b/x");
        same("file:/abs", "/p", "file:/abs");
        same("s3a://bucket/p", "/p", "s3a://bucket/p");
        same("abfs://c@acct.dfs.core.windows.net/p", "/p", "abfs://c@acct.dfs.core.windows.net/p");
        check("file:///tmp/a b", "/p", "file:///tmp/a b", "file:///tmp/a%20b");
        check("file:///tmp/a%20b", "/p", "file:///tmp/a%20b", "file:///tmp/a%2520b");
        check("st", "/tmp/my project", "file:///tmp/my project/st", "file:///tmp/my%20project/st");
        check("st", "/tmp/a[1]", "file:///tmp/a[1]/st", "file:///tmp/a%5B1%5D/st");
        check("st", "/tmp/{x}", "file:///tmp/{x}/st", "file:///tmp/%7Bx%7D/st");
        check("st", "/tmp/é 漢#\u{a0}", "file:///tmp/é 漢#\u{a0}/st", "file:///tmp/é%20漢%23%C2%A0/st");
    }

    /// C012 (c): templates that nobody rendered.
    #[test]
    fn placeholders_are_refused_by_name() {
        for (written, expected) in [
            ("${STORAGE_ROOT}", Some("${STORAGE_ROOT}")),
            ("file:///x/${env:USER}/y", Some("${env:USER}")),
            ("file://__REPO__/x", Some("__REPO__")),
            ("s3://{bucket}/p", Some("{bucket}")),
            ("s3://{{ bucket }}/p", Some("{{ bucket }")),
            ("abfs://<container>@acct/p", Some("<container>")),
            ("file:///x/__pycache__/y", None),
            ("file:///__pycache__/__REPO_DIR__", Some("__REPO_DIR__")),
            ("file:///x/a__B/__c", None),
            ("file:///x/$dollar", None),
        ] {
            let error = Storage::resolve(written, Path::new("/p")).err();
            assert_eq!(error, expected.map(|found| StorageError::Placeholder(found.to_owned())), "{written}");
        }
        assert_eq!(Storage::resolve(" ", Path::new("/p")), Err(StorageError::Empty));
        assert_eq!(Storage::resolve("~/x", Path::new("/p")), Err(StorageError::Home));
    }
}
