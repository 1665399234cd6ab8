//! One connected part of a graph, laid out for itself.

use super::items::Items;
use super::place::{Room, middles};
use super::{EdgeRoute, LayoutGraph, LayoutOptions, NodePlace, Point, Rect, cycles, layers, number, order};

/// A connected part; nodes of one group count as connected.
#[derive(Clone, Debug, Default)]
pub(super) struct Part {
    /// Its nodes, in the order of the graph.
    pub(super) nodes: Vec<usize>,
    /// Its edges as positions in `nodes`, sorted, each once, none from a node to itself.
    edges: Vec<(usize, usize)>,
    /// For each edge of the graph that belongs here, which one of `edges` it is; `None` for those
    /// from a node to itself.
    pub(super) drawn: Vec<(usize, Option<usize>)>,
}

/// A part that is laid out, with its upper left corner at zero.
#[derive(Clone, Debug, Default)]
pub(super) struct Placed {
    pub(super) width: f64,
    pub(super) height: f64,
    pub(super) nodes: Vec<NodePlace>,
    /// For each of the part's edges.
    pub(super) routes: Vec<EdgeRoute>,
    pub(super) groups: Vec<(usize, Rect)>,
}

/// The connected parts, in the order of their first nodes.
pub(super) fn split(graph: &LayoutGraph) -> Vec<Part> {
    let n_nodes = graph.nodes.len();
    let mut parent: Vec<usize> = (0..n_nodes).collect();
    let mut first_of_group = std::collections::BTreeMap::new();
    for (index, node) in graph.nodes.iter().enumerate() {
        if let Some(group) = node.group {
            join(&mut parent, *first_of_group.entry(group).or_insert(index), index);
        }
    }
    let exists = |(from, to): &(usize, usize)| *from < n_nodes && *to < n_nodes;
    for (from, to) in graph.edges.iter().filter(|edge| exists(edge)) {
        join(&mut parent, *from, *to);
    }
    let mut parts: Vec<Part> = Vec::new();
    let mut part_of = vec![usize::MAX; n_nodes];
    let mut place = vec![0; n_nodes];
    for node in 0..n_nodes {
        let root = root(&mut parent, node);
        // The root is the smallest of its part, so it comes first.
        if root == node {
            part_of[node] = parts.len();
            parts.push(Part::default());
        }
        part_of[node] = part_of[root];
        let part = &mut parts[part_of[node]];
        place[node] = part.nodes.len();
        part.nodes.push(node);
    }
    for (from, to) in graph.edges.iter().filter(|edge| exists(edge) && edge.0 != edge.1) {
        parts[part_of[*from]].edges.push((place[*from], place[*to]));
    }
    for part in &mut parts {
        part.edges.sort_unstable();
        part.edges.dedup();
    }
    for (index, edge) in graph.edges.iter().enumerate().filter(|(_, edge)| exists(edge)) {
        let part = &mut parts[part_of[edge.0]];
        let drawn = part.edges.binary_search(&(place[edge.0], place[edge.1])).ok();
        part.drawn.push((index, drawn));
    }
    parts
}

fn root(parent: &mut [usize], mut node: usize) -> usize {
    while parent[node] != node {
        parent[node] = parent[parent[node]];
        node = parent[node];
    }
    node
}

fn join(parent: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parent, a), root(parent, b));
    parent[a.max(b)] = a.min(b);
}

/// The part as it will be drawn: which edges are turned around, and what stands in which column.
pub(super) struct Arranged {
    pub(super) items: Items,
    /// For each edge, whether it was turned around.
    pub(super) is_back: Vec<bool>,
    /// The edges, all from left to right.
    pub(super) edges: Vec<(usize, usize)>,
    /// For each item the lane it stands in; a group has a lane of its own.
    pub(super) lane: Vec<usize>,
    n_lanes: usize,
}

impl Part {
    pub(super) fn arrange(&self, graph: &LayoutGraph) -> Arranged {
        let is_back = cycles::back_edges(self.nodes.len(), &self.edges);
        let turned = |(edge, is_back): (&(usize, usize), &bool)| if *is_back { (edge.1, edge.0) } else { *edge };
        let edges: Vec<(usize, usize)> = self.edges.iter().zip(&is_back).map(turned).collect();
        let mut items = Items::new(layers::layers(self.nodes.len(), &edges), &edges);
        let mut lane = vec![0; items.layer.len()];
        order::order(&mut items, &lane);
        let n_lanes = self.lanes(graph, &items, &mut lane);
        if n_lanes > 1 {
            order::order(&mut items, &lane);
        }
        Arranged { items, is_back, edges, lane, n_lanes }
    }

