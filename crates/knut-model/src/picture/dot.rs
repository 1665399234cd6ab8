//! A picture in Graphviz's DOT language.

use std::fmt::Write as _;

use super::{Group, Mark, NodeKind, Picture};
use crate::DatasetKind;

impl Picture {
    /// The picture for `dot`: boxes for tables, ellipses for views, dashed edges for streams,
    /// dotted ones for guesses. Ids are made up, so that no name needs to be one.
    pub fn to_dot(&self) -> String {
        let mut dot = String::from("digraph {\n  rankdir=LR;\n  node [fontname=\"sans-serif\"];\n");
        for (index, Group { name: group, nodes }) in self.by_group().into_iter().enumerate() {
            let indent = if group.is_some() { "    " } else { "  " };
            if let Some(group) = group {
                line(&mut dot, &format!("  subgraph cluster_{index} {{\n    label={};", quoted(group)));
            }
            for (place, node) in nodes {
                let (shape, style) = look(node.kind);
                let mark = node.mark.map(|mark| format!("\n{mark}")).unwrap_or_default();
                let label = quoted(&format!("{}\n{}{mark}", node.name, node.kind));
                let look = match node.mark.map(Mark::colours) {
                    Some((line, area)) => format!("style=\"{style},filled\", color=\"{line}\", fillcolor=\"{area}\""),
                    None => format!("style={style}"),
                };
                line(&mut dot, &format!("{indent}n{place} [label={label}, shape={shape}, {look}];"));
            }
            if group.is_some() {
                line(&mut dot, "  }");
            }
        }
        for (from, to, edge) in self.edges_by_place() {
            let mut look = Vec::new();
            match (edge.inferred, edge.streaming) {
                (true, _) => look.push("style=dotted".to_owned()),
                (false, true) => look.push("style=dashed".to_owned()),
                (false, false) => {}
            }
            if let Some(mark) = edge.mark {
                look.push(format!("color=\"{0}\", fontcolor=\"{0}\", label=\"{mark}\"", mark.colours().0));
            }
            let look = if look.is_empty() { String::new() } else { format!(" [{}]", look.join(", ")) };
            line(&mut dot, &format!("  n{from} -> n{to}{look};"));
        }
        dot.push_str("}\n");
        dot
    }
}

fn line(dot: &mut String, text: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(dot, "{text}");
}

fn look(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Dataset(DatasetKind::StreamingTable) => ("box", "bold"),
        NodeKind::Dataset(DatasetKind::MaterializedView) => ("box", "solid"),
        NodeKind::Dataset(DatasetKind::Sink) => ("cds", "solid"),
        NodeKind::Dataset(_) => ("ellipse", "solid"),
        NodeKind::External => ("box", "dotted"),
    }
}

/// A double-quoted string: inside, only a quote and a backslash mean something.
fn quoted(text: &str) -> String {
    let escaped = text.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n").replace('\r', "");
    format!("\"{escaped}\"")
}
