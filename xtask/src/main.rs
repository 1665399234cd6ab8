//! The project's own chores: `cargo xtask COMMAND`.

fn main() {}
