//! Reading of SQL files: statements, what they define, and what their queries read.

mod split;
mod token;

pub use split::{SqlChunk, TextPlace, split_sql};
