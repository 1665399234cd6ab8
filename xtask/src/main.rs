//! The project's own chores: `cargo xtask COMMAND`.
//!
//! One file per command, named after it: it holds the command's `Args` and a `run` function, and this file only
//! parses the command line and picks one. Nothing here is needed to build or to use knut.

mod bench;
mod ci;
mod regen_proto;
mod tidy;

use std::io::{self, Write as _};
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;

/// The command line.
#[derive(Debug, Parser)]
#[command(bin_name = "cargo xtask", about = "The chores of the knut workspace")]
enum Command {
    /// Run every check and every test, those on a real Spark server too
    Test,
    /// Run some of the steps of `test`
    Ci(ci::Args),
    RegenProto(regen_proto::Args),
    Bench(bench::Args),
    #[command(hide = true)]
    Measure(bench::MeasureArgs),
    /// Check the rules that no compiler checks
    Tidy,
}

fn main() -> ExitCode {
    let root = workspace_root();
    let result = match Command::parse() {
        Command::Test => ci::run(root, &ci::Args::default()),
        Command::Ci(args) => ci::run(root, &args),
        Command::RegenProto(args) => regen_proto::run(root, &args),
        Command::Bench(args) => bench::run(root, &args),
        Command::Measure(args) => bench::measure(&args),
        Command::Tidy => tidy::run(root),
    };
    match result {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // The whole chain on one line; with nobody left to read it, the exit code still tells.
            let _ = writeln!(io::stderr(), "error: {error:#}");
            ExitCode::FAILURE
        }
    }
}

/// The folder of the workspace's `Cargo.toml`, so that every command works from any folder below it.
fn workspace_root() -> &'static Path {
    let manifest = Path::new(env!("CARGO_MANIFEST_DIR"));
    manifest.parent().unwrap_or(manifest)
}
