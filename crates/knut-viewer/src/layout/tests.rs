//! Layouts of small graphs by eye, and of any graph by their laws.

use proptest::prelude::*;

use super::*;

fn graph(n_nodes: usize, edges: &[(usize, usize)]) -> LayoutGraph {
    let node = LayoutNode { width: 40.0, height: 20.0, group: None };
    LayoutGraph { nodes: vec![node; n_nodes], edges: edges.to_vec() }
}

fn laid_out(graph: &LayoutGraph) -> Layout {
    layout(graph, &LayoutOptions::default())
}

fn overlap(a: &Rect, b: &Rect) -> bool {
    let slack = 1e-6;
    a.x + a.width > b.x + slack
        && b.x + b.width > a.x + slack
        && a.y + a.height > b.y + slack
        && b.y + b.height > a.y + slack
}

#[test]
fn a_chain_is_a_straight_line() {
    let layout = laid_out(&graph(3, &[(0, 1), (1, 2)]));
    let places: Vec<(f64, f64)> = layout.nodes.iter().map(|place| (place.rect.x, place.rect.y)).collect();
    assert_eq!(places, [(0.0, 0.0), (96.0, 0.0), (192.0, 0.0)]);
    assert_eq!((layout.width, layout.height), (232.0, 20.0));
    assert_eq!(layout.edges[0].points, [Point { x: 40.0, y: 10.0 }, Point { x: 96.0, y: 10.0 }]);
}

#[test]
fn a_long_edge_goes_around_what_it_passes() {
    let layout = laid_out(&graph(3, &[(0, 1), (1, 2), (0, 2)]));
    let passed = layout.nodes[1].rect;
    let bends = layout.edges[2].points.iter().filter(|point| (passed.x..=passed.x + passed.width).contains(&point.x));
    let bends: Vec<f64> = bends.map(|point| point.y).collect();
    assert_eq!(bends.len(), 2);
    assert!(bends.iter().all(|y| *y < passed.y || *y > passed.y + passed.height), "{layout:?}");
}

#[test]
fn edges_cross_only_if_they_must() {
    // Two chains whose nodes are given crosswise.
    let layout = laid_out(&graph(6, &[(0, 3), (1, 2), (2, 5), (3, 4), (0, 2)]));
    let y = |node: usize| layout.nodes[node].rect.y;
    assert_eq!(y(0) < y(1), y(3) < y(2));
    assert_eq!(y(2) < y(3), y(5) < y(4));
}

#[test]
fn circles_are_drawn_and_their_edges_marked() {
    let layout = laid_out(&graph(3, &[(0, 1), (1, 2), (2, 0), (1, 1)]));
    let back: Vec<bool> = layout.edges.iter().map(|edge| edge.is_back).collect();
    assert_eq!(back, [false, false, true, true]);
    let points = &layout.edges[2].points;
    assert_eq!(points.first(), Some(&Point { x: layout.nodes[2].rect.x, ..points[0] }));
    assert_eq!(points.last().map(|point| point.x < points[0].x), Some(true));
    assert_eq!(layout.edges[3].points.len(), 4);
}

#[test]
fn an_edge_to_nowhere_is_not_drawn() {
    let layout = laid_out(&graph(1, &[(0, 7), (9, 0)]));
    assert!(layout.edges.iter().all(|edge| edge.points.is_empty()));
    assert_eq!(laid_out(&LayoutGraph::default()), Layout::default());
}

#[test]
fn a_source_stands_beside_what_reads_it() {
    let layout = laid_out(&graph(5, &[(0, 1), (1, 2), (2, 3), (4, 3)]));
    assert_eq!(layout.nodes[4].column, 2);
}

