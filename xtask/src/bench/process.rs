//! What a command costs as a whole process, by the operating system's own account.

use std::ffi::OsString;
use std::fs;
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::time::Instant;

use anyhow::{Context as _, bail, ensure};
use serde::{Deserialize, Serialize};

/// Run one command and write what it cost into a file
#[derive(Debug, clap::Args)]
pub(crate) struct MeasureArgs {
    /// The file to write
    into: PathBuf,
    /// The command and its arguments
    #[arg(last = true, required = true)]
    command: Vec<OsString>,
}

/// What a process and all it started cost.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
pub(super) struct Usage {
    /// From start to end, in seconds.
    pub(super) wall: f64,
    /// Processor time of user and system, in seconds.
    pub(super) cpu: f64,
    /// Peak memory of its largest process in 10⁶ bytes. It is never less than that of the measuring process, some 5.
    pub(super) memory: f64,
}

/// Measures one run of the command. What it prints is thrown away.
///
/// Each run has a measuring process of its own, because the system tells the peak memory only of all children of a
/// process together.
///
/// # Errors
/// When the command cannot be run or fails.
pub(super) fn usage(command: &Command) -> anyhow::Result<Usage> {
    let into = tempfile::NamedTempFile::new()?;
    let mut measuring = Command::new(std::env::current_exe()?);
    measuring.arg("measure").arg(into.path()).arg("--").arg(command.get_program()).args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        measuring.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => measuring.env(name, value),
            None => measuring.env_remove(name),
        };
    }
    let output = measuring.stdin(Stdio::null()).output()?;
    if !output.status.success() {
        bail!("{command:?} failed:\n{}", String::from_utf8_lossy(&output.stderr).trim_end());
    }
    Ok(serde_json::from_slice(&fs::read(into.path())?)?)
}

/// The part of the measuring process.
///
/// # Errors
/// When the command cannot be run or fails.
pub(crate) fn measure(args: &MeasureArgs) -> anyhow::Result<()> {
    let (program, arguments) = args.command.split_first().context("no command")?;
    let start = Instant::now();
    let status = Command::new(program).args(arguments).status()?;
    let wall = start.elapsed().as_secs_f64();
    ensure!(status.success(), "it ended with {status}");
    let (cpu, memory) = children()?;
    let usage = Usage { wall, cpu, memory };
    Ok(fs::write(&args.into, serde_json::to_vec(&usage)?)?)
}

/// Processor time and peak memory of this process's children, in seconds and 10⁶ bytes.
#[cfg(unix)]
#[expect(clippy::cast_precision_loss, reason = "far below 2^53")]
fn children() -> anyhow::Result<(f64, f64)> {
    use nix::sys::resource::{UsageWho, getrusage};
    use nix::sys::time::TimeValLike as _;

    let children = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    // Linux and the BSDs count in KiB, macOS in bytes.
    let unit = if cfg!(target_vendor = "apple") { 1.0 } else { 1024.0 };
    let cpu = (children.user_time() + children.system_time()).num_microseconds() as f64 / 1e6;
    Ok((cpu, children.max_rss() as f64 * unit / 1e6))
}

#[cfg(not(unix))]
fn children() -> anyhow::Result<(f64, f64)> {
    bail!("what a process cost can only be told on Unix")
}

/// The median of each figure by itself.
pub(super) fn median(samples: &[Usage]) -> Usage {
    let of = |figure: fn(&Usage) -> f64| {
        let mut values: Vec<f64> = samples.iter().map(figure).collect();
        values.sort_by(f64::total_cmp);
        values.get(values.len() / 2).copied().unwrap_or(f64::NAN)
    };
    Usage { wall: of(|usage| usage.wall), cpu: of(|usage| usage.cpu), memory: of(|usage| usage.memory) }
}
