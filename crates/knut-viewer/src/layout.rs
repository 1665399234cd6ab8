//! Where the nodes of a graph stand when it is drawn, and which way its edges go.
//!
//! The data goes from left to right: nodes stand in columns, each to the right of all that it
//! reads, in an order within its column that lets few edges cross. The work is linear but for the
//! sorting, without recursion, and the same input always gives the same picture.
//!
//! What keeps still: what a node's status is, is no input. Parts that are not connected are laid
//! out each for itself, so that one that grows leaves the others as they are and at most moves
//! them as a whole. The order of the edges means nothing; that of the nodes decides where the
//! edges leave a choice.
//!
//! It knows sizes and indexes only, no terminal and no page; lengths are in the caller's unit,
//! such as pixels.

mod columns;
mod component;
mod cycles;
mod items;
mod layers;
mod order;
mod pack;
mod place;
mod window;

pub use columns::{Cell, TextColumns, text_columns};
pub use window::window;

/// A graph to lay out. Indexes in it are positions in [`nodes`](Self::nodes).
#[derive(Clone, Debug, Default, PartialEq)]
pub struct LayoutGraph {
    /// The nodes.
    pub nodes: Vec<LayoutNode>,
    /// The edges, from what is read to what reads it. One whose end does not exist is not drawn.
    pub edges: Vec<(usize, usize)>,
}

/// A node's size and group.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct LayoutNode {
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
    /// What it is kept together with: nodes with one number stand in one box, which no other node
    /// enters. `None` stands alone.
    pub group: Option<usize>,
}

/// The distances of a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayoutOptions {
    /// Between columns.
    pub column_gap: f64,
    /// Between nodes of a column.
    pub node_gap: f64,
    /// Between a group's box and its nodes; less than half of `column_gap`.
    pub group_padding: f64,
    /// What a group's box has above its nodes besides, for its name.
    pub group_title: f64,
    /// Between parts that are not connected.
    pub component_gap: f64,
    /// How many times as wide as high the whole should be, as far as its parts allow.
    pub aspect: f64,
}

impl Default for LayoutOptions {
    fn default() -> Self {
        Self {
            column_gap: 56.0,
            node_gap: 18.0,
            group_padding: 12.0,
            group_title: 18.0,
            component_gap: 32.0,
            aspect: 1.6,
        }
    }
}

/// A point.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Point {
    /// From the left.
    pub x: f64,
    /// From the top.
    pub y: f64,
}

/// A rectangle.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Rect {
    /// Its left edge.
    pub x: f64,
    /// Its upper edge.
    pub y: f64,
    /// Its width.
    pub width: f64,
    /// Its height.
    pub height: f64,
}

/// A graph that is laid out. All of it lies at or right of and below zero.
#[derive(Clone, Debug, Default, PartialEq)]
#[non_exhaustive]
pub struct Layout {
    /// How wide it is.
    pub width: f64,
    /// How high it is.
    pub height: f64,
    /// Where each node stands, in the order of the graph's nodes.
    pub nodes: Vec<NodePlace>,
    /// Which way each edge goes, in the order of the graph's edges.
    pub edges: Vec<EdgeRoute>,
    /// The box of each group, by its number.
    pub groups: Vec<(usize, Rect)>,
}

/// Where a node stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct NodePlace {
    /// The node's rectangle.
    pub rect: Rect,
    /// Its column, counted from 0 in each connected part.
    pub column: usize,
}

/// Which way an edge goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeRoute {
    /// The corners of a line from the node that is read to the one that reads it; empty if the
    /// edge has an end that does not exist.
    pub points: Vec<Point>,
    /// Whether it goes backwards, or to its own node: it closes a circle.
    pub is_back: bool,
}

/// Lays a graph out.
pub fn layout(graph: &LayoutGraph, options: &LayoutOptions) -> Layout {
    let parts = component::split(graph);
    let laid_out: Vec<component::Placed> = parts.iter().map(|part| part.lay_out(graph, options)).collect();
    pack::pack(graph, &parts, &laid_out, options)
}

/// A count as a length; counts that large do not fit into memory anyway.
fn number(n: usize) -> f64 {
    u32::try_from(n).map_or(f64::from(u32::MAX), f64::from)
}

#[cfg(test)]
mod tests;
