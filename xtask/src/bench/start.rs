//! P10: how long the binary takes to do next to nothing.

use std::process::Command;

use super::{Bench, Figure, Measured};

pub(super) fn measure(bench: &Bench<'_>) -> anyhow::Result<Measured> {
    let knut = bench.knut()?;
    let mut version = Command::new(&knut);
    version.arg("--version");
    let mut check = Command::new(&knut);
    check.arg("check").current_dir(bench.root.join("examples/orders"));
    let usages = bench.in_turns(&mut [version, check])?;
    let named = ["knut --version", "knut check, 5 datasets"];
    let figures = named.iter().zip(&usages).flat_map(|(name, usage)| {
        [
            Figure::new(format!("{name}: wall"), usage.wall, "s"),
            Figure::new(format!("{name}: memory"), usage.memory, "MB"),
        ]
    });
    Ok(Measured {
        row: "P10",
        what: "start of the binary".to_owned(),
        target: "under 0.010 s and under 15 MB, both",
        figures: figures.collect(),
        is_met: usages.iter().all(|usage| usage.wall < 0.010 && usage.memory < 15.0),
    })
}
