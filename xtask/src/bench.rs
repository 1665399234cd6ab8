//! `cargo xtask bench [ROW]…`: what the project promises to be fast at, measured.
//!
//! A row is a promise with its target. All that a ratio compares is measured in turns within one run, because a
//! machine's speed drifts. Times are printed and never asserted: a missed target is told, and the exit code says only
//! whether everything could be measured.

mod check;
mod model_build;
mod process;
mod start;
mod table;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::Context as _;
use clap::ValueEnum;
use serde::Serialize;

use crate::ci::{cargo_command, run_command};

pub(crate) use process::{MeasureArgs, measure};

/// Measure the rows of the table of promises
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// The rows to measure [default: all]
    rows: Vec<Row>,
    /// How often each thing is measured; the median counts
    #[arg(long, default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=1000))]
    runs: u32,
}

/// One promise.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
#[value(rename_all = "UPPER")]
enum Row {
    /// `knut check` of 10,000 definitions in 1,000 files
    P6,
    /// A clean build of knut-model
    P9,
    /// The start of the binary
    P10,
}

/// What came of one row.
#[derive(Debug, Serialize)]
struct Measured {
    row: &'static str,
    what: String,
    target: &'static str,
    figures: Vec<Figure>,
    /// Whether this run met the target.
    is_met: bool,
}

/// One figure of a row.
#[derive(Debug, Serialize)]
struct Figure {
    name: String,
    value: f64,
    /// `s`, `MB` (10⁶ bytes), `ratio` or `count`.
    unit: &'static str,
}

/// What every row needs.
struct Bench<'a> {
    root: &'a Path,
    runs: u32,
}

/// Measures the rows, prints a table and writes `target/bench.json`.
///
/// # Errors
/// When something could not be built or run; a missed target is no error.
pub(crate) fn run(root: &Path, args: &Args) -> anyhow::Result<()> {
    let bench = Bench { root, runs: args.runs };
    let all = Row::value_variants();
    let mut measured = Vec::new();
    for row in if args.rows.is_empty() { all } else { &args.rows } {
        let result = match row {
            Row::P6 => check::measure(&bench),
            Row::P9 => model_build::measure(&bench),
            Row::P10 => start::measure(&bench),
        };
        measured.push(result.with_context(|| format!("{row:?} could not be measured"))?);
    }
    let file = root.join("target/bench.json");
    let json = serde_json::to_vec_pretty(&measured)?;
    fs::write(&file, json).with_context(|| format!("cannot write {}", file.display()))?;
    table::print(&measured)
}

impl Bench<'_> {
    /// The binary as users get it, built first.
    fn knut(&self) -> anyhow::Result<PathBuf> {
        run_command(&mut cargo_command(self.root, &["build", "--locked", "--release", "--package", "knut-cli"]))?;
        Ok(self.root.join("target/release/knut"))
    }

    /// Runs each command once unmeasured and then all of them in turns. Gives the medians in the commands' order.
    fn in_turns(&self, commands: &mut [Command]) -> anyhow::Result<Vec<process::Usage>> {
        let mut samples = vec![Vec::new(); commands.len()];
        for turn in 0..=self.runs {
            for (command, samples) in commands.iter_mut().zip(&mut samples) {
                let usage = process::usage(command)?;
                if turn > 0 {
                    samples.push(usage);
                }
            }
        }
        Ok(samples.iter().map(|samples| process::median(samples)).collect())
    }
}

impl Figure {
    fn new(name: impl Into<String>, value: f64, unit: &'static str) -> Self {
        Self { name: name.into(), value, unit }
    }
}
