//! `cargo xtask ci [STEP]…`: the steps that a change must pass, each by its name. No step is advisory.

use std::io::{self, Write as _};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

use anyhow::{Context as _, bail};
use clap::ValueEnum;

/// The arguments.
#[derive(Debug, Default, clap::Args)]
pub(crate) struct Args {
    /// The steps to run [default: all, in this order]
    steps: Vec<Step>,
}

/// One step.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Step {
    /// The code is formatted
    Fmt,
    /// No lint complains, in any target with any feature
    Clippy,
    /// Each crate builds alone: none leans on a feature that another one turns on
    Crates,
    /// The rules that no compiler checks
    Tidy,
    /// The documentation builds without a warning
    Doc,
    /// Spark is installed for the tests
    Spark,
    /// What the fuzz targets look for holds for the inputs that are kept
    Fuzz,
    /// All tests, those on a real Spark server and those in the documentation too
    Test,
}

/// Runs the steps up to the first that fails.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let all = Step::value_variants();
    for step in if args.steps.is_empty() { all } else { &args.steps } {
        let name = step.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
        let start = Instant::now();
        say(&format!("{name}: begins"));
        step.run(root).with_context(|| format!("step {name} failed; run it alone with `cargo xtask ci {name}`"))?;
        say(&format!("{name}: passed in {} s", start.elapsed().as_secs()));
    }
    Ok(())
}

/// A line between the output of the steps; with nobody left to read it, the exit code still tells.
fn say(text: &str) {
    let _ = writeln!(io::stderr(), "== {text}");
}

impl Step {
    fn run(self, root: &Path) -> anyhow::Result<()> {
        match self {
            Self::Fmt => cargo(root, &["fmt", "--all", "--check"]),
            Self::Clippy => cargo(
                root,
                &["clippy", "--locked", "--workspace", "--all-targets", "--all-features", "--", "-D", "warnings"],
            ),
            Self::Crates => crates_alone(root),
            Self::Tidy => crate::tidy::run(root),
            Self::Doc => {
                let mut command =
                    cargo_command(root, &["doc", "--locked", "--workspace", "--all-features", "--no-deps"]);
                run_command(command.env("RUSTDOCFLAGS", "-D warnings"))
            }
            Self::Spark => cargo(root, &["run", "--locked", "--package", "knut-cli", "--", "local", "install"]),
            Self::Fuzz => {
                let manifest = ["--manifest-path", "fuzz/Cargo.toml", "--no-default-features"];
                let mut command = cargo_command(root, &["test", "--locked"]);
                // What both workspaces build in the same way is built once.
                run_command(command.args(manifest).env("CARGO_TARGET_DIR", root.join("target")))
            }
            Self::Test => cargo(root, &["test", "--locked", "--workspace", "--all-features"]),
        }
    }
}

fn crates_alone(root: &Path) -> anyhow::Result<()> {
    let metadata = cargo_metadata::MetadataCommand::new().current_dir(root).no_deps().exec()?;
    for package in metadata.workspace_packages() {
        let name = package.name.as_str();
        cargo(root, &["clippy", "--locked", "--package", name, "--", "-D", "warnings"])?;
        for feature in package.features.keys().filter(|feature| *feature != "default") {
            cargo(root, &["clippy", "--locked", "--package", name, "--features", feature, "--", "-D", "warnings"])?;
        }
    }
    Ok(())
}

fn cargo(root: &Path, args: &[&str]) -> anyhow::Result<()> {
    run_command(&mut cargo_command(root, args))
}

pub(crate) fn cargo_command(root: &Path, args: &[&str]) -> Command {
    // The cargo that runs this, so that all steps use one toolchain.
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(args).current_dir(root);
    command
}

pub(crate) fn run_command(command: &mut Command) -> anyhow::Result<()> {
    let shown = format!("{command:?}");
    let status = command.status().with_context(|| format!("cannot run {shown}"))?;
    if !status.success() {
        bail!("{shown} ended with {status}");
    }
    Ok(())
}
