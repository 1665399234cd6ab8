//! Puts the connected parts beside and below each other.

use super::component::{Part, Placed};
use super::{EdgeRoute, Layout, LayoutGraph, LayoutOptions, NodePlace, Point, Rect};

/// The parts in rows, in their order; single nodes come last, where they disturb nobody.
pub(super) fn pack(graph: &LayoutGraph, parts: &[Part], placed: &[Placed], options: &LayoutOptions) -> Layout {
    let mut layout = Layout {
        nodes: vec![NodePlace::default(); graph.nodes.len()],
        edges: vec![EdgeRoute::default(); graph.edges.len()],
        ..Layout::default()
    };
    let gap = options.component_gap;
    let area: f64 = placed.iter().map(|part| (part.width + gap) * (part.height + gap)).sum();
    let widest = placed.iter().map(|part| part.width).fold(0.0, f64::max);
    let row_width = widest.max((area * options.aspect.max(0.1)).sqrt());
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by_key(|part| parts[*part].nodes.len() == 1);
    let (mut x, mut y, mut row_height, mut is_single) = (0.0, 0.0, 0.0_f64, false);
    for index in order {
        let (part, of_part) = (&parts[index], &placed[index]);
        let begins_singles = !is_single && part.nodes.len() == 1;
        is_single = part.nodes.len() == 1;
        if x > 0.0 && (x + of_part.width > row_width || begins_singles) {
            y += row_height + gap;
            (x, row_height) = (0.0, 0.0);
        }
        add(&mut layout, graph, part, of_part, Point { x, y }, options);
        layout.width = layout.width.max(x + of_part.width);
        layout.height = layout.height.max(y + of_part.height);
        x += of_part.width + gap;
        row_height = row_height.max(of_part.height);
    }
    layout.groups.sort_by_key(|(group, _)| *group);
    layout
}

fn add(layout: &mut Layout, graph: &LayoutGraph, part: &Part, placed: &Placed, by: Point, options: &LayoutOptions) {
    let moved = |rect: Rect| Rect { x: rect.x + by.x, y: rect.y + by.y, ..rect };
    for (node, place) in part.nodes.iter().zip(&placed.nodes) {
        layout.nodes[*node] = NodePlace { rect: moved(place.rect), ..*place };
    }
    layout.groups.extend(placed.groups.iter().map(|(group, rect)| (*group, moved(*rect))));
    for (edge, drawn) in &part.drawn {
        layout.edges[*edge] = if let Some(drawn) = drawn {
            let route = &placed.routes[*drawn];
            let points = route.points.iter().map(|point| Point { x: point.x + by.x, y: point.y + by.y });
            EdgeRoute { points: points.collect(), is_back: route.is_back }
        } else {
            EdgeRoute { points: loop_at(layout.nodes[graph.edges[*edge].0].rect, options), is_back: true }
        };
    }
}

/// A small loop at the right side of a node.
fn loop_at(rect: Rect, options: &LayoutOptions) -> Vec<Point> {
    let (right, middle) = (rect.x + rect.width, rect.y + rect.height / 2.0);
    let (out, up) = (right + options.column_gap / 4.0, rect.height / 4.0);
    [(right, middle + up), (out, middle + up), (out, middle - up), (right, middle - up)]
        .map(|(x, y)| Point { x, y })
        .to_vec()
}
