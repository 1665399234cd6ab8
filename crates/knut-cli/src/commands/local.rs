//! `knut local`: Spark on this machine.

use knut_local::{Home, Installation, ProjectFolder, Server, Status, Stopped};

use super::server_folder;
use crate::args::LocalCommand;
use crate::connect::{blocking, install, start_local};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) async fn run(command: LocalCommand, printer: &mut Printer) -> Result<ExitCode, Failure> {
    match command {
        LocalCommand::Install => {
            let installation = install(printer).await?;
            let home = installation.spark_home().display().to_string();
            printer.result(&format!("Spark {} is installed in {home}", installation.spark_version()));
            Ok(ExitCode::Ok)
        }
        LocalCommand::Start { project, port } => {
            let server = start_local(&server_folder(&project)?, port, printer).await?;
            printer.result(&format!("Spark is running on {} (process {})", server.address(), server.pid()));
            printer.note(&format!("its log is {}", server.log_path().display()));
            Ok(ExitCode::Ok)
        }
        LocalCommand::Stop { project } => stop(ProjectFolder::new(server_folder(&project)?)?, printer).await,
        LocalCommand::Status { project, remote } => {
            status(&ProjectFolder::new(server_folder(&project)?)?, remote, printer)
        }
    }
}

async fn stop(project: ProjectFolder, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let stopped = blocking(printer, move |progress| knut_local::stop(&project, progress)).await?;
    match stopped {
        Stopped::NotRunning => printer.result("no server of this project was running"),
        Stopped::Ended { pid, killed: false } => printer.result(&format!("Spark has ended (process {pid})")),
        Stopped::Ended { pid, .. } => {
            printer.result(&format!("Spark was killed because it did not end when asked (process {pid})"));
        }
    }
    Ok(ExitCode::Ok)
}

fn status(project: &ProjectFolder, remote: bool, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let status = Server::find(project)?;
    if remote {
        let Status::Running(server) = &status else {
            let hint = "start it with: knut local start";
            return Err(Failure::new(ExitCode::Unreachable, "no server of this project is running").hint(hint));
        };
        printer.result(&server.address().connection_string());
        return Ok(ExitCode::Ok);
    }
    match Installation::find(&Home::from_env()?)? {
        Some(installation) => {
            let home = installation.spark_home().display().to_string();
            printer.result(&format!("installed: Spark {} in {home}", installation.spark_version()));
        }
        None => printer.result("installed: nothing yet; `knut local install` does it"),
    }
    let server = match status {
        Status::Running(server) => {
            let (address, pid, java) = (server.address(), server.pid(), server.java_version());
            format!("running on {address} (process {pid}, Spark {}, Java {java})", server.spark_version())
        }
        Status::Starting { pid } => format!("starting (process {pid})"),
        Status::Stopped => "not running".to_owned(),
        Status::Stale { pid: Some(pid), reason } => {
            format!("unusable, {reason}; end it with `knut local stop` (process {pid})")
        }
        Status::Stale { pid: None, reason } => format!("not running ({reason})"),
    };
    printer.result(&format!("server: {server}"));
    Ok(ExitCode::Ok)
}