/// A component that grows leaves the others as they are, but for a shift of the whole.
#[test]
fn what_is_not_connected_keeps_its_shape() {
    let small = graph(8, &[(0, 1), (0, 2), (1, 3), (4, 5)]);
    let mut large = small.clone();
    large.nodes.resize(12, small.nodes[0]);
    large.edges.extend([(5, 8), (5, 9), (5, 10), (10, 11)]);
    let (before, after) = (laid_out(&small), laid_out(&large));
    let by = |node: usize| {
        let (old, new) = (before.nodes[node].rect, after.nodes[node].rect);
        (new.x - old.x, new.y - old.y)
    };
    assert!((0..4).all(|node| by(node) == by(0)));
}

#[test]
fn a_window_has_what_is_near() {
    let graph = graph(6, &[(0, 1), (1, 2), (2, 3), (3, 4), (5, 2)]);
    assert_eq!(window(&graph, 2, Some(1), Some(1)), [1, 2, 3, 5]);
    assert_eq!(window(&graph, 2, None, Some(0)), [0, 1, 2, 5]);
    assert_eq!(window(&graph, 9, None, None), [0_usize; 0]);
    let near = graph.subset(&[1, 2, 3, 5]);
    assert_eq!(near.edges, [(0, 1), (1, 2), (3, 1)]);
}

#[test]
fn a_graph_as_rows_and_columns() {
    let table = text_columns(&graph(6, &[(0, 2), (1, 2), (2, 3), (4, 5), (5, 4)]));
    let cells: Vec<(usize, usize)> = table.cells.iter().map(|cell| (cell.column, cell.row)).collect();
    assert_eq!(cells[2].0, 1);
    assert_eq!(cells[3].0, 2);
    assert_ne!(cells[0].1, cells[1].1);
    assert_eq!((cells[4].1, table.n_columns, table.n_rows), (2, 3, 3));
    assert_eq!(table.is_back, [false, false, false, false, true]);
}

/// Layers of tables that each read one to three of those before, as pipelines do.
fn pipeline_like(n_nodes: usize) -> LayoutGraph {
    let mut seed = 1_u64;
    let mut random = |below: usize| {
        seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        usize::try_from(seed >> 33).unwrap() % below
    };
    let mut edges = Vec::new();
    for node in 20..n_nodes {
        for _ in 0..=usize::from(random(10) < 4) {
            edges.push((node - 1 - random(node.min(200)), node));
        }
    }
    graph(n_nodes, &edges)
}

#[test]
fn ten_thousand_nodes_are_no_problem() {
    let large = pipeline_like(10_000);
    assert!(large.edges.len() > 13_500);
    let layout = laid_out(&large);
    let mut places: Vec<&NodePlace> = layout.nodes.iter().collect();
    places.sort_by(|a, b| a.rect.x.total_cmp(&b.rect.x).then(a.rect.y.total_cmp(&b.rect.y)));
    assert!(places.windows(2).all(|pair| !overlap(&pair[0].rect, &pair[1].rect)));
    let forward = large.edges.iter().all(|(from, to)| layout.nodes[*from].column < layout.nodes[*to].column);
    assert!(forward);
}

/// What could overflow a stack or need a bend for each of a hundred million crossings of columns.
#[test]
fn a_deep_graph_with_long_edges_is_no_problem() {
    let n = 10_000;
    let chain = (1..n).map(|node| (node - 1, node));
    let from_first = (2..n).map(|node| (0, node));
    let to_last = (0..n - 2).map(|node| (node, n - 1));
    let layout = laid_out(&graph(n, &chain.chain(from_first).chain(to_last).collect::<Vec<_>>()));
    assert_eq!(layout.nodes[n - 1].column, n - 1);
    assert!(layout.edges.iter().all(|edge| edge.points.len() >= 2));
    let circle: Vec<(usize, usize)> = (0..n).map(|node| (node, (node + 1) % n)).collect();
    assert_eq!(laid_out(&graph(n, &circle)).edges.iter().filter(|edge| edge.is_back).count(), 1);
}

