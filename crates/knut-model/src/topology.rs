//! The shape of a graph: what reads what, in which order, and what depends on a dataset.
//!
//! Nodes are datasets, edges go from what is read to what reads it. Every algorithm works with
//! loops and lists, so that no graph is too deep for the stack, and in time linear in its edges.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;

/// A node's place in [`Topology::names`]; it never changes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct NodeId(usize);

impl NodeId {
    /// The place as a number, from 0.
    pub fn index(self) -> usize {
        self.0
    }
}

/// The nodes and edges of a graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Topology {
    names: Vec<String>,
    ids: BTreeMap<String, NodeId>,
    readers: Vec<Vec<NodeId>>,
    reads: Vec<Vec<NodeId>>,
    n_edges: usize,
}

impl Topology {
    /// The node of that name, made if it is new.
    pub fn add_node(&mut self, name: impl Into<String>) -> NodeId {
        let name = name.into();
        if let Some(id) = self.ids.get(&name) {
            return *id;
        }
        let id = NodeId(self.names.len());
        self.ids.insert(name.clone(), id);
        self.names.push(name);
        self.readers.push(Vec::new());
        self.reads.push(Vec::new());
        id
    }

    /// Says that `reader` reads `read`. An edge that is there already changes nothing.
    ///
    /// # Panics
    /// If a node is of another topology.
    pub fn add_edge(&mut self, read: NodeId, reader: NodeId) {
        // The shorter list of the two is the one to search: a hub has thousands of readers.
        let (readers, reads) = (&self.readers[read.0], &self.reads[reader.0]);
        let is_known = if readers.len() < reads.len() { readers.contains(&reader) } else { reads.contains(&read) };
        if !is_known {
            self.readers[read.0].push(reader);
            self.reads[reader.0].push(read);
            self.n_edges += 1;
        }
    }

    /// The node of that name.
    pub fn node(&self, name: &str) -> Option<NodeId> {
        self.ids.get(name).copied()
    }

    /// The names, in the order they were added.
    pub fn names(&self) -> &[String] {
        &self.names
    }

    /// A node's name.
    ///
    /// # Panics
    /// If the node is of another topology.
    pub fn name(&self, node: NodeId) -> &str {
        &self.names[node.0]
    }

    /// All nodes, in the order they were added.
    pub fn nodes(&self) -> impl Iterator<Item = NodeId> {
        (0..self.names.len()).map(NodeId)
    }

    /// How many edges there are.
    pub fn n_edges(&self) -> usize {
        self.n_edges
    }

    /// What a node reads, in the order the edges were added.
    ///
    /// # Panics
    /// If the node is of another topology.
    pub fn reads(&self, node: NodeId) -> &[NodeId] {
        &self.reads[node.0]
    }

    /// What reads a node, in the order the edges were added.
    ///
    /// # Panics
    /// If the node is of another topology.
    pub fn readers(&self, node: NodeId) -> &[NodeId] {
        &self.readers[node.0]
    }

    /// The nodes in an order in which each comes after all that it reads; among those that could
    /// come next, the one that was added first.
    ///
    /// # Errors
    /// A cycle, if there is one.
    pub fn topological_order(&self) -> Result<Vec<NodeId>, Cycle> {
        let mut missing: Vec<usize> = self.reads.iter().map(Vec::len).collect();
        let free = self.nodes().filter(|node| missing[node.0] == 0).map(std::cmp::Reverse);
        let mut free: std::collections::BinaryHeap<_> = free.collect();
        let mut order = Vec::with_capacity(self.names.len());
        while let Some(std::cmp::Reverse(node)) = free.pop() {
            order.push(node);
            for reader in &self.readers[node.0] {
                missing[reader.0] -= 1;
                if missing[reader.0] == 0 {
                    free.push(std::cmp::Reverse(*reader));
                }
            }
        }
        if order.len() == self.names.len() { Ok(order) } else { Err(self.cycle_among(&missing)) }
    }

