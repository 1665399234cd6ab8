//! What changed between two pictures.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

use super::{Mark, Picture, PictureEdge, PictureNode};

/// One change.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Change {
    /// A node is new.
    NodeAdded(PictureNode),
    /// A node is gone.
    NodeRemoved(PictureNode),
    /// A node has another kind or another definition.
    NodeChanged {
        /// As it was.
        before: PictureNode,
        /// As it is.
        after: PictureNode,
    },
    /// An edge is new.
    EdgeAdded(PictureEdge),
    /// An edge is gone.
    EdgeRemoved(PictureEdge),
}

/// The changes from one picture to another: nodes before edges, each by name.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct PictureDiff {
    changes: Vec<Change>,
}

impl PictureDiff {
    /// The changes; empty when both are the same. That a node moved, in its file or to another one,
    /// is none.
    pub fn changes(&self) -> &[Change] {
        &self.changes
    }

    /// The changes of nodes and edges that a picture has.
    #[must_use]
    pub fn within(&self, picture: &Picture) -> Self {
        let names: BTreeSet<&str> = picture.nodes.iter().map(|node| node.name.as_str()).collect();
        let has = |change: &&Change| match change {
            Change::NodeAdded(node) | Change::NodeRemoved(node) | Change::NodeChanged { after: node, .. } => {
                names.contains(node.name.as_str())
            }
            Change::EdgeAdded(edge) | Change::EdgeRemoved(edge) => {
                names.contains(edge.from.as_str()) && names.contains(edge.to.as_str())
            }
        };
        Self { changes: self.changes.iter().filter(has).cloned().collect() }
    }
}

impl Picture {
    /// What changed since `before`.
    pub fn diff(&self, before: &Self) -> PictureDiff {
        let by_name = |picture: &Self| -> BTreeMap<String, PictureNode> {
            picture.nodes.iter().map(|node| (node.name.clone(), node.clone())).collect()
        };
        let (old, new) = (by_name(before), by_name(self));
        let names: BTreeSet<&String> = old.keys().chain(new.keys()).collect();
        let node = |name: &String| match (old.get(name), new.get(name)) {
            (None, Some(after)) => Some(Change::NodeAdded(after.clone())),
            (Some(before), None) => Some(Change::NodeRemoved(before.clone())),
            (Some(before), Some(after)) if is_changed(before, after) => {
                Some(Change::NodeChanged { before: before.clone(), after: after.clone() })
            }
            _ => None,
        };
        let (old, new) = (set_of(before), set_of(self));
        let removed = old.difference(&new).map(|edge| Change::EdgeRemoved(edge.clone()));
        let added = new.difference(&old).map(|edge| Change::EdgeAdded(edge.clone()));
        PictureDiff { changes: names.into_iter().filter_map(node).chain(removed).chain(added).collect() }
    }

    /// This picture with what is gone since `before`, and marks on all that changed.
    #[must_use]
    pub fn marked_since(&self, before: &Self) -> Self {
        let mut marked = self.clone();
        let mut nodes: BTreeMap<String, Mark> = BTreeMap::new();
        let mut edges: BTreeSet<PictureEdge> = BTreeSet::new();
        for change in self.diff(before).changes {
            match change {
                Change::NodeAdded(node) => _ = nodes.insert(node.name, Mark::Added),
                Change::NodeChanged { after, .. } => _ = nodes.insert(after.name, Mark::Changed),
                Change::NodeRemoved(node) => marked.nodes.push(PictureNode { mark: Some(Mark::Removed), ..node }),
                Change::EdgeAdded(edge) => _ = edges.insert(edge),
                Change::EdgeRemoved(edge) => marked.edges.push(PictureEdge { mark: Some(Mark::Removed), ..edge }),
            }
        }
        for node in &mut marked.nodes {
            node.mark = nodes.get(&node.name).copied().or(node.mark);
        }
        for edge in &mut marked.edges {
            let plain = PictureEdge { inferred: false, mark: None, ..edge.clone() };
            if edges.contains(&plain) {
                edge.mark = Some(Mark::Added);
            }
        }
        marked
    }
}

/// A definition that is unknown on one side is no change: nothing is known of it.
fn is_changed(before: &PictureNode, after: &PictureNode) -> bool {
    let definitions = before.definition.as_ref().zip(after.definition.as_ref());
    before.kind != after.kind || definitions.is_some_and(|(before, after)| before != after)
}

/// The edges without marks, and whether they are guesses: that a guess became sure is no change.
fn set_of(picture: &Picture) -> BTreeSet<PictureEdge> {
    picture.edges.iter().map(|edge| PictureEdge { inferred: false, mark: None, ..edge.clone() }).collect()
}

/// One line for each change, `+` for what is new, `-` for what is gone, `~` for what changed.
impl fmt::Display for PictureDiff {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for change in &self.changes {
            match change {
                Change::NodeAdded(node) => writeln!(f, "+ {} ({})", node.name.escape_debug(), node.kind)?,
                Change::NodeRemoved(node) => writeln!(f, "- {} ({})", node.name.escape_debug(), node.kind)?,
                Change::NodeChanged { before, after } => {
                    let name = after.name.escape_debug();
                    if before.kind == after.kind {
                        writeln!(f, "~ {name} ({}, defined otherwise)", after.kind)?;
                    } else {
                        writeln!(f, "~ {name} ({}, was {})", after.kind, before.kind)?;
                    }
                }
                Change::EdgeAdded(edge) => writeln!(f, "+ {}", shown(edge))?,
                Change::EdgeRemoved(edge) => writeln!(f, "- {}", shown(edge))?,
            }
        }
        Ok(())
    }
}

fn shown(edge: &PictureEdge) -> String {
    let streaming = if edge.streaming { " (stream)" } else { "" };
    format!("{} -> {}{streaming}", edge.from.escape_debug(), edge.to.escape_debug())
}
