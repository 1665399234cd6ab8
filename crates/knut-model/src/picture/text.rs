//! A picture as lines of text, in the order the data flows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::{Picture, PictureNode};

impl Picture {
    /// One line for each node: its kind, its name, and after `<-` what it reads. Nodes come after
    /// what they read, or in the order they were defined if they read each other in a circle.
    /// Groups stand together under their names, those without one first. Marks come first in
    /// their lines. Control characters in names are written as code points.
    pub fn to_text(&self) -> String {
        let topology = self.topology();
        let order = topology.topological_order().unwrap_or_else(|_| topology.nodes().collect());
        let mut reads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for edge in &self.edges {
            let mark = edge.mark.map(|mark| format!(" ({mark})")).unwrap_or_default();
            let streaming = if edge.streaming { "STREAM " } else { "" };
            let inferred = if edge.inferred { " (?)" } else { "" };
            reads.entry(&edge.to).or_default().push(format!("{streaming}{}{inferred}{mark}", shown(&edge.from)));
        }
        // An edge may name a node that is not drawn.
        let nodes = || order.iter().filter_map(|id| self.nodes.get(id.index()));
        let mut groups: Vec<Option<&str>> = vec![None];
        let mut by_group: BTreeMap<Option<&str>, Vec<&PictureNode>> = BTreeMap::new();
        for node in nodes() {
            let group = node.group.as_deref();
            let of_group = by_group.entry(group).or_default();
            if of_group.is_empty() && group.is_some() {
                groups.push(group);
            }
            of_group.push(node);
        }
        let kinds = nodes().map(|node| node.kind.to_string().len()).max().unwrap_or(0);
        let marks = nodes().filter_map(|node| node.mark).map(|mark| mark.to_string().len() + 2).max().unwrap_or(0);
        let mut text = String::new();
        for group in groups {
            if let Some(group) = group {
                let _ = writeln!(text, "{}:", shown(group));
            }
            let indent = if group.is_some() { "  " } else { "" };
            for node in by_group.get(&group).into_iter().flatten() {
                let mark = node.mark.map(|mark| mark.to_string()).unwrap_or_default();
                let kind = node.kind.to_string();
                let _ = write!(text, "{indent}{mark:marks$}{kind:kinds$}  {}", shown(&node.name));
                if let Some(reads) = reads.get(node.name.as_str()) {
                    let _ = write!(text, " <- {}", reads.join(", "));
                }
                text.push('\n');
            }
        }
        text
    }
}

fn shown(name: &str) -> String {
    name.chars().flat_map(|c| if c.is_control() { c.escape_unicode().collect() } else { vec![c] }).collect()
}
