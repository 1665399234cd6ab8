//! `knut graph`: the project's datasets and who reads whom, without a server.

use std::io::{self, Read as _};
use std::path::Path;

use knut_model::json::GraphDocument;
use knut_model::{DataflowGraph, Grouping, Mark, Outline, Picture, PictureDiff, RefreshSelection};
use knut_project::{Project, flow_reads};

use super::spec_path;
use crate::args::{GraphArgs, GraphFormat, GroupBy};
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::printer::{Printer, Tone};
use crate::{revision, selection};

pub(crate) fn run(args: &GraphArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let selection = args.selection.selection();
    let mut changes = None;
    let (title, outline, mut picture) = if let Some(path) = &args.from {
        let graph = read(path)?;
        if !graph.sql_files().is_empty() {
            printer.labelled(Tone::Doubtful, "warning", "what the graph's SQL files define is not drawn");
        }
        let title = path.file_stem().map_or("graph".into(), |name| name.to_string_lossy().into_owned());
        let picture = Picture::with_reads(&graph, flow_reads).group_by(grouping(args));
        (title, Outline::with_reads(&graph, flow_reads), picture)
    } else {
        let project = Project::load(&spec_path(&args.project)?)?;
        let mut picture = project.picture().group_by(grouping(args));
        if let Some(revision) = &args.diff {
            let before = revision::project_at(&project, revision)?.picture().group_by(grouping(args));
            changes = Some(picture.diff(&before));
            picture = picture.marked_since(&before);
        }
        (project.spec.name.clone(), project.outline(), picture)
    };
    if selection != RefreshSelection::All {
        picture.mark_plan(&selection::plan(&outline, &selection)?);
    }
    if let Some(name) = &args.focus {
        let full = full_name(&picture, name)?;
        picture = picture.focus(&full, args.up, args.down).unwrap_or_default();
    }
    if let (Some(changes), GraphFormat::Text) = (&changes, args.format) {
        return Ok(tell(&changes.within(&picture), args, printer));
    }
    let text = match args.format {
        GraphFormat::Text => picture.to_text(),
        GraphFormat::Dot => picture.to_dot(),
        GraphFormat::Mermaid => picture.to_mermaid().map_err(|error| {
            let hint = "draw a part of it with --focus, --up and --down, or take --format dot";
            Failure::new(ExitCode::Usage, error.to_string()).hint(hint)
        })?,
        GraphFormat::Svg => knut_viewer::svg(&picture, &title),
        GraphFormat::Json => json(&picture),
    };
    match args.format {
        GraphFormat::Json => printer.json(text.trim_end()),
        _ => printer.result(text.trim_end()),
    }
    Ok(ExitCode::Ok)
}

/// The largest graph that is read.
const MAX_GRAPH_BYTES: u64 = 256 * 1024 * 1024;

/// A graph from a file, or from standard input.
fn read(path: &Path) -> Result<DataflowGraph, Failure> {
    let shown = path.display();
    let invalid = |why: String| Failure::new(ExitCode::Invalid, format!("{shown}: {why}"));
    let mut text = String::new();
    let input: Box<dyn io::Read> = if path == Path::new("-") {
        Box::new(io::stdin())
    } else {
        Box::new(std::fs::File::open(path).map_err(|error| invalid(format!("cannot be read: {error}")))?)
    };
    let read = input.take(MAX_GRAPH_BYTES + 1).read_to_string(&mut text);
    let n_bytes = read.map_err(|error| invalid(format!("cannot be read: {error}")))?;
    if n_bytes as u64 > MAX_GRAPH_BYTES {
        return Err(invalid(format!("is larger than {} MB, which no graph is", MAX_GRAPH_BYTES >> 20)));
    }
    let hint = "docs/graph-json.md describes the form";
    let document: GraphDocument =
        serde_json::from_str(&text).map_err(|error| invalid(format!("is no graph: {error}")).hint(hint))?;
    document.graph().map_err(|problems| {
        let mut told = problems.problems().iter().map(|problem| format!("{shown}: {problem}"));
        let first = Failure::new(ExitCode::Invalid, told.next().unwrap_or_default());
        told.fold(first, |failure, problem| failure.also(problem, None))
    })
}

/// The changes, a line each.
fn tell(changes: &PictureDiff, args: &GraphArgs, printer: &mut Printer) -> ExitCode {
    if changes.changes().is_empty() {
        let revision = args.diff.as_deref().unwrap_or_default();
        printer.note(&format!("nothing changed since {revision}"));
    } else {
        printer.result(changes.to_string().trim_end());
    }
    ExitCode::Ok
}

/// Lines of text are for reading in order; a drawing has room for boxes.
fn grouping(args: &GraphArgs) -> Grouping {
    match args.group_by {
        Some(GroupBy::Schema) => Grouping::Schema,
        Some(GroupBy::None) => Grouping::None,
        None if args.format == GraphFormat::Text => Grouping::None,
        Some(GroupBy::File) | None => Grouping::File,
    }
}

/// The node that a name means: its whole name, or its end after a dot if only one has it.
fn full_name(picture: &Picture, name: &str) -> Result<String, Failure> {
    let names = || picture.nodes.iter().map(|node| node.name.as_str());
    if names().any(|full| full == name) {
        return Ok(name.to_owned());
    }
    let ends: Vec<&str> = names().filter(|full| full.ends_with(&format!(".{name}"))).collect();
    match ends.as_slice() {
        [one] => Ok((*one).to_owned()),
        [] => {
            let known: Vec<&str> = names().take(20).collect();
            Err(Failure::new(ExitCode::Usage, format!("the graph has no {name}"))
                .hint(format!("it has {}", known.join(", "))))
        }
        several => Err(Failure::new(ExitCode::Usage, format!("{name} may mean {}", several.join(" or ")))
            .hint("give the whole name")),
    }
}

fn json(picture: &Picture) -> String {
    let mark = |mark: Option<Mark>| mark.map(|mark| mark.to_string());
    let nodes = picture.nodes.iter().map(|node| {
        let at = node.source_location.as_ref().map(|at| serde_json::json!({ "file": at.file, "line": at.line }));
        serde_json::json!({ "name": node.name, "kind": node.kind.to_string(), "group": node.group, "schema": node.schema, "at": at, "mark": mark(node.mark) })
    });
    let edges = picture.edges.iter().map(|edge| {
        serde_json::json!({ "from": edge.from, "to": edge.to, "streaming": edge.streaming, "inferred": edge.inferred, "mark": mark(edge.mark) })
    });
    let (nodes, edges): (Vec<_>, Vec<_>) = (nodes.collect(), edges.collect());
    format!("{:#}", serde_json::json!({ "v": 1, "nodes": nodes, "edges": edges }))
}
