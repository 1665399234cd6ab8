//! What a query reads: tables and views by name, files by path, each with its place.
//!
//! Two readers work together. The one over tokens finds every place where Spark's grammar takes a
//! relation, and always answers. Where a SQL parser understands the query too, its tree decides;
//! reads that only the tokens show are marked as inferred.

use std::collections::BTreeSet;
use std::ops::Range;

use knut_model::Identifier;

use crate::sql::read_tokens::{Found, Site, SiteKind};
use crate::sql::refusal::{RefusalReason, SqlRefusal};
use crate::sql::token::{Token, TokenKind, tokens};
use crate::sql::{read_tokens, read_tree};

/// One place where a query reads something.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SqlRead {
    /// What is read.
    pub source: ReadSource,
    /// Whether as a stream: `STREAM x` or `STREAM(x)`.
    pub is_streaming: bool,
    /// How sure the read is.
    pub certainty: Certainty,
    /// The bytes of its name, without `STREAM`.
    pub span: Range<usize>,
}

/// What a read reads.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ReadSource {
    /// A table or view, by the name as written.
    Name(Identifier),
    /// A table as it was, `x VERSION AS OF 1`. The server looks for it in the catalog only.
    TimeTravel(Identifier),
    /// Files, by a name such as ``parquet.`/data/x` ``.
    Path {
        /// The data source.
        format: String,
        /// The file or folder.
        path: String,
    },
}

/// How sure a read is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Certainty {
    /// The whole query was understood.
    Parsed,
    /// The query has parts that were not understood; the read was found by its surroundings.
    Inferred,
}

/// The reads of a query.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct QueryReads {
    /// Each read in the order in which they are written. A name read twice is there twice.
    pub reads: Vec<SqlRead>,
    /// Whether a SQL parser understood the query.
    pub is_parsed: bool,
    /// Whether there is nothing that could read more: an `IDENTIFIER(…)` whose name is computed
    /// can.
    pub is_complete: bool,
    /// What the server will refuse.
    pub refusals: Vec<SqlRefusal>,
}

/// Data sources that Spark has built in, so that the part after them is a path. Source: Spark 4.3,
/// observed: `parquet.abc` is a path, ``delta.`/x` `` without Delta Lake a table.
const FILE_FORMATS: [&str; 8] = ["parquet", "csv", "json", "orc", "text", "avro", "xml", "binaryfile"];

/// The words that a query can begin with.
const QUERY_STARTS: [&str; 7] = ["SELECT", "WITH", "FROM", "VALUES", "TABLE", "MAP", "REDUCE"];

/// The names of Databricks' functions that read files.
const FILE_FUNCTIONS: [&str; 3] = ["read_files", "cloud_files", "read_kafka"];

/// Reads what a SQL query reads; spans are bytes of `sql`. Takes any text.
///
/// ```
/// let found = knut_project::query_reads("SELECT * FROM STREAM orders JOIN (SELECT * FROM db.prices) p");
/// assert_eq!(found.reads.len(), 2);
/// assert!(found.reads[0].is_streaming && !found.reads[1].is_streaming);
/// ```
pub fn query_reads(sql: &str) -> QueryReads {
    reads_of(sql, &tokens(sql, 0..sql.len()), sql.len())
}

/// Reads what the query of these tokens reads; `end` is where its text ends.
pub(crate) fn reads_of(sql: &str, tokens: &[Token], end: usize) -> QueryReads {
    if let Some(refusal) = malformed(sql, tokens, end) {
        return QueryReads { refusals: vec![refusal], ..QueryReads::default() };
    }
    let found = read_tokens::read(sql, tokens);
    let mut out = QueryReads { is_complete: !found.has_computed_name, ..QueryReads::default() };
    let tree = read_tree::read(sql, tokens, &found);
    out.is_parsed = tree.is_some();
    let certainty = if out.is_parsed { Certainty::Parsed } else { Certainty::Inferred };
    collect(&found, tree.as_ref(), certainty, &mut out);
    out
}

