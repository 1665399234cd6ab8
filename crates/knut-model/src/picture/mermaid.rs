//! A picture in Mermaid's flowchart language.

use std::fmt::{self, Write as _};

use super::{Group, Mark, NodeKind, Picture};
use crate::DatasetKind;

/// Beyond these Mermaid 10 and 11 draw nothing but an error, unless their host raises the limits.
const MAX_EDGES: usize = 500;
const MAX_CHARACTERS: usize = 50_000;

/// A picture that Mermaid would refuse to draw.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct TooLarge {
    /// How many edges it has.
    pub n_edges: usize,
    /// How many characters its text has.
    pub n_characters: usize,
}

impl fmt::Display for TooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { n_edges, n_characters } = self;
        write!(
            f,
            "the picture has {n_edges} edges and {n_characters} characters; Mermaid draws at most {MAX_EDGES} and {MAX_CHARACTERS}"
        )
    }
}

impl std::error::Error for TooLarge {}

impl Picture {
    /// The picture as a flowchart, for Markdown. Ids are made up, so that no name needs to be one.
    ///
    /// # Errors
    /// When Mermaid would refuse it for its size.
    pub fn to_mermaid(&self) -> Result<String, TooLarge> {
        let mut text = String::from("flowchart LR\n");
        for (index, Group { name: group, nodes }) in self.by_group().into_iter().enumerate() {
            let indent = if group.is_some() { "    " } else { "  " };
            if let Some(group) = group {
                line(&mut text, &format!("  subgraph g{index} [{}]", quoted(group)));
            }
            for (place, node) in nodes {
                let (open, close) = shape(node.kind);
                let (mark, class) = match node.mark {
                    Some(mark) => (format!(" ({mark})"), format!(":::{}", mark.class())),
                    None => (String::new(), String::new()),
                };
                let label = quoted(&format!("{}{mark}", node.name));
                line(&mut text, &format!("{indent}n{place}{open}{label}{close}{class}"));
            }
            if group.is_some() {
                line(&mut text, "  end");
            }
        }
        let edges = self.edges_by_place();
        for (from, to, edge) in &edges {
            let arrow = match (edge.inferred, edge.streaming) {
                (true, _) => "-. ? .->",
                (false, true) => "==>",
                (false, false) => "-->",
            };
            let mark = edge.mark.map(|mark| format!("|{mark}|")).filter(|_| !edge.inferred).unwrap_or_default();
            line(&mut text, &format!("  n{from} {arrow}{mark} n{to}"));
        }
        for (index, (_, _, edge)) in edges.iter().enumerate() {
            if let Some(mark) = edge.mark {
                line(&mut text, &format!("  linkStyle {index} stroke:{}", mark.colours().0));
            }
        }
        let of_nodes: std::collections::BTreeSet<Mark> = self.nodes.iter().filter_map(|node| node.mark).collect();
        for mark in of_nodes {
            let (stroke, fill) = mark.colours();
            line(&mut text, &format!("  classDef {} fill:{fill},stroke:{stroke},color:#1b1b1b", mark.class()));
        }
        let (n_edges, n_characters) = (edges.len(), text.chars().count());
        if n_edges > MAX_EDGES || n_characters > MAX_CHARACTERS {
            return Err(TooLarge { n_edges, n_characters });
        }
        Ok(text)
    }
}

fn line(text: &mut String, line: &str) {
    // Writing to a string cannot fail.
    let _ = writeln!(text, "{line}");
}

fn shape(kind: NodeKind) -> (&'static str, &'static str) {
    match kind {
        NodeKind::Dataset(DatasetKind::StreamingTable) => ("[[", "]]"),
        NodeKind::Dataset(DatasetKind::MaterializedView) => ("[", "]"),
        NodeKind::Dataset(DatasetKind::Sink) => ("[/", "/]"),
        NodeKind::Dataset(_) => ("([", "])"),
        NodeKind::External => ("{{", "}}"),
    }
}

/// A quoted label: everything that could mean something to Mermaid or to HTML is an entity.
fn quoted(text: &str) -> String {
    let mut label = String::from("\"");
    for c in text.chars() {
        match c {
            c if c.is_alphanumeric() || " ._-,:/()".contains(c) => label.push(c),
            c if c.is_control() => label.push(' '),
            c => {
                // Writing to a string cannot fail.
                let _ = write!(label, "#{};", u32::from(c));
            }
        }
    }
    label.push('"');
    label
}
