//! `knut init`: makes a project that runs at once.

use crate::args::InitArgs;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::printer::Printer;

pub(crate) fn run(args: &InitArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let folder = std::path::absolute(&args.folder)?;
    let folder_name = folder.file_name().map(|name| name.to_string_lossy().into_owned());
    let name = match (&args.name, folder_name) {
        (Some(name), _) => name.clone(),
        (None, Some(name)) => name,
        (None, None) => {
            return Err(
                Failure::new(ExitCode::Usage, "this folder has no name").hint("give the pipeline one with --name")
            );
        }
    };
    for file in knut_project::init(&args.folder, &name)? {
        printer.result(&file.display().to_string());
    }
    printer.note(&format!(
        "made the pipeline {name}; run it with: cd {} && knut run --local",
        shell_quoted(&args.folder.to_string_lossy())
    ));
    Ok(ExitCode::Ok)
}

/// A path as it can be pasted into a shell.
fn shell_quoted(path: &str) -> String {
    let is_plain = |c: char| c.is_alphanumeric() || "/._-+@:".contains(c);
    if path.chars().all(is_plain) && !path.is_empty() {
        path.to_owned()
    } else {
        format!("'{}'", path.replace('\'', r"'\''"))
    }
}