fn collect(found: &Found, tree: Option<&BTreeSet<usize>>, certainty: Certainty, out: &mut QueryReads) {
    for site in &found.sites {
        let is_read = match tree {
            Some(tree) if !site.is_argument => tree.contains(&site.at),
            _ => site.kind != SiteKind::CommonTable,
        };
        if !is_read {
            continue;
        }
        match source(site) {
            Ok(source) => {
                if site.is_streaming && matches!(source, ReadSource::Path { .. }) {
                    out.refusals.push(SqlRefusal::new(RefusalReason::StreamOfFiles, site.span.clone()));
                }
                let span = site.span.clone();
                out.reads.push(SqlRead { source, is_streaming: site.is_streaming, certainty, span });
            }
            Err(Some(reason)) => out.refusals.push(SqlRefusal::new(reason, site.span.clone())),
            Err(None) => out.is_complete = false,
        }
    }
    for call in &found.calls {
        if let Some(name) = FILE_FUNCTIONS.iter().find(|name| name.eq_ignore_ascii_case(&call.name)) {
            out.refusals.push(SqlRefusal::new(RefusalReason::FileFunction((*name).to_owned()), call.span.clone()));
        }
    }
}

/// Reads a single relation, such as `STREAM x`, that stands by itself; the range is of tokens.
pub(crate) fn relation(sql: &str, tokens: &[Token], range: Range<usize>) -> QueryReads {
    let found = read_tokens::read_relation(sql, tokens.get(range).unwrap_or_default());
    let mut out = QueryReads { is_parsed: true, is_complete: !found.has_computed_name, ..QueryReads::default() };
    collect(&found, None, Certainty::Parsed, &mut out);
    out
}

/// What a name reads. The error is what the server says to it, or nothing if knut cannot hold such
/// a name.
fn source(site: &Site) -> Result<ReadSource, Option<RefusalReason>> {
    let parts = site.parts.as_slice();
    if let [format, path] = parts
        && FILE_FORMATS.iter().any(|known| known.eq_ignore_ascii_case(format))
    {
        return Ok(ReadSource::Path { format: format.clone(), path: path.clone() });
    }
    if parts.len() > 3 {
        return Err(Some(RefusalReason::ReadOfManyParts));
    }
    let name = Identifier::from_parts(parts).map_err(|_| None)?;
    Ok(if site.kind == SiteKind::TimeTravel { ReadSource::TimeTravel(name) } else { ReadSource::Name(name) })
}

/// What no query can be, whatever else stands in it.
fn malformed(sql: &str, tokens: &[Token], end: usize) -> Option<SqlRefusal> {
    let refuse = |reason: RefusalReason, token: &Token| Some(SqlRefusal::new(reason, token.span()));
    let syntax = |token: &Token, wanted: &'static str| {
        refuse(RefusalReason::Syntax { found: token.text(sql).to_owned(), wanted }, token)
    };
    let Some(first) = tokens.first() else {
        let reason = RefusalReason::Syntax { found: String::new(), wanted: "a query" };
        return Some(SqlRefusal::new(reason, end..end));
    };
    if !first.is_sign(sql, "(") && !QUERY_STARTS.iter().any(|start| first.is_word(sql, start)) {
        return syntax(first, "a query");
    }
    let mut open: Vec<(&Token, &str)> = Vec::new();
    for token in tokens {
        match (token.kind, token.text(sql)) {
            (TokenKind::Unclosed, _) => return refuse(RefusalReason::Unclosed, token),
            (TokenKind::Stray, text) => return refuse(RefusalReason::StrayCharacter(text.to_owned()), token),
            (TokenKind::Word, text) if !text.is_ascii() => {
                return refuse(RefusalReason::NeedsBackticks(text.to_owned()), token);
            }
            (TokenKind::Sign, "(") => open.push((token, ")")),
            (TokenKind::Sign, "[") => open.push((token, "]")),
            (TokenKind::Sign, close @ (")" | "]")) => match open.pop() {
                Some((_, wanted)) if wanted == close => {}
                _ => return syntax(token, "no such bracket"),
            },
            (TokenKind::Sign, ";") => return syntax(token, "no semicolon"),
            _ => {}
        }
    }
    open.pop().and_then(|(token, _)| refuse(RefusalReason::Unclosed, token))
}

#[cfg(test)]
#[path = "reads_tests.rs"]
mod tests;