    /// A cycle among the nodes that still miss something.
    fn cycle_among(&self, missing: &[usize]) -> Cycle {
        let mut seen_at: BTreeMap<NodeId, usize> = BTreeMap::new();
        let mut path: Vec<NodeId> = Vec::new();
        let mut next = self.nodes().find(|node| missing[node.0] > 0);
        while let Some(node) = next {
            if let Some(start) = seen_at.get(&node) {
                let mut nodes = path.split_off(*start);
                // The walk went from reader to read; a path reads better the way the data goes.
                nodes.reverse();
                let first = nodes.iter().enumerate().min_by_key(|(_, node)| **node).map_or(0, |(index, _)| index);
                nodes.rotate_left(first);
                return Cycle { nodes };
            }
            seen_at.insert(node, path.len());
            path.push(node);
            // What misses something reads something that misses something.
            next = self.reads[node.0].iter().copied().find(|read| missing[read.0] > 0);
        }
        Cycle { nodes: path }
    }

    /// The level of each node: 0 for those that read nothing, else one more than the highest of
    /// what it reads.
    ///
    /// # Errors
    /// A cycle, if there is one.
    pub fn levels(&self) -> Result<Vec<usize>, Cycle> {
        let mut levels = vec![0; self.names.len()];
        for node in self.topological_order()? {
            levels[node.0] = self.reads[node.0].iter().map(|read| levels[read.0] + 1).max().unwrap_or(0);
        }
        Ok(levels)
    }

    /// What the nodes depend on, themselves too, with the number of edges between; in the order of
    /// that number. `max_depth` is the largest; `None` is no limit.
    pub fn upstream(&self, nodes: &[NodeId], max_depth: Option<usize>) -> Vec<(NodeId, usize)> {
        walk(nodes, max_depth, &self.reads)
    }

    /// What depends on the nodes, as [`upstream`](Self::upstream).
    pub fn downstream(&self, nodes: &[NodeId], max_depth: Option<usize>) -> Vec<(NodeId, usize)> {
        walk(nodes, max_depth, &self.readers)
    }
}

fn walk(nodes: &[NodeId], max_depth: Option<usize>, next: &[Vec<NodeId>]) -> Vec<(NodeId, usize)> {
    let mut is_seen = vec![false; next.len()];
    let mut found = Vec::new();
    let mut open: VecDeque<(NodeId, usize)> = nodes.iter().map(|node| (*node, 0)).collect();
    while let Some((node, depth)) = open.pop_front() {
        if std::mem::replace(&mut is_seen[node.0], true) {
            continue;
        }
        found.push((node, depth));
        if max_depth.is_none_or(|max_depth| depth < max_depth) {
            open.extend(next[node.0].iter().map(|node| (*node, depth + 1)));
        }
    }
    found
}

/// Datasets that read each other in a circle: each is read by the next, the last by the first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cycle {
    nodes: Vec<NodeId>,
}

impl Cycle {
    /// The nodes; one node that reads itself is a cycle too.
    pub fn nodes(&self) -> &[NodeId] {
        &self.nodes
    }

    /// The cycle as a path, `a → b → a`.
    pub fn path<'a>(&'a self, topology: &'a Topology) -> CyclePath<'a> {
        CyclePath { cycle: self, topology }
    }
}

/// A cycle with its names, for messages.
#[derive(Clone, Copy, Debug)]
pub struct CyclePath<'a> {
    cycle: &'a Cycle,
    topology: &'a Topology,
}

