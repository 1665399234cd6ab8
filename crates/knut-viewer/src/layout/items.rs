//! What stands in the columns: nodes, and a bend for each column that an edge passes.

use std::ops::Range;

/// Neighbours of every item, one list behind the other.
#[derive(Clone, Debug, Default)]
pub(super) struct Neighbours {
    starts: Vec<usize>,
    items: Vec<usize>,
}

impl Neighbours {
    fn new(n_items: usize, pairs: &[(usize, usize)]) -> Self {
        let mut starts = vec![0; n_items + 1];
        for (item, _) in pairs {
            starts[item + 1] += 1;
        }
        for index in 0..n_items {
            starts[index + 1] += starts[index];
        }
        let mut next = starts.clone();
        let mut items = vec![0; pairs.len()];
        for (item, neighbour) in pairs {
            items[next[*item]] = *neighbour;
            next[*item] += 1;
        }
        Self { starts, items }
    }

    pub(super) fn of(&self, item: usize) -> &[usize] {
        &self.items[self.starts[item]..self.starts[item + 1]]
    }
}

/// The items of one connected part. Those below `n_nodes` are nodes, the others bends.
#[derive(Clone, Debug, Default)]
pub(super) struct Items {
    pub(super) n_nodes: usize,
    /// The column of each item.
    pub(super) layer: Vec<usize>,
    /// The items of each column, from top to bottom.
    pub(super) columns: Vec<Vec<usize>>,
    /// What stands left of each item and is joined to it.
    pub(super) left: Neighbours,
    /// What stands right of it.
    pub(super) right: Neighbours,
    /// The bends of each edge, from left to right; empty for those between neighbouring columns,
    /// and for those that are too long to be led around everything.
    pub(super) bends: Vec<Range<usize>>,
    /// The node at the right end of the edge that a bend belongs to.
    pub(super) bend_target: Vec<usize>,
}

impl Items {
    /// The items of nodes in columns; each edge goes to a column further right.
    pub(super) fn new(layer: Vec<usize>, edges: &[(usize, usize)]) -> Self {
        let n_nodes = layer.len();
        // An edge over ten thousand columns needs as many bends: the longest go straight when
        // there would be more bends than the picture can bear.
        let mut budget = 4 * (n_nodes + edges.len()) + 1_000;
        let mut by_length: Vec<usize> = (0..edges.len()).collect();
        let span = |edge: usize| layer[edges[edge].1] - layer[edges[edge].0];
        by_length.sort_by_key(|edge| (span(*edge), *edge));
        let mut has_bends = vec![false; edges.len()];
        for edge in by_length {
            let needed = span(edge).saturating_sub(1);
            if needed > budget {
                break;
            }
            budget -= needed;
            has_bends[edge] = true;
        }
        let mut items = Self { n_nodes, layer, ..Self::default() };
        let mut pairs = Vec::new();
        for (index, (from, to)) in edges.iter().enumerate() {
            let first = items.layer.len();
            if !has_bends[index] {
                items.bends.push(first..first);
                continue;
            }
            let mut last = *from;
            for layer in items.layer[*from] + 1..items.layer[*to] {
                let bend = items.layer.len();
                items.layer.push(layer);
                items.bend_target.push(*to);
                pairs.push((last, bend));
                last = bend;
            }
            pairs.push((last, *to));
            items.bends.push(first..items.layer.len());
        }
        let n_items = items.layer.len();
        items.right = Neighbours::new(n_items, &pairs);
        for (from, to) in &mut pairs {
            std::mem::swap(from, to);
        }
        items.left = Neighbours::new(n_items, &pairs);
        items.columns = vec![Vec::new(); items.layer.iter().max().map_or(0, |last| last + 1)];
        items.fill_columns();
        items
    }

    pub(super) fn is_bend(&self, item: usize) -> bool {
        item >= self.n_nodes
    }

    /// Puts the items into their columns in the order of a search through the graph, which brings
    /// neighbours near to each other.
    fn fill_columns(&mut self) {
        let mut is_seen = vec![false; self.layer.len()];
        for start in 0..self.n_nodes {
            let mut open = vec![start];
            while let Some(item) = open.pop() {
                if std::mem::replace(&mut is_seen[item], true) {
                    continue;
                }
                self.columns[self.layer[item]].push(item);
                open.extend(self.left.of(item).iter().rev());
                open.extend(self.right.of(item).iter().rev());
            }
        }
    }
}
