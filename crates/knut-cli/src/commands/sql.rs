//! `knut sql`: executes statements and prints their rows.

use knut_viewer::{RunOutcome, ViewerState};

use super::{nearest_spec, server_folder};
use crate::args::{ProjectArgs, RowFormat, ServerArgs, SqlArgs};
use crate::connect::{Connected, Environment, choose, connect};
use crate::ctrl_c::{Followed, follow_rows};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::hints;
use crate::plain_log::duration;
use crate::printer::{Printer, Tone};
use crate::rows::RowsWriter;

pub(crate) async fn run(args: SqlArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let statements = statements(&args.text);
    if statements.is_empty() {
        return Err(Failure::new(ExitCode::Usage, "there is no statement to execute"));
    }
    let connected = connected(&args.project, &args.server, printer).await?;
    execute(connected, &statements, args.format, args.limit, printer).await
}

/// The statements of a text, as Spark cuts it. A script between BEGIN and END is one statement.
fn statements(text: &str) -> Vec<&str> {
    let chunks = knut_project::split_sql(text).into_iter().filter(|chunk| chunk.is_statement);
    let statements: Vec<&str> = chunks.filter_map(|chunk| text.get(chunk.range)).map(str::trim).collect();
    let first_word = statements.first().and_then(|first| first.split(|c: char| !c.is_ascii_alphabetic()).next());
    if first_word.is_some_and(|word| word.eq_ignore_ascii_case("begin")) {
        return vec![text];
    }
    statements
}

/// The server that is meant. A project is not needed, but if there is one its spec may name it.
pub(super) async fn connected(
    project: &ProjectArgs,
    server: &ServerArgs,
    printer: &mut Printer,
) -> Result<Connected, Failure> {
    let folder = server_folder(project)?;
    let in_spec = || match nearest_spec(project)? {
        Some(spec) => Ok(knut_project::remote_of(&spec)?),
        None => Ok(None),
    };
    connect(choose(server, Environment::read(), in_spec, &folder)?, printer).await
}

/// Executes statements in order until one fails.
pub(super) async fn execute(
    connected: Connected,
    statements: &[&str],
    format: RowFormat,
    limit: Option<u64>,
    printer: &mut Printer,
) -> Result<ExitCode, Failure> {
    let mut last = None;
    for statement in statements {
        let mut state = ViewerState::default();
        let mut rows = RowsWriter::new(format, limit);
        let query = connected.client.query(statement);
        let followed = follow_rows(&connected, query, &mut rows, &mut state, printer).await?;
        if let Followed::Left = followed {
            return Ok(ExitCode::Interrupted);
        }
        let is_cut = matches!(followed, Followed::Enough);
        let code = report(&state, is_cut, &mut rows, format, printer);
        last = Some((code, is_cut || matches!(state.outcome(), Some(RunOutcome::Succeeded | RunOutcome::Failed(_)))));
        if code != ExitCode::Ok || printer.is_reader_gone() {
            break;
        }
    }
    let (code, is_over) = last.unwrap_or((ExitCode::Ok, true));
    if is_over {
        connected.close().await;
    }
    Ok(code)
}

/// Prints what is left of the result and how the statement ended.
fn report(
    state: &ViewerState,
    is_cut: bool,
    rows: &mut RowsWriter,
    format: RowFormat,
    printer: &mut Printer,
) -> ExitCode {
    rows.finish(printer);
    let took = match (state.started_at(), state.last_at()) {
        (Some(start), Some(end)) => end.duration_since(start).map(duration).unwrap_or_default(),
        _ => String::new(),
    };
    let n_tasks: u64 = state.stages().values().map(|stage| stage.n_completed_tasks).sum();
    let code = match crate::report::exit_code(state) {
        _ if is_cut => ExitCode::Ok,
        // There is no graph that could have been refused: the statement failed.
        ExitCode::Unresolved => ExitCode::Failed,
        code => code,
    };
    let (tone, word) = crate::report::verdict(code);
    if let Some(diagnostic) = state.outcome().and_then(RunOutcome::diagnostic) {
        printer.labelled(Tone::Bad, "error", diagnostic.summary());
        if let Some(hint) = hints::for_diagnostic(diagnostic) {
            printer.detail("help", hint);
        }
    }
    let tasks = if n_tasks > 0 { format!(", {n_tasks} tasks") } else { String::new() };
    match (rows.has_columns(), code) {
        (true, ExitCode::Ok) => printer.note(&format!("{} in {took}{tasks}", rows.count())),
        // Rows that were printed are not all of them.
        (true, _) => printer.note(&format!("the result is not whole; statement {word} in {took}{tasks}")),
        (false, _) if format == RowFormat::Table => {
            printer.toned_result("statement ", tone, word, &format!(" in {took}{tasks}"));
        }
        // What programs read holds rows alone.
        (false, _) => printer.note(&format!("statement {word} in {took}{tasks}")),
    }
    code
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn statements_are_cut_where_spark_cuts_them() {
        assert_eq!(statements("SELECT ';'; -- a ; b\n SELECT 2;"), ["SELECT ';'", "-- a ; b\n SELECT 2"]);
        assert_eq!(statements(" ; -- nothing\n;"), Vec::<&str>::new());
        assert_eq!(statements("begin SELECT 1; SELECT 2; end"), ["begin SELECT 1; SELECT 2; end"]);
        assert_eq!(statements("SELECT 1"), ["SELECT 1"]);
    }
}
