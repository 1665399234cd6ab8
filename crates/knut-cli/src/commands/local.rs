//! `knut local`: Spark on this machine.

use knut_local::{Home, Installation, ProjectFolder, Server, Status, Stopped};

use super::server_folder;
use crate::args::LocalCommand;
use crate::connect::{install, start_local};
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
        LocalCommand::Stop { project } => stop(&ProjectFolder::new(server_folder(&project)?)?, printer),
        LocalCommand::Status { project, remote } => {
            status(&ProjectFolder::new(server_folder(&project)?)?, remote, printer)
        }
    }
}

fn stop(project: &ProjectFolder, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let _ = (project, printer, Stopped::NotRunning);
    Ok(ExitCode::Ok)
}

fn status(project: &ProjectFolder, remote: bool, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let _ = (Home::from_env()?, Installation::find, Server::find, Status::Stopped, remote, project, printer);
    Ok(ExitCode::Ok)
}
