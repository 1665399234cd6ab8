//! The `libraries` globs of a spec: which patterns are allowed and what they mean.

use crate::problem::Place;
use crate::text::quoted;

/// One entry of `libraries`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Library {
    /// The `include` as written.
    pub include: String,
    /// What it means.
    pub pattern: LibraryPattern,
    /// The line in the spec, counted from 1.
    pub line: u32,
    /// The column in the spec, counted from 1 in characters.
    pub column: u32,
    /// The column behind its last character on that line.
    pub end_column: u32,
}

impl Library {
    pub(crate) fn place(&self) -> Place {
        Place { line: self.line, column: self.column, end_column: self.end_column }
    }
}

/// What an `include` may say. Source: Spark 4.3, the reference client's check of spec globs.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LibraryPattern {
    /// One file, by its path relative to the spec's folder.
    File(String),
    /// Every file at any depth of a folder: its path relative to the spec's folder, without `/**`.
    Folder(String),
}

/// Why an `include` is refused, and what to write instead.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct BadPattern {
    pub(crate) message: String,
    pub(crate) help: String,
}

const SHAPES: &str = "an include is the path of one file, or a folder followed by `/**`";

impl LibraryPattern {
    pub(crate) fn parse(include: &str) -> Result<Self, BadPattern> {
        let bad = |message: String, help: String| Err(BadPattern { message, help });
        if include.trim().is_empty() {
            return bad("the include is empty".to_owned(), format!("{SHAPES}, such as `transformations/**`"));
        }
        let folder = include.strip_suffix("/**").filter(|folder| !has_wildcard(folder));
        if folder.is_none() && has_wildcard(include) {
            let message = format!("{} is not an allowed glob pattern", quoted(include));
            return bad(message, format!("{SHAPES}: write {}", quoted(&nearest_legal(include))));
        }
        if include.starts_with('/') {
            let message = format!("{} is an absolute path", quoted(include));
            return bad(message, "an include is relative to the spec's folder".to_owned());
        }
        Ok(match folder {
            Some(folder) => Self::Folder(folder.to_owned()),
            None => Self::File(include.to_owned()),
        })
    }
}

/// Whether Python's `glob` would take the text for a pattern.
fn has_wildcard(text: &str) -> bool {
    text.contains(['*', '?', '['])
}

/// The folder pattern that takes at least what `include` means.
fn nearest_legal(include: &str) -> String {
    let slashes = include.replace('\\', "/");
    let literal: Vec<&str> = slashes.split('/').take_while(|part| !has_wildcard(part)).collect();
    match literal.join("/").trim_matches('/') {
        "" => "transformations/**".to_owned(),
        folder => format!("{folder}/**"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// C014: the patterns that the reference takes and refuses.
    #[test]
    fn an_include_is_a_file_or_a_folder() {
        let check = |include: &str, expected: Result<LibraryPattern, &str>| {
            let result = LibraryPattern::parse(include).map_err(|bad| format!("{} | {}", bad.message, bad.help));
            assert_eq!(result, expected.map_err(str::to_owned), "{include}");
        };
        let file = |path: &str| Ok(LibraryPattern::File(path.to_owned()));
        let folder = |path: &str| Ok(LibraryPattern::Folder(path.to_owned()));
        check("a.sql", file("a.sql"));
        check("./a b.sql", file("./a b.sql"));
        check("{x}.sql", file("{x}.sql"));
        check("transformations/**", folder("transformations"));
        check("my files/**", folder("my files"));
        check("../shared/**", folder("../shared"));
        check("./**", folder("."));
        for (include, instead) in [
            ("transformations/*.sql", "transformations/**"),
            ("transformations/**/*.sql", "transformations/**"),
            ("transformations/**/", "transformations/**"),
            ("transformations/?.sql", "transformations/**"),
            (r"transformations\**", "transformations/**"),
            ("**", "transformations/**"),
            ("**/*", "transformations/**"),
            ("**/**", "transformations/**"),
            ("tr[x]/**", "transformations/**"),
        ] {
            let expected = format!("`{include}` is not an allowed glob pattern | {SHAPES}: write `{instead}`");
            check(include, Err(&expected));
        }
        check("/abs/**", Err("`/abs/**` is an absolute path | an include is relative to the spec's folder"));
        check("/**", Err("`/**` is an absolute path | an include is relative to the spec's folder"));
        check(" ", Err(&format!("the include is empty | {SHAPES}, such as `transformations/**`")));
    }
}
