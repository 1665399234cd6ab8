//! The `knut` command: reads the arguments, runs one command, ends with one of the exit codes.

mod args;
mod commands;
mod connect;
mod ctrl_c;
mod exit_code;
mod failure;
mod findings;
mod hints;
mod places;
mod plain_log;
mod printer;
mod report;
mod revision;
mod rows;
mod runs;
mod sarif;
mod selection;

use std::process::ExitCode as ProcessExitCode;

use clap::Parser as _;

use crate::args::{Args, Command};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::printer::Printer;

fn main() -> ProcessExitCode {
    let args = match Args::try_parse() {
        Ok(args) => args,
        Err(error) => {
            // Help and version are no errors: clap prints them to stdout and the code is 0.
            let code = if error.use_stderr() { ExitCode::Usage } else { ExitCode::Ok };
            // A reader that went away is no reason to complain.
            let _ = error.print();
            return code.into();
        }
    };
    let mut printer = Printer::new(args.verbosity(), args.color);
    let code = run(args, &mut printer).unwrap_or_else(|failure| failure.print(&mut printer));
    match printer.lost() {
        Some(error) => {
            Failure::new(ExitCode::Unexpected, format!("the result could not be written: {error}")).print(&mut printer);
            ExitCode::Unexpected.into()
        }
        None => code.into(),
    }
}

fn run(args: Args, printer: &mut Printer) -> Result<ExitCode, Failure> {
    // One thread is plenty for one server, and starting no more keeps the start fast.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let code = runtime.block_on(async {
        match args.command {
            Command::Init(args) => commands::init::run(&args, printer),
            Command::Check(args) => commands::check::run(&args, printer),
            Command::Graph(args) => commands::graph::run(&args, printer),
            Command::Run(args) => commands::run::run(args, printer).await,
            Command::DryRun(args) => commands::run::dry_run(args, printer).await,
            Command::Attach(args) => commands::attach::attach(&args, printer).await,
            Command::Status(args) => commands::attach::status(&args, printer).await,
            Command::Cancel(args) => commands::attach::cancel(&args, printer).await,
            Command::Sql(args) => commands::sql::run(args, printer).await,
            Command::Preview(args) => commands::preview::run(args, printer).await,
            Command::Local(args) => commands::local::run(args.command, printer).await,
        }
    });
    // A thread that still waits for a local server must not hold up the end.
    runtime.shutdown_background();
    code
}