    /// Gives each group, and each node without one, a lane; those that stand high come first. One
    /// lane is enough where there are no groups.
    fn lanes(&self, graph: &LayoutGraph, items: &Items, lane: &mut [usize]) -> usize {
        let group = |node: usize| graph.nodes[self.nodes[node]].group;
        if (0..items.n_nodes).all(|node| group(node).is_none()) {
            return 1;
        }
        // Of each lane: how high its nodes stand on average, and which nodes these are.
        let mut found: Vec<(f64, Vec<usize>)> = Vec::new();
        let mut of_group = std::collections::BTreeMap::new();
        for node in 0..items.n_nodes {
            let index = group(node).map_or(found.len(), |group| *of_group.entry(group).or_insert(found.len()));
            if index == found.len() {
                found.push((0.0, Vec::new()));
            }
            found[index].1.push(node);
        }
        let mut height = vec![0.0; items.n_nodes];
        for column in &items.columns {
            for (place, item) in column.iter().enumerate().filter(|(_, item)| **item < items.n_nodes) {
                height[*item] = (number(place) + 0.5) / number(column.len());
            }
        }
        for (mean, nodes) in &mut found {
            *mean = nodes.iter().map(|node| height[*node]).sum::<f64>() / number(nodes.len());
        }
        found.sort_by(|(a, _), (b, _)| a.total_cmp(b));
        for (index, (_, nodes)) in found.iter().enumerate() {
            for node in nodes {
                lane[*node] = index;
            }
        }
        for bend in items.n_nodes..items.layer.len() {
            lane[bend] = lane[items.bend_target[bend - items.n_nodes]];
        }
        found.len()
    }

    pub(super) fn lay_out(&self, graph: &LayoutGraph, options: &LayoutOptions) -> Placed {
        let arranged = self.arrange(graph);
        let Arranged { items, lane, .. } = &arranged;
        let node = |item: usize| &graph.nodes[self.nodes[item]];
        let height = |item: usize| if items.is_bend(item) { 0.0 } else { node(item).height.max(0.0) };
        let group_of_lane = |item: usize| if items.is_bend(item) { None } else { node(item).group };
        let gap = |above: usize, below: usize| {
            let n_bends = usize::from(items.is_bend(above)) + usize::from(items.is_bend(below));
            let gap = options.node_gap * (1.0 - 0.25 * number(n_bends));
            let is_other = lane[above] != lane[below];
            if is_other && (group_of_lane(above).is_some() || group_of_lane(below).is_some()) {
                gap + 2.0 * options.group_padding + options.group_title
            } else {
                gap
            }
        };
        let mut middle = middles(items, &Room { height: &height, gap: &gap });
        if arranged.n_lanes > 1 {
            self.part_lanes(graph, &arranged, options, &mut middle);
        }
        self.finish(graph, &arranged, options, &middle)
    }

    /// Moves the lanes apart, so that the box of a group has its own nodes and no others in it.
    fn part_lanes(&self, graph: &LayoutGraph, arranged: &Arranged, options: &LayoutOptions, middle: &mut [f64]) {
        let Arranged { items, lane, n_lanes, .. } = arranged;
        let mut of_lane: Vec<Vec<usize>> = vec![Vec::new(); *n_lanes];
        for item in 0..items.layer.len() {
            of_lane[lane[item]].push(item);
        }
        // How far down each column is taken by the lanes above.
        let mut taken = vec![f64::NEG_INFINITY; items.columns.len()];
        for of_lane in of_lane {
            let (mut top, mut bottom) = (f64::INFINITY, f64::NEG_INFINITY);
            let (mut first, mut last) = (usize::MAX, 0);
            for item in &of_lane {
                let node = self.nodes.get(*item).map(|node| &graph.nodes[*node]);
                let half = node.map_or(0.0, |node| node.height.max(0.0) / 2.0);
                let has_box = node.is_some_and(|node| node.group.is_some());
                let (padding, title) = if has_box { (options.group_padding, options.group_title) } else { (0.0, 0.0) };
                top = top.min(middle[*item] - half - padding - title);
                bottom = bottom.max(middle[*item] + half + padding);
                (first, last) = (first.min(items.layer[*item]), last.max(items.layer[*item]));
            }
            let Some(columns) = taken.get_mut(first..=last) else { continue };
            let above = columns.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let shift = (above + options.node_gap - top).max(0.0);
            for item in &of_lane {
                middle[*item] += shift;
            }
            columns.fill(bottom + shift);
        }
    }

