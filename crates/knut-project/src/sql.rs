//! Reading of SQL files: statements, what they define, and what their queries read.
//!
//! All of it is total: any text is read, in linear time and without deep recursion.

mod auto_cdc;
mod clauses;
mod create;
mod cursor;
mod definitions;
mod dialect;
mod file;
mod read_tokens;
mod read_tree;
mod reads;
mod refusal;
mod relations;
mod reported;
mod session;
mod split;
mod statement;
mod token;

pub use definitions::{
    DefinedDataset, DefinedEdge, DefinedFlow, EdgeSource, FilePlace, ReadSqlFile, SqlContext, SqlDefinitions,
    StatementIndex,
};
pub use file::read_sql;
pub use reads::{Certainty, QueryReads, ReadSource, SqlRead, query_reads};
pub use refusal::{RefusalReason, SqlRefusal};
pub use reported::{reported_chunk, reported_place};
pub use split::{SqlChunk, TextPlace, split_sql};
pub use statement::{
    ColumnChoice, SqlAutoCdc, SqlColumn, SqlContent, SqlDataset, SqlFill, SqlFlow, SqlName, SqlQuery, SqlStatement,
    Verdict,
};

/// A part of a text as its words and signs, with one blank between: equal texts differ in blanks
/// and comments only.
pub(crate) fn words(text: &str, part: std::ops::Range<usize>) -> String {
    let words: Vec<&str> = token::tokens(text, part).iter().map(|token| token.text(text)).collect();
    words.join(" ")
}

#[cfg(test)]
mod corpus_tests;
#[cfg(test)]
mod hostile_tests;
