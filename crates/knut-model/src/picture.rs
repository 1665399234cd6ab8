//! A graph as it is drawn: nodes with a name and a kind, edges from what is read to what reads it.
//!
//! A [`Picture`] is what a graph built in Rust and a project read from files have in common. It can
//! be cut down to the surroundings of a dataset, compared with another one, and written as text,
//! DOT or Mermaid. Names are escaped in each, so that none can break out of its label.

mod diff;
mod dot;
mod mermaid;
mod text;

use std::collections::BTreeSet;

pub use diff::{Change, PictureDiff};
pub use mermaid::TooLarge;

use crate::{DataflowGraph, DatasetKind, Query, SourceLocation, Topology};

/// A graph as it is drawn.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Picture {
    /// The nodes, in the order they were defined.
    pub nodes: Vec<PictureNode>,
    /// The edges; their ends are names of nodes.
    pub edges: Vec<PictureEdge>,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PictureNode {
    /// Its name, which no other node has.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// What it is drawn together with, such as its schema or file; `None` stands alone.
    pub group: Option<String>,
    /// Where it was defined; `None` when unknown or not in the project.
    pub source_location: Option<SourceLocation>,
}

/// What a node is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum NodeKind {
    /// A dataset of the graph.
    Dataset(DatasetKind),
    /// A table or view that the graph reads and does not define.
    External,
}

impl std::fmt::Display for NodeKind {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Dataset(kind) => kind.fmt(f),
            Self::External => f.write_str("external"),
        }
    }
}

/// That one node reads another.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct PictureEdge {
    /// What is read.
    pub from: String,
    /// What reads it.
    pub to: String,
    /// Whether it is read as a stream.
    pub streaming: bool,
    /// Whether this is a guess: the query could not be read in full.
    pub inferred: bool,
}

impl Picture {
    /// The picture of a graph built in Rust: its edges are what its flows say they read. SQL is
    /// not looked into here; `knut-project` does that.
    pub fn of(graph: &DataflowGraph) -> Self {
        let key = |name: &crate::Identifier| name.key(graph.default_catalog(), graph.default_database());
        let mut picture = Self::default();
        let mut by_key = std::collections::BTreeMap::new();
        for dataset in graph.datasets() {
            let name = dataset.name.to_string();
            by_key.insert(key(&dataset.name), name.clone());
            picture.nodes.push(PictureNode {
                name,
                kind: NodeKind::Dataset(dataset.kind),
                group: None,
                source_location: dataset.source_location.clone(),
            });
        }
        let mut edges = BTreeSet::new();
        for flow in graph.flows() {
            let said = flow.reads.iter().map(|read| (read.clone(), false));
            let own = match &flow.query {
                Query::Table { name, streaming } => Some((name.clone(), *streaming)),
                Query::AutoCdc(cdc) => crate::Identifier::parse(&cdc.source).ok().map(|source| (source, true)),
                _ => None,
            };
            let to = by_key.get(&key(&flow.target)).cloned().unwrap_or_else(|| flow.target.to_string());
            for (read, streaming) in said.chain(own) {
                let from = by_key.entry(key(&read)).or_insert_with(|| {
                    let name = read.to_string();
                    let kind = NodeKind::External;
                    picture.nodes.push(PictureNode { name: name.clone(), kind, group: None, source_location: None });
                    name
                });
                edges.insert(PictureEdge { from: from.clone(), to: to.clone(), streaming, inferred: false });
            }
        }
        picture.edges = edges.into_iter().collect();
        picture
    }

    /// The nodes and edges alone, for the algorithms on them. Its nodes come in the picture's order.
    pub fn topology(&self) -> Topology {
        let mut topology = Topology::default();
        for node in &self.nodes {
            topology.add_node(node.name.as_str());
        }
        for edge in &self.edges {
            let (from, to) = (topology.add_node(edge.from.as_str()), topology.add_node(edge.to.as_str()));
            topology.add_edge(from, to);
        }
        topology
    }

    /// What is at most `up` edges upstream and `down` edges downstream of a node; `None` for a
    /// number is no limit. `None` when there is no node of that name.
    pub fn focus(&self, name: &str, up: Option<usize>, down: Option<usize>) -> Option<Self> {
        let topology = self.topology();
        let node = [topology.node(name)?];
        let near = topology.upstream(&node, up).into_iter().chain(topology.downstream(&node, down));
        let near: BTreeSet<&str> = near.map(|(node, _)| topology.name(node)).collect();
        let is_near = |name: &String| near.contains(name.as_str());
        Some(Self {
            nodes: self.nodes.iter().filter(|node| is_near(&node.name)).cloned().collect(),
            edges: self.edges.iter().filter(|edge| is_near(&edge.from) && is_near(&edge.to)).cloned().collect(),
        })
    }

    /// The groups in the order of their first node; one of them has no name.
    fn by_group(&self) -> Vec<Group<'_>> {
        let mut groups: Vec<Group<'_>> = Vec::new();
        let mut places = std::collections::BTreeMap::new();
        for (place, node) in self.nodes.iter().enumerate() {
            let name = node.group.as_deref();
            let index = *places.entry(name).or_insert_with(|| {
                groups.push(Group { name, nodes: Vec::new() });
                groups.len() - 1
            });
            groups[index].nodes.push((place, node));
        }
        groups
    }

    /// Each edge with the places of its ends; edges of unknown nodes are left out.
    fn edges_by_place(&self) -> Vec<(usize, usize, &PictureEdge)> {
        let places: std::collections::BTreeMap<&str, usize> =
            self.nodes.iter().enumerate().map(|(index, node)| (node.name.as_str(), index)).collect();
        let place = |name: &String| places.get(name.as_str()).copied();
        self.edges.iter().filter_map(|edge| Some((place(&edge.from)?, place(&edge.to)?, edge))).collect()
    }
}

/// Nodes that are drawn together, each with its place in [`Picture::nodes`].
struct Group<'a> {
    name: Option<&'a str>,
    nodes: Vec<(usize, &'a PictureNode)>,
}

#[cfg(test)]
mod tests;
