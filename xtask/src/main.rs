//! The project's own chores: `cargo xtask COMMAND`.
//!
//! One file per command, named after it: it holds the command's `Args` and a `run` function, and this file only
//! parses the command line and picks one. Nothing here is needed to build or to use knut.

mod regen_proto;

use std::path::Path;

use clap::Parser;

/// The command line.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", about = "The chores of the knut workspace")]
enum Command {
    RegenProto(regen_proto::Args),
}

fn main() -> anyhow::Result<()> {
    let root = workspace_root();
    match Command::parse() {
        Command::RegenProto(args) => regen_proto::run(root, &args),
    }
}

/// The folder of the workspace's `Cargo.toml`, so that every command works from any folder below it.
fn workspace_root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}
