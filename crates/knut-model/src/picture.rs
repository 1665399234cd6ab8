//! A graph as it is drawn: nodes with a name and a kind, edges from what is read to what reads it.
//!
//! A [`Picture`] is what a graph built in Rust and a project read from files have in common. It can
//! be cut down to the surroundings of a dataset, grouped, marked, compared with another one, and
//! written as text, DOT or Mermaid. Names are escaped in each, so that none can break out of its label.

mod diff;
mod dot;
mod mark;
mod mermaid;
mod text;

use std::collections::BTreeSet;

pub use diff::{Change, PictureDiff};
pub use mark::Mark;
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
#[non_exhaustive]
pub struct PictureNode {
    /// Its name, which no other node has.
    pub name: String,
    /// What it is.
    pub kind: NodeKind,
    /// What it is drawn together with, such as its schema or file; `None` stands alone. See
    /// [`Picture::group_by`].
    pub group: Option<String>,
    /// Its catalog and database, as far as they are known, with a dot between; `None` for what has
    /// none, such as temporary views.
    pub schema: Option<String>,
    /// Where it was defined; `None` when unknown or not in the project.
    pub source_location: Option<SourceLocation>,
    /// What defines it, as a text that differs when the definition does; `None` when unknown.
    pub definition: Option<String>,
    /// What stands out about it; `None` is nothing.
    pub mark: Option<Mark>,
}

impl PictureNode {
    /// A node of which nothing else is known.
    pub fn new(name: impl Into<String>, kind: NodeKind) -> Self {
        let name = name.into();
        Self { name, kind, group: None, schema: None, source_location: None, definition: None, mark: None }
    }
}

/// What nodes are drawn together by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Grouping {
    /// Each stands alone.
    None,
    /// The file that defines them.
    File,
    /// Their catalog and database.
    Schema,
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
    /// What stands out about it; `None` is nothing.
    pub mark: Option<Mark>,
}

/// One thing that a flow reads.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FlowRead {
    /// Its name.
    pub name: crate::Identifier,
    /// Whether as a stream.
    pub streaming: bool,
    /// Whether this is a guess.
    pub inferred: bool,
}

impl FlowRead {
    /// What a query reads that is not SQL; `None` for SQL and for data sources.
    pub(crate) fn of_query(query: &Query) -> Option<Self> {
        let (name, streaming) = match query {
            Query::Table { name, streaming } => (name.clone(), *streaming),
            Query::AutoCdc(cdc) => (crate::Identifier::parse(&cdc.source).ok()?, true),
            _ => return None,
        };
        Some(Self { name, streaming, inferred: false })
    }
}

impl Picture {
    /// The picture of a graph built in Rust: its edges are what its flows say they read. SQL is
    /// not looked into here; `knut-project` does that.
    pub fn of(graph: &DataflowGraph) -> Self {
        Self::with_reads(graph, |_| Vec::new())
    }

    /// As [`Picture::of`], with what `found` knows of a flow's reads besides. It has the last word:
    /// what a flow only says it reads cannot tell a stream.
    pub fn with_reads(graph: &DataflowGraph, found: impl Fn(&crate::Flow) -> Vec<FlowRead>) -> Self {
        let key = |name: &crate::Identifier| name.key(graph.default_catalog(), graph.default_database());
        let mut picture = Self::default();
        let mut by_key = std::collections::BTreeMap::new();
        let mut flows_into: std::collections::BTreeMap<_, Vec<&crate::Flow>> = std::collections::BTreeMap::new();
        for flow in graph.flows() {
            flows_into.entry(key(&flow.target)).or_default().push(flow);
        }
        for dataset in graph.datasets() {
            let name = dataset.name.to_string();
            let flows = flows_into.get(&key(&dataset.name)).map_or(&[][..], Vec::as_slice);
            by_key.insert(key(&dataset.name), name.clone());
            picture.nodes.push(PictureNode {
                schema: schema(graph, dataset),
                source_location: dataset.source_location.clone(),
                definition: Some(definition(dataset, flows)),
                ..PictureNode::new(name, NodeKind::Dataset(dataset.kind))
            });
        }
        let mut edges: std::collections::BTreeMap<(String, String, bool), bool> = std::collections::BTreeMap::new();
        for flow in graph.flows() {
            let mut reads = found(flow);
            reads.extend(FlowRead::of_query(&flow.query));
            let known: BTreeSet<_> = reads.iter().map(|read| key(&read.name)).collect();
            let said = flow.reads.iter().filter(|read| !known.contains(&key(read)));
            reads.extend(said.map(|name| FlowRead { name: name.clone(), streaming: false, inferred: false }));
            let to = by_key.get(&key(&flow.target)).cloned().unwrap_or_else(|| flow.target.to_string());
            for FlowRead { name: read, streaming, inferred } in reads {
                let from = by_key.entry(key(&read)).or_insert_with(|| {
                    let node = PictureNode::new(read.to_string(), NodeKind::External);
                    picture.nodes.push(node);
                    read.to_string()
                });
                // Read twice, it counts as sure if one of the reads is.
                *edges.entry((from.clone(), to.clone(), streaming)).or_insert(true) &= inferred;
            }
        }
        let edge = |((from, to, streaming), inferred)| PictureEdge { from, to, streaming, inferred, mark: None };
        picture.edges = edges.into_iter().map(edge).collect();
        picture
    }

    /// Groups the nodes. What does not have what they are grouped by stands alone.
    #[must_use]
    pub fn group_by(mut self, grouping: Grouping) -> Self {
        for node in &mut self.nodes {
            node.group = match grouping {
                Grouping::None => None,
                Grouping::File => node.source_location.as_ref().map(|at| at.file.clone()),
                Grouping::Schema => node.schema.clone(),
            };
        }
        self
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

/// The catalog and database of a dataset, as far as they are known.
fn schema(graph: &DataflowGraph, dataset: &crate::Dataset) -> Option<String> {
    if matches!(dataset.kind, DatasetKind::TemporaryView | DatasetKind::Sink) {
        return None;
    }
    let parts = dataset.name.parts();
    let defaults = [graph.default_catalog(), graph.default_database()];
    let known = defaults.into_iter().take(3_usize.saturating_sub(parts.len())).flatten();
    let outer = parts.iter().take(parts.len().saturating_sub(1)).map(String::as_str);
    let schema = crate::Identifier::from_parts(known.chain(outer));
    schema.ok().map(|schema| schema.to_string())
}

/// What defines a dataset: itself and its flows, without their places.
fn definition(dataset: &crate::Dataset, flows: &[&crate::Flow]) -> String {
    let own = crate::Dataset { source_location: None, ..dataset.clone() };
    let flows = flows.iter().map(|flow| crate::Flow { source_location: None, ..(*flow).clone() });
    format!("{own:?} {:?}", flows.collect::<Vec<_>>())
}

/// Nodes that are drawn together, each with its place in [`Picture::nodes`].
struct Group<'a> {
    name: Option<&'a str>,
    nodes: Vec<(usize, &'a PictureNode)>,
}

#[cfg(test)]
mod tests;
