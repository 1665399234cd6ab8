//! A picture as lines of text, in the order the data flows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::Picture;

impl Picture {
    /// One line for each node: its kind, its name, and after `<-` what it reads. Nodes come after
    /// what they read, or in the order they were defined if they read each other in a circle.
    /// Control characters in names are written as code points.
    pub fn to_text(&self) -> String {
        let topology = self.topology();
        let order = topology.topological_order().unwrap_or_else(|_| topology.nodes().collect());
        let width = self.nodes.iter().map(|node| node.kind.to_string().len()).max().unwrap_or(0);
        let mut reads: BTreeMap<&str, Vec<String>> = BTreeMap::new();
        for edge in &self.edges {
            let streaming = if edge.streaming { "STREAM " } else { "" };
            let inferred = if edge.inferred { " (?)" } else { "" };
            reads.entry(&edge.to).or_default().push(format!("{streaming}{}{inferred}", shown(&edge.from)));
        }
        let mut text = String::new();
        for id in order {
            let name = topology.name(id);
            // An edge may name a node that is not drawn.
            let Some(node) = self.nodes.get(id.index()) else { continue };
            let _ = write!(text, "{:width$}  {}", node.kind.to_string(), shown(name));
            if let Some(reads) = reads.get(name) {
                let _ = write!(text, " <- {}", reads.join(", "));
            }
            text.push('\n');
        }
        text
    }
}

fn shown(name: &str) -> String {
    name.chars().flat_map(|c| if c.is_control() { c.escape_unicode().collect() } else { vec![c] }).collect()
}
