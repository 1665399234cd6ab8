//! Entries for tests that throw any bytes at the readers of a project's own files; the readers of SQL
//! are public as they are. Nothing here is for other use.

use std::path::Path;

use crate::problem::Problem;
use crate::sources::read_sources;
use crate::spec::read_spec;
use crate::text;

/// Reads the bytes of a spec and gives what is wrong with it. Takes any bytes.
pub fn spec_problems(bytes: &[u8]) -> Vec<Problem> {
    match text::decode(bytes, "spec") {
        Ok(text) => read_spec(text, "spec", Path::new("/"), None).problems,
        Err(problem) => vec![problem],
    }
}

/// Reads the bytes of a `knut.toml` and gives what is wrong with it. Takes any bytes.
pub fn source_problems(bytes: &[u8]) -> Vec<Problem> {
    match text::decode(bytes, "knut.toml") {
        Ok(text) => read_sources(text, "knut.toml", Path::new("/"), true).1,
        Err(problem) => vec![problem],
    }
}