    fn finish(&self, graph: &LayoutGraph, arranged: &Arranged, options: &LayoutOptions, middle: &[f64]) -> Placed {
        let Arranged { items, is_back, edges, .. } = arranged;
        let size = |item: usize| {
            let node = &graph.nodes[self.nodes[item]];
            (node.width.max(0.0), node.height.max(0.0))
        };
        let mut left = Vec::with_capacity(items.columns.len());
        let mut right = Vec::with_capacity(items.columns.len());
        let mut x = 0.0;
        for column in &items.columns {
            let nodes = column.iter().filter(|item| !items.is_bend(**item));
            let width = nodes.map(|item| size(*item).0).fold(0.0, f64::max);
            left.push(x);
            right.push(x + width);
            x += width + options.column_gap;
        }
        let mut placed = Placed::default();
        for (item, middle) in middle[..items.n_nodes].iter().enumerate() {
            let (width, height) = size(item);
            let column = items.layer[item];
            let rect = Rect { x: left[column], y: middle - height / 2.0, width, height };
            placed.nodes.push(NodePlace { rect, column });
        }
        for (index, (from, to)) in edges.iter().enumerate() {
            let start = placed.nodes[*from].rect;
            let mut points = vec![Point { x: start.x + start.width, y: middle[*from] }];
            // Straight past the wider nodes of its column.
            points.push(Point { x: right[items.layer[*from]], y: middle[*from] });
            for bend in items.bends[index].clone() {
                let column = items.layer[bend];
                points.push(Point { x: left[column], y: middle[bend] });
                points.push(Point { x: right[column], y: middle[bend] });
            }
            points.push(Point { x: left[items.layer[*to]], y: middle[*to] });
            points.dedup();
            if is_back[index] {
                points.reverse();
            }
            placed.routes.push(EdgeRoute { points, is_back: is_back[index] });
        }
        placed.groups = self.boxes(graph, &placed.nodes, options);
        placed.move_to_zero();
        placed
    }

    fn boxes(&self, graph: &LayoutGraph, nodes: &[NodePlace], options: &LayoutOptions) -> Vec<(usize, Rect)> {
        let mut boxes: std::collections::BTreeMap<usize, Rect> = std::collections::BTreeMap::new();
        for (place, node) in nodes.iter().zip(&self.nodes) {
            if let Some(group) = graph.nodes[*node].group {
                boxes.entry(group).and_modify(|rect| *rect = rect.around(&place.rect)).or_insert(place.rect);
            }
        }
        let padded = |rect: Rect| Rect {
            x: rect.x - options.group_padding,
            y: rect.y - options.group_padding - options.group_title,
            width: rect.width + 2.0 * options.group_padding,
            height: rect.height + 2.0 * options.group_padding + options.group_title,
        };
        boxes.into_iter().map(|(group, rect)| (group, padded(rect))).collect()
    }
}

impl Placed {
    /// Moves all of it so that it begins at zero, and takes its size.
    fn move_to_zero(&mut self) {
        let rects = || self.nodes.iter().map(|place| &place.rect).chain(self.groups.iter().map(|(_, rect)| rect));
        let mut around = rects().next().copied().unwrap_or_default();
        for rect in rects() {
            around = around.around(rect);
        }
        for point in self.routes.iter().flat_map(|route| &route.points) {
            around = around.around(&Rect { x: point.x, y: point.y, width: 0.0, height: 0.0 });
        }
        (self.width, self.height) = (around.width, around.height);
        let rects = self.nodes.iter_mut().map(|place| &mut place.rect);
        for rect in rects.chain(self.groups.iter_mut().map(|(_, rect)| rect)) {
            rect.x -= around.x;
            rect.y -= around.y;
        }
        for point in self.routes.iter_mut().flat_map(|route| &mut route.points) {
            point.x -= around.x;
            point.y -= around.y;
        }
    }
}

impl Rect {
    /// The smallest rectangle around both.
    fn around(&self, other: &Self) -> Self {
        let (x, y) = (self.x.min(other.x), self.y.min(other.y));
        let right = (self.x + self.width).max(other.x + other.width);
        let bottom = (self.y + self.height).max(other.y + other.height);
        Self { x, y, width: right - x, height: bottom - y }
    }
}
