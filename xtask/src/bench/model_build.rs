//! P9: what a Rust author of graphs pays to build knut-model.

use std::time::Instant;

use anyhow::ensure;

use super::{Bench, Figure, Measured};
use crate::ci::{cargo_command, run_command};

/// Crates whose presence breaks the promise: async, gRPC, and what generates code at build time.
const UNWANTED: [&str; 9] =
    ["tokio", "futures-util", "tonic", "prost", "hyper", "syn", "proc-macro2", "cc", "serde_derive"];

pub(super) fn measure(bench: &Bench<'_>) -> anyhow::Result<Measured> {
    let mut walls = Vec::new();
    for _ in 0..bench.runs {
        let target = tempfile::tempdir()?;
        let mut build = cargo_command(bench.root, &["build", "--quiet", "--locked", "--package", "knut-model"]);
        let start = Instant::now();
        run_command(build.env("CARGO_TARGET_DIR", target.path()))?;
        walls.push(start.elapsed().as_secs_f64());
    }
    walls.sort_by(f64::total_cmp);
    let wall = walls[walls.len() / 2];
    let used = used_crates(bench)?;
    let unwanted = used.iter().filter(|name| UNWANTED.contains(&name.as_str())).count();
    Ok(Measured {
        row: "P9",
        what: "cargo build -p knut-model from clean".to_owned(),
        target: "no async, gRPC or code-generating dependency; under 5 s on 2 cores",
        figures: vec![
            Figure::new("build", wall, "s"),
            #[expect(clippy::cast_precision_loss, reason = "a handful")]
            Figure::new("crates built, itself included", used.len() as f64, "count"),
            #[expect(clippy::cast_precision_loss, reason = "a handful")]
            Figure::new("unwanted ones", unwanted as f64, "count"),
        ],
        is_met: unwanted == 0 && wall < 5.0,
    })
}

fn used_crates(bench: &Bench<'_>) -> anyhow::Result<Vec<String>> {
    let args = [
        "tree",
        "--locked",
        "--package",
        "knut-model",
        "--edges",
        "normal,build",
        "--prefix",
        "none",
        "--format",
        "{lib}",
    ];
    let output = cargo_command(bench.root, &args).output()?;
    ensure!(output.status.success(), "cargo tree failed:\n{}", String::from_utf8_lossy(&output.stderr));
    let mut names: Vec<String> = String::from_utf8(output.stdout)?.lines().map(|name| name.replace('_', "-")).collect();
    names.sort();
    names.dedup();
    Ok(names)
}
