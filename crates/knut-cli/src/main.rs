//! The `knut` command.

fn main() {}
