//! A picture of a graph as one SVG file that needs nothing else: no script, no font, no network.
//!
//! Kinds differ in shape, in colour and by a word; streams are dashed. It has a title and a
//! description for those who hear it, each node its whole name as a tooltip, and colours for a
//! light and a dark surrounding.

mod cut;
mod shapes;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use knut_model::{NodeKind, Picture, PictureEdge, PictureNode};

use crate::layout::{EdgeRoute, LayoutGraph, LayoutNode, LayoutOptions, Point, Rect, layout};
use cut::{cells, cut_to};
use shapes::{escaped, kinds, shape};

/// Lengths in pixels.
const MARGIN: f64 = 24.0;
const CELL: f64 = 7.9;
const NODE_HEIGHT: f64 = 44.0;
const NODE_PADDING: f64 = 14.0;
const LEGEND_ROW: f64 = 24.0;
/// The longest name that is drawn whole, in cells of a terminal; longer ones lose their middle.
const MAX_NAME: usize = 40;
/// Names in the description; more are counted only.
const MAX_TOLD: usize = 20;

const STYLE: &str = "\
    svg { background: #fff; color: #1b1b1b; font-family: ui-monospace, Menlo, Consolas, 'DejaVu Sans Mono', monospace; }
    text { fill: currentColor; font-size: 13px; }
    .kind { font-size: 11px; opacity: .8; }
    .node { fill: #f6f6f6; stroke: #555; stroke-width: 1.5; }
    .inner { fill: none; stroke: inherit; }
    .streaming_table { fill: #d8ebf8; stroke: #0072b2; }
    .materialized_view { fill: #ddf3ea; stroke: #009e73; }
    .view { fill: #fdf0d0; stroke: #b97d00; }
    .sink { fill: #f7e2ee; stroke: #b05a8a; }
    .external { fill: none; stroke-dasharray: 5 4; }
    .group { fill: none; stroke: #999; stroke-dasharray: 2 3; }
    .edge { fill: none; stroke: #666; stroke-width: 1.4; }
    .stream { stroke: #0072b2; stroke-width: 2; stroke-dasharray: 8 4; }
    .guess { stroke-dasharray: 2 4; }
    .back { stroke: #d55e00; }
    .head { fill: #666; stroke: none; }
    .added { stroke: #0a7a5a; stroke-width: 3; }
    .removed { stroke: #b3400a; stroke-width: 3; opacity: .75; }
    .changed { stroke: #8a6d00; stroke-width: 3; }
    .updated { stroke: #005b96; stroke-width: 3; }
    .refreshed { stroke: #8e3a74; stroke-width: 3; }
    .asitis, .leftout { opacity: .6; }
    @media (prefers-color-scheme: dark) {
      svg { background: #16191d; color: #e8e8e8; }
      .node { fill: #2a2e33; stroke: #aaa; }
      .streaming_table { fill: #12344a; stroke: #56b4e9; }
      .materialized_view { fill: #0f3a2e; stroke: #2fd0a0; }
      .view { fill: #3d3110; stroke: #e69f00; }
      .sink { fill: #41243a; stroke: #e08fc0; }
      .external { fill: none; }
      .edge { stroke: #aaa; }
      .stream { stroke: #56b4e9; }
      .back { stroke: #ff8c42; }
      .head { fill: #aaa; stroke: none; }
      .added { stroke: #2fd0a0; } .removed { stroke: #ff8c42; } .changed { stroke: #f0e442; }
      .updated { stroke: #56b4e9; } .refreshed { stroke: #e08fc0; }
    }
";

/// Draws a picture; `title` is what it is of.
pub fn svg(picture: &Picture, title: &str) -> String {
    let groups: BTreeSet<&str> = picture.nodes.iter().filter_map(|node| node.group.as_deref()).collect();
    let groups: Vec<&str> = groups.into_iter().collect();
    let place: BTreeMap<&str, usize> =
        picture.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
    let ends = |edge: &PictureEdge| Some((*place.get(edge.from.as_str())?, *place.get(edge.to.as_str())?));
    // An edge may name a node that is not drawn.
    let edges: Vec<(&PictureEdge, (usize, usize))> =
        picture.edges.iter().filter_map(|edge| Some((edge, ends(edge)?))).collect();
    let graph = LayoutGraph {
        nodes: picture.nodes.iter().map(|node| size(node, &groups)).collect(),
        edges: edges.iter().map(|(_, ends)| *ends).collect(),
    };
    let layout = layout(&graph, &LayoutOptions::default());
    let legend = Legend::of(picture, layout.edges.iter().any(|edge| edge.is_back));
    let width = layout.width.max(legend.width).max(cells(&cut_to(title, MAX_NAME * 2)) * CELL) + 2.0 * MARGIN;
    let top = 2.0 * MARGIN + 8.0;
    let height = top + layout.height + MARGIN + legend.height() + MARGIN;

    let mut out = String::new();
    let _ = writeln!(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width:.0}\" height=\"{height:.0}\" \
         viewBox=\"0 0 {width:.0} {height:.0}\" role=\"img\" aria-labelledby=\"knut-title knut-desc\">"
    );
    let _ = writeln!(out, "  <title id=\"knut-title\">{}</title>", escaped(title));
    let _ = writeln!(out, "  <desc id=\"knut-desc\">{}</desc>", escaped(&description(picture)));
    let _ = writeln!(out, "  <style>\n{STYLE}  </style>");
    let heading = escaped(&cut_to(title, MAX_NAME * 2));
    let _ = writeln!(out, "  <text x=\"{MARGIN}\" y=\"{:.0}\" font-weight=\"bold\">{heading}</text>", MARGIN + 6.0);
    let _ = writeln!(out, "  <g transform=\"translate({MARGIN} {top})\">");
    for (group, rect) in &layout.groups {
        draw_group(&mut out, groups.get(*group).copied().unwrap_or_default(), rect);
    }
    for ((edge, _), route) in edges.iter().zip(&layout.edges) {
        draw_edge(&mut out, edge, route);
    }
    for (node, place) in picture.nodes.iter().zip(&layout.nodes) {
        draw_node(&mut out, node, &place.rect);
    }
    out.push_str("  </g>\n");
    legend.draw(&mut out, top + layout.height + MARGIN);
    out.push_str("</svg>\n");
    out
}

/// The second line of a node.
fn subtitle(node: &PictureNode) -> String {
    let mark = node.mark.map(|mark| format!(", {mark}")).unwrap_or_default();
    format!("{}{mark}", node.kind)
}

fn size(node: &PictureNode, groups: &[&str]) -> LayoutNode {
    let text = cells(&cut_to(&node.name, MAX_NAME)).max(cells(&subtitle(node)) * 11.0 / 13.0);
    let group = node.group.as_deref().and_then(|group| groups.binary_search(&group).ok());
    LayoutNode { width: text * CELL + 2.0 * NODE_PADDING, height: NODE_HEIGHT, group }
}

/// What the picture has, in words.
fn description(picture: &Picture) -> String {
    let counts: Vec<String> = kinds(picture)
        .into_iter()
        .map(|kind| format!("{} of kind {kind}", picture.nodes.iter().filter(|node| node.kind == kind).count()))
        .collect();
    let mut names: Vec<&str> = picture.nodes.iter().map(|node| node.name.as_str()).take(MAX_TOLD).collect();
    let more = format!("and {} more", picture.nodes.len().saturating_sub(MAX_TOLD));
    if picture.nodes.len() > MAX_TOLD {
        names.push(&more);
    }
    format!(
        "Datasets and who reads whom, from left to right: {} nodes ({}), {} edges. {}.",
        picture.nodes.len(),
        counts.join(", "),
        picture.edges.len(),
        names.join(", ")
    )
}

fn draw_group(out: &mut String, name: &str, rect: &Rect) {
    let Rect { x, y, width, height } = rect;
    // Small letters, and a little room at both sides.
    let fits = ((width - 16.0) / (CELL * 11.0 / 13.0)).max(4.0);
    let label = escaped(&cut_to(name, whole(fits)));
    let _ = writeln!(
        out,
        "    <g><title>{}</title><rect class=\"group\" x=\"{x:.1}\" y=\"{y:.1}\" width=\"{width:.1}\" \
         height=\"{height:.1}\" rx=\"6\"/><text class=\"kind\" x=\"{:.1}\" y=\"{:.1}\">{label}</text></g>",
        escaped(name),
        x + 8.0,
        y + 15.0
    );
}

fn draw_edge(out: &mut String, edge: &PictureEdge, route: &EdgeRoute) {
    let (Some(last), true) = (route.points.last(), route.points.len() > 1) else { return };
    let mut class = String::from("edge");
    for (is_so, name) in [(edge.streaming, " stream"), (edge.inferred, " guess"), (route.is_back, " back")] {
        class.push_str(if is_so { name } else { "" });
    }
    if let Some(mark) = edge.mark {
        let _ = write!(class, " {}", mark.class());
    }
    let words: Vec<String> = [(edge.streaming, "stream"), (edge.inferred, "guess"), (route.is_back, "closes a circle")]
        .into_iter()
        .filter(|(is_so, _)| *is_so)
        .map(|(_, word)| word.to_owned())
        .chain(edge.mark.map(|mark| mark.to_string()))
        .collect();
    let told = if words.is_empty() { String::new() } else { format!(" ({})", words.join(", ")) };
    let title = escaped(&format!("{} → {}{told}", edge.from, edge.to));
    let _ = write!(out, "    <g><title>{title}</title><path class=\"{class}\" d=\"{}\"/>", curve(&route.points));
    let back = if route.points[route.points.len() - 2].x > last.x { 1.0 } else { -1.0 };
    let (x, y) = (last.x, last.y);
    let _ = writeln!(out, "<path class=\"head\" d=\"M{x:.1} {y:.1}l{:.1} -4v8z\"/></g>", 8.0 * back);
}

/// The line through the points, level at each.
fn curve(points: &[Point]) -> String {
    let mut path = String::new();
    let mut last: Option<&Point> = None;
    for point in points {
        let _ = match last {
            None => write!(path, "M{:.1} {:.1}", point.x, point.y),
            Some(last) if (last.y - point.y).abs() < 0.05 => write!(path, "H{:.1}", point.x),
            Some(last) if (last.x - point.x).abs() < 0.05 => write!(path, "V{:.1}", point.y),
            Some(last) => {
                let middle = f64::midpoint(last.x, point.x);
                write!(path, "C{middle:.1} {:.1} {middle:.1} {:.1} {:.1} {:.1}", last.y, point.y, point.x, point.y)
            }
        };
        last = Some(point);
    }
    path
}

fn draw_node(out: &mut String, node: &PictureNode, rect: &Rect) {
    let place = node.source_location.as_ref().map(|at| format!(", {at}")).unwrap_or_default();
    let title = escaped(&format!("{} ({}{place})", node.name, subtitle(node)));
    let mark = node.mark.map(|mark| format!(" {}", mark.class())).unwrap_or_default();
    let middle = rect.x + rect.width / 2.0;
    let _ = writeln!(
        out,
        "    <g><title>{title}</title>{}<text x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text>\
         <text class=\"kind\" x=\"{middle:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{}</text></g>",
        shape(node.kind, rect, &mark),
        rect.y + 19.0,
        escaped(&cut_to(&node.name, MAX_NAME)),
        rect.y + 35.0,
        escaped(&subtitle(node)),
    );
}

/// What the shapes and lines of a picture mean; only those that it has.
struct Legend {
    kinds: Vec<NodeKind>,
    lines: Vec<(&'static str, &'static str)>,
    width: f64,
}

impl Legend {
    fn of(picture: &Picture, has_back: bool) -> Self {
        let has = |is_so: fn(&PictureEdge) -> bool| picture.edges.iter().any(is_so);
        let lines = [
            (has(|edge| !edge.streaming && !edge.inferred), "edge", "read in whole"),
            (has(|edge| edge.streaming), "edge stream", "read as a stream"),
            (has(|edge| edge.inferred), "edge guess", "a guess"),
            (has_back, "edge back", "closes a circle"),
        ];
        let lines: Vec<_> =
            lines.into_iter().filter_map(|(is_so, class, text)| is_so.then_some((class, text))).collect();
        let kinds = kinds(picture);
        let widest = |texts: Vec<String>| texts.iter().map(|text| 64.0 + cells(text) * CELL).sum::<f64>();
        let of_kinds = widest(kinds.iter().map(ToString::to_string).collect());
        let of_lines = widest(lines.iter().map(|(_, text)| (*text).to_owned()).collect());
        Self { kinds, lines, width: of_kinds.max(of_lines) }
    }

    fn height(&self) -> f64 {
        LEGEND_ROW * if self.lines.is_empty() { 1.0 } else { 2.0 }
    }

    fn draw(&self, out: &mut String, top: f64) {
        let _ = writeln!(out, "  <g transform=\"translate({MARGIN} {top:.1})\" aria-hidden=\"true\">");
        let mut x = 0.0;
        for kind in &self.kinds {
            let text = kind.to_string();
            let rect = Rect { x, y: 2.0, width: 34.0, height: 16.0 };
            let shape = shape(*kind, &rect, "");
            let _ = writeln!(out, "    {shape}<text class=\"kind\" x=\"{:.1}\" y=\"14\">{text}</text>", x + 42.0);
            x += 64.0 + cells(&text) * CELL;
        }
        x = 0.0;
        for (class, text) in &self.lines {
            let y = LEGEND_ROW + 10.0;
            let _ = writeln!(
                out,
                "    <path class=\"{class}\" d=\"M{x:.1} {y}h34\"/><text class=\"kind\" x=\"{:.1}\" y=\"{}\">{text}</text>",
                x + 42.0,
                y + 4.0
            );
            x += 64.0 + cells(text) * CELL;
        }
        out.push_str("  </g>\n");
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a width of a picture, in cells")]
fn whole(cells: f64) -> usize {
    cells.max(0.0) as usize
}

#[cfg(test)]
mod tests;
