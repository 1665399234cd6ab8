//! The surroundings of a node.

use std::collections::VecDeque;

use super::LayoutGraph;

/// The nodes at most `up` edges upstream and `down` edges downstream of `node`, itself too, in the
/// order of the graph; `None` is no limit. Empty if there is no such node.
pub fn window(graph: &LayoutGraph, node: usize, up: Option<usize>, down: Option<usize>) -> Vec<usize> {
    let n_nodes = graph.nodes.len();
    let mut is_near = vec![false; n_nodes];
    for (limit, is_upstream) in [(up, true), (down, false)] {
        let mut next: Vec<Vec<usize>> = vec![Vec::new(); n_nodes];
        for (from, to) in graph.edges.iter().filter(|(from, to)| *from < n_nodes && *to < n_nodes) {
            let (here, there) = if is_upstream { (*to, *from) } else { (*from, *to) };
            next[here].push(there);
        }
        let mut is_seen = vec![false; n_nodes];
        let mut open: VecDeque<(usize, usize)> = (node < n_nodes).then_some((node, 0)).into_iter().collect();
        while let Some((node, steps)) = open.pop_front() {
            if std::mem::replace(&mut is_seen[node], true) {
                continue;
            }
            is_near[node] = true;
            if limit.is_none_or(|limit| steps < limit) {
                open.extend(next[node].iter().map(|node| (*node, steps + 1)));
            }
        }
    }
    (0..n_nodes).filter(|node| is_near[*node]).collect()
}

impl LayoutGraph {
    /// The graph of some of its nodes, in the order given, with the edges between them.
    #[must_use]
    pub fn subset(&self, nodes: &[usize]) -> Self {
        let mut place = vec![None; self.nodes.len()];
        let mut subset = Self::default();
        for node in nodes {
            if let (Some(Some(found)), Some(None)) = (self.nodes.get(*node).map(Some), place.get(*node)) {
                place[*node] = Some(subset.nodes.len());
                subset.nodes.push(*found);
            }
        }
        let of = |node: usize| place.get(node).copied().flatten();
        subset.edges = self.edges.iter().filter_map(|(from, to)| Some((of(*from)?, of(*to)?))).collect();
        subset
    }
}
