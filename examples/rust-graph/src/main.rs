//! The orders pipeline, built in Rust.

fn main() {}