fn any_graph() -> impl Strategy<Value = LayoutGraph> {
    let node = (1_u8..80, 1_u8..40, proptest::option::of(0_usize..4)).prop_map(|(width, height, group)| LayoutNode {
        width: f64::from(width),
        height: f64::from(height),
        group,
    });
    (proptest::collection::vec(node, 1..25), any::<bool>()).prop_flat_map(|(mut nodes, has_groups)| {
        if !has_groups {
            for node in &mut nodes {
                node.group = None;
            }
        }
        let n = nodes.len();
        proptest::collection::vec((0..n, 0..n), 0..40)
            .prop_map(move |edges| LayoutGraph { nodes: nodes.clone(), edges })
    })
}

proptest! {
    #[test]
    fn nothing_overlaps_and_the_data_goes_right(graph in any_graph()) {
        let layout = laid_out(&graph);
        prop_assert_eq!(layout.nodes.len(), graph.nodes.len());
        for (index, place) in layout.nodes.iter().enumerate() {
            let rect = place.rect;
            prop_assert_eq!((rect.width, rect.height), (graph.nodes[index].width, graph.nodes[index].height));
            prop_assert!(rect.x >= 0.0 && rect.y >= -1e-6);
            prop_assert!(rect.x + rect.width <= layout.width + 1e-6 && rect.y + rect.height <= layout.height + 1e-6);
            for other in &layout.nodes[..index] {
                prop_assert!(!overlap(&rect, &other.rect), "{:?} {:?}", rect, other.rect);
            }
            for (group, around) in &layout.groups {
                let is_in = rect.x >= around.x && rect.x + rect.width <= around.x + around.width
                    && rect.y >= around.y && rect.y + rect.height <= around.y + around.height + 1e-6;
                let is_member = graph.nodes[index].group == Some(*group);
                prop_assert!(if is_member { is_in } else { !overlap(&rect, around) }, "{} {:?} {:?}", index, rect, around);
            }
        }
        for (edge, (from, to)) in layout.edges.iter().zip(&graph.edges) {
            let column = |node: usize| layout.nodes[node].column;
            if from == to {
                prop_assert!(edge.is_back);
            } else if edge.is_back {
                prop_assert!(column(*from) > column(*to));
            } else {
                prop_assert!(column(*from) < column(*to));
                prop_assert!(edge.points.windows(2).all(|pair| pair[0].x <= pair[1].x));
            }
            prop_assert!(edge.points.len() >= 2);
        }
        for (index, (_, one)) in layout.groups.iter().enumerate() {
            prop_assert!(layout.groups[..index].iter().all(|(_, other)| !overlap(one, other)));
        }
    }

    #[test]
    fn the_order_of_edges_means_nothing(graph in any_graph(), seed in any::<prop::sample::Index>()) {
        let mut turned = graph.clone();
        let by = seed.index(graph.edges.len().max(1));
        turned.edges.rotate_left(by);
        turned.edges.reverse();
        let (a, b) = (laid_out(&graph), laid_out(&turned));
        prop_assert_eq!(&a, &laid_out(&graph));
        prop_assert_eq!(&a.nodes, &b.nodes);
        prop_assert_eq!(&a.groups, &b.groups);
        for (edge, route) in graph.edges.iter().zip(&a.edges) {
            let place = turned.edges.iter().position(|other| other == edge).unwrap();
            prop_assert_eq!(route, &b.edges[place]);
        }
    }

    #[test]
    fn each_node_has_a_cell_of_its_own(graph in any_graph()) {
        let table = text_columns(&graph);
        let cells: std::collections::BTreeSet<Cell> = table.cells.iter().copied().collect();
        prop_assert_eq!(cells.len(), graph.nodes.len());
        prop_assert!(cells.iter().all(|cell| cell.column < table.n_columns && cell.row < table.n_rows));
        for ((from, to), is_back) in graph.edges.iter().zip(&table.is_back) {
            prop_assert!(*is_back || table.cells[*from].column < table.cells[*to].column);
        }
    }
}
