//! What must hold for whatever bytes a reader of knut is given; one function for each fuzz target.
//!
//! `cargo +nightly fuzz run TARGET fuzz/corpus/TARGET fuzz/seeds/TARGET` looks for bytes for which it does not.
//! What it once found belongs into `fuzz/seeds/TARGET`, which `cargo test` in this folder goes through.

use knut_project::{Problem, SqlContent, query_reads, read_sql, source_problems, spec_problems, split_sql};

/// A file cut into statements: joined again it is the file, and each statement lies where it says.
pub fn split(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let chunks = split_sql(text);
    let joined: Vec<&str> = chunks.iter().map(|chunk| &text[chunk.range.clone()]).collect();
    assert_eq!(joined.join(";"), text);
    assert!(chunks.is_sorted_by_key(|chunk| chunk.start));
    for statement in read_sql(text) {
        let chunk = &statement.chunk.range;
        assert!(chunk.start <= statement.range.start && statement.range.end <= chunk.end, "{statement:?}");
        assert!(!text[statement.range.clone()].is_empty() || matches!(statement.content, SqlContent::Unread));
        let _ = statement.verdict();
    }
}

/// A spec read: each problem has words, and a place inside the text.
pub fn spec(data: &[u8]) {
    check_problems(data, &spec_problems(data));
}

/// A `knut.toml` read: as [`spec`].
pub fn sources(data: &[u8]) {
    check_problems(data, &source_problems(data));
}

fn check_problems(data: &[u8], problems: &[Problem]) {
    let n_lines = data.split(|byte| matches!(byte, b'\n' | b'\r')).count();
    for problem in problems {
        assert!(!problem.to_string().is_empty());
        assert!(problem.line.is_none_or(|line| (1..=n_lines + 1).contains(&(line as usize))), "{problem:?}");
        assert!(problem.column.is_none_or(|column| column >= 1), "{problem:?}");
    }
}

/// A query read: what it reads lies in the text, in its order, and reading is a function.
pub fn query(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let found = query_reads(text);
    for read in &found.reads {
        assert!(!text[read.span.clone()].trim().is_empty(), "{read:?}");
    }
    assert!(found.reads.is_sorted_by_key(|read| read.span.start));
    assert_eq!(found, query_reads(text));
}

#[cfg(test)]
mod tests {
    use std::fs;

    /// Runs a target on each of its seeds; `n_least` guards against a folder that was not found.
    fn replay(target: fn(&[u8]), name: &str, n_least: usize) {
        let folder = format!("{}/seeds/{name}", env!("CARGO_MANIFEST_DIR"));
        let mut files: Vec<_> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
        files.sort();
        assert!(files.len() >= n_least, "{folder} has {} seeds", files.len());
        for file in files {
            target(&fs::read(file).unwrap());
        }
    }

    #[test]
    fn the_seeds_of_split() {
        replay(super::split, "split", 3);
    }

    #[test]
    fn the_seeds_of_spec() {
        replay(super::spec, "spec", 3);
    }

    #[test]
    fn the_seeds_of_sources() {
        replay(super::sources, "sources", 3);
    }

    #[test]
    fn the_seeds_of_query() {
        replay(super::query, "query", 3);
    }
}
