//! The same arrangement in rows and columns, for a terminal.

use super::LayoutGraph;
use super::component::split;
use super::place::{Room, middles};

/// A graph in the cells of a table. Each node has a cell of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct TextColumns {
    /// How many columns there are.
    pub n_columns: usize,
    /// How many rows there are.
    pub n_rows: usize,
    /// The cell of each node, in the order of the graph's nodes.
    pub cells: Vec<Cell>,
    /// For each edge of the graph, whether it does not go to the right: it closes a circle.
    pub is_back: Vec<bool>,
}

/// A cell.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Cell {
    /// Its column, from the left.
    pub column: usize,
    /// Its row, from the top.
    pub row: usize,
}

/// Arranges a graph in rows and columns; sizes do not count. Parts that are not connected stand
/// below each other in the order of their first nodes.
pub fn text_columns(graph: &LayoutGraph) -> TextColumns {
    let n_edges = graph.edges.len();
    let cells = vec![Cell::default(); graph.nodes.len()];
    let mut table = TextColumns { cells, is_back: vec![false; n_edges], ..TextColumns::default() };
    for part in split(graph) {
        let arranged = part.arrange(graph);
        let items = &arranged.items;
        // A bend takes no row: a terminal has few.
        let height = |item: usize| if items.is_bend(item) { 0.0 } else { 1.0 };
        let middle = middles(items, &Room { height: &height, gap: &|_, _| 0.0 });
        let highest = middle[..items.n_nodes].iter().copied().fold(f64::INFINITY, f64::min);
        let mut n_rows = 0;
        for (column, items_of_column) in items.columns.iter().enumerate() {
            let mut free = 0;
            for item in items_of_column.iter().filter(|item| !items.is_bend(**item)) {
                let row = rounded(middle[*item] - highest).max(free);
                table.cells[part.nodes[*item]] = Cell { column, row: table.n_rows + row };
                free = row + 1;
            }
            n_rows = n_rows.max(free);
        }
        for (edge, drawn) in &part.drawn {
            table.is_back[*edge] = drawn.is_none_or(|drawn| arranged.is_back[drawn]);
        }
        table.n_rows += n_rows;
        table.n_columns = table.n_columns.max(items.columns.len());
    }
    table
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "rows are few and counted from zero")]
fn rounded(row: f64) -> usize {
    row.max(0.0).round() as usize
}