impl fmt::Display for CyclePath<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for node in &self.cycle.nodes {
            write!(f, "{} → ", self.topology.name(*node))?;
        }
        f.write_str(self.cycle.nodes.first().map_or("", |node| self.topology.name(*node)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn topology(edges: &[(&str, &str)]) -> Topology {
        let mut topology = Topology::default();
        for (read, reader) in edges {
            let (read, reader) = (topology.add_node(*read), topology.add_node(*reader));
            topology.add_edge(read, reader);
        }
        topology
    }

    fn names(topology: &Topology, nodes: &[NodeId]) -> String {
        nodes.iter().map(|node| topology.name(*node)).collect::<Vec<_>>().join(" ")
    }

    #[test]
    fn order_levels_and_closures() {
        let topology = topology(&[("a", "c"), ("b", "c"), ("c", "d"), ("a", "d"), ("d", "e"), ("a", "c")]);
        assert_eq!(topology.n_edges(), 5);
        assert_eq!(names(&topology, &topology.topological_order().unwrap()), "a b c d e");
        // The order of nodes is a, c, b, d, e: that in which they were named.
        assert_eq!(topology.levels().unwrap(), [0, 1, 0, 2, 3]);
        let of = |name: &str| [topology.node(name).unwrap()];
        let told = |found: Vec<(NodeId, usize)>| {
            found.iter().map(|(node, depth)| format!("{}{depth}", topology.name(*node))).collect::<Vec<_>>().join(" ")
        };
        assert_eq!(told(topology.upstream(&of("d"), None)), "d0 c1 a1 b2");
        assert_eq!(told(topology.upstream(&of("d"), Some(1))), "d0 c1 a1");
        assert_eq!(told(topology.downstream(&of("a"), None)), "a0 c1 d1 e2");
        assert_eq!(told(topology.downstream(&of("e"), None)), "e0");
    }

    #[test]
    fn a_cycle_is_told_as_a_path() {
        for (edges, path) in [
            (vec![("x", "a"), ("a", "b"), ("b", "c"), ("c", "a"), ("c", "y")], "a → b → c → a"),
            (vec![("a", "a")], "a → a"),
            (vec![("a", "b"), ("b", "a"), ("b", "c")], "a → b → a"),
        ] {
            let topology = topology(&edges);
            assert_eq!(topology.topological_order().unwrap_err().path(&topology).to_string(), path);
            assert!(topology.levels().is_err());
        }
    }

    /// A chain as long as this would overflow a stack.
    #[test]
    fn a_hundred_thousand_nodes_are_no_problem() {
        let mut topology = Topology::default();
        let nodes: Vec<NodeId> = (0..100_000).map(|n| topology.add_node(n.to_string())).collect();
        for pair in nodes.windows(2) {
            topology.add_edge(pair[0], pair[1]);
        }
        for node in &nodes[1..] {
            topology.add_edge(nodes[0], *node);
        }
        assert_eq!(topology.topological_order().unwrap(), nodes);
        assert_eq!(topology.levels().unwrap().last(), Some(&99_999));
        assert_eq!(topology.downstream(&nodes[..1], None).len(), 100_000);
        topology.add_edge(nodes[99_999], nodes[0]);
        assert!(topology.topological_order().is_err());
    }

    proptest! {
        /// An order has each node after what it reads; a cycle is a cycle.
        #[test]
        fn any_graph_has_an_order_or_a_cycle(edges in proptest::collection::vec((0_u8..12, 0_u8..12), 0..30)) {
            let mut topology = Topology::default();
            for (read, reader) in edges {
                let (read, reader) = (topology.add_node(read.to_string()), topology.add_node(reader.to_string()));
                topology.add_edge(read, reader);
            }
            match topology.topological_order() {
                Ok(order) => {
                    let place = |node: &NodeId| order.iter().position(|other| other == node).unwrap();
                    for node in topology.nodes() {
                        prop_assert!(topology.reads(node).iter().all(|read| place(read) < place(&node)));
                    }
                }
                Err(cycle) => {
                    let nodes = cycle.nodes();
                    prop_assert!(!nodes.is_empty());
                    for (index, node) in nodes.iter().enumerate() {
                        let next = nodes[(index + 1) % nodes.len()];
                        prop_assert!(topology.readers(*node).contains(&next));
                    }
                }
            }
        }
    }
}
