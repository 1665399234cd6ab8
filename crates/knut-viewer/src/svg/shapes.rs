//! The shape of each kind of node, and text that cannot become markup.

use std::collections::BTreeSet;

use knut_model::{DatasetKind, NodeKind, Picture};

use crate::layout::Rect;

/// The kinds that a picture has, each once.
pub(super) fn kinds(picture: &Picture) -> Vec<NodeKind> {
    let kinds: BTreeSet<NodeKind> = picture.nodes.iter().map(|node| node.kind).collect();
    kinds.into_iter().collect()
}

/// A node's outline: streaming tables have doubled sides, views are round, sinks point onwards,
/// what the graph does not define is dashed.
pub(super) fn shape(kind: NodeKind, rect: &Rect, mark: &str) -> String {
    let Rect { x, y, width, height } = rect;
    let boxed = |class: &str, radius: f64| {
        format!(
            "<rect class=\"node {class}{mark}\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\" \
             rx=\"{radius:.1}\"/>"
        )
    };
    match kind {
        NodeKind::Dataset(DatasetKind::StreamingTable) => {
            let (left, right) = (x + 4.0, x + width - 4.0);
            format!(
                "<g class=\"node streaming_table{mark}\">\
                 <rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" height=\"{height:.1}\"/>\
                 <path class=\"inner\" d=\"M{left:.1} {y:.1}v{height:.1}M{right:.1} {y:.1}v{height:.1}\"/></g>"
            )
        }
        NodeKind::Dataset(DatasetKind::MaterializedView) => boxed("materialized_view", 2.0),
        NodeKind::Dataset(DatasetKind::Sink) => {
            let point = height / 3.0;
            format!(
                "<path class=\"node sink{mark}\" d=\"M{x:.1} {y:.1}h{:.1}l{point:.1} {:.1}l-{point:.1} {:.1}h-{:.1}z\"/>",
                width - point,
                height / 2.0,
                height / 2.0,
                width - point
            )
        }
        NodeKind::Dataset(_) => boxed("view", height / 2.0),
        _ => boxed("external", 2.0),
    }
}

/// The text as SVG takes it: no markup, and none of the characters that XML forbids.
pub(super) fn escaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            c if c.is_control() || matches!(c, '\u{fffe}' | '\u{ffff}') => out.push('\u{fffd}'),
            // What turns the direction of writing around would make a name look like another one.
            '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => out.push('\u{fffd}'),
            c => out.push(c),
        }
    }
    out
}
