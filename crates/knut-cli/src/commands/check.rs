//! `knut check`: everything that is wrong with a project, without a server.

use std::path::Path;

use knut_project::{Checkup, Code, Severity};

use super::spec_path;
use crate::args::{CheckArgs, CheckFormat};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::findings;
use crate::printer::{Printer, Tone};
use crate::sarif;

pub(crate) fn run(args: &CheckArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    if let Some(code) = &args.explain {
        return explain(code, printer);
    }
    let spec = spec_path(&args.project)?;
    let mut checkup = knut_project::check(&spec, None);
    if matches!(args.format, CheckFormat::Sarif | CheckFormat::Github) {
        from_here(&mut checkup, &spec)?;
    }
    let found = &checkup.findings;
    match args.format {
        CheckFormat::Human => findings::print(&checkup, found, printer),
        CheckFormat::Json => found.iter().for_each(|finding| printer.json(&findings::json(&checkup, finding))),
        CheckFormat::Sarif => printer.json(&sarif::log(&checkup)),
        CheckFormat::Github => found.iter().for_each(|finding| printer.result(&findings::github(&checkup, finding))),
    }
    let code = if checkup.has_errors() { ExitCode::Invalid } else { ExitCode::Ok };
    if args.format == CheckFormat::Human {
        let n_of = |severity| found.iter().filter(|finding| finding.code.severity() == severity).count();
        let (n_errors, n_warnings) = (n_of(Severity::Error), n_of(Severity::Warning));
        let (tone, word) = if n_errors > 0 { (Tone::Bad, "FAILED") } else { (Tone::Good, "PASSED") };
        let counts = format!(": {}, {}", counted(n_errors, "error"), counted(n_warnings, "warning"));
        printer.toned_result("check ", tone, word, &counts);
    }
    Ok(code)
}

/// Makes paths start at this folder where the project lies in it: services look for the files in their
/// checkout, in whose top folder a check is run.
fn from_here(checkup: &mut Checkup, spec: &Path) -> Result<(), Failure> {
    let spec = std::path::absolute(spec)?;
    let project = spec.parent().map(Path::to_path_buf).unwrap_or_default();
    let here = std::env::current_dir()?;
    let Ok(inside) = project.strip_prefix(&here) else { return Ok(()) };
    let inside: Vec<_> = inside.iter().map(|part| part.to_string_lossy()).collect();
    for file in &mut checkup.files {
        if !Path::new(&file.path).is_absolute() {
            file.path = inside.iter().map(AsRef::as_ref).chain([file.path.as_str()]).collect::<Vec<&str>>().join("/");
        }
    }
    Ok(())
}

fn counted(n: usize, what: &str) -> String {
    format!("{n} {what}{}", if n == 1 { "" } else { "s" })
}

fn explain(text: &str, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let Some(code) = Code::parse(text) else {
        let codes: Vec<String> = Code::all().map(|code| code.to_string()).collect();
        let hint = format!("the codes are {}", codes.join(", "));
        return Err(Failure::new(ExitCode::Usage, format!("there is no code {text}")).hint(hint));
    };
    printer.result(&format!(
        "{code} ({}): {}\n\n{}",
        findings::word(code.severity()),
        code.title(),
        code.explanation()
    ));
    Ok(ExitCode::Ok)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fmt::Write as _;

    /// `UPDATE_DOCS=1 cargo test -p knut-cli` writes the page anew.
    #[test]
    fn the_page_of_codes_is_up_to_date() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/checks.md");
        let mut page = String::from("# What `knut check` finds\n\n`knut check --explain CODE` prints the same.\n");
        for code in Code::all() {
            let word = findings::word(code.severity());
            write!(page, "\n## {code}: {}\n\n*{word}*. {}\n", code.title(), code.explanation()).unwrap();
        }
        if std::env::var_os("UPDATE_DOCS").is_some() {
            std::fs::write(path, &page).unwrap();
        }
        let found = std::fs::read_to_string(path).unwrap();
        assert!(found == page, "docs/checks.md differs: run UPDATE_DOCS=1 cargo test -p knut-cli");
    }
}
