//! How far down items stand: as near to their neighbours as their order allows.

use super::items::Items;

/// How often the columns are moved.
const N_SWEEPS: usize = 10;

/// What stands where and how much room it needs.
pub(super) struct Room<'a> {
    /// The height of an item.
    pub(super) height: &'a dyn Fn(usize) -> f64,
    /// What must be between two that stand one above the other, besides their heights.
    pub(super) gap: &'a dyn Fn(usize, usize) -> f64,
}

/// The middle of each item, from the top.
pub(super) fn middles(items: &Items, room: &Room<'_>) -> Vec<f64> {
    let mut middle = vec![0.0; items.layer.len()];
    // Where each item would stand if all before it in its column stood as high as they can.
    let mut packed = vec![0.0; items.layer.len()];
    for column in &items.columns {
        let mut before: Option<usize> = None;
        for item in column {
            let half = (room.height)(*item) / 2.0;
            packed[*item] = match before {
                None => half,
                Some(above) => packed[above] + (room.height)(above) / 2.0 + (room.gap)(above, *item) + half,
            };
            middle[*item] = packed[*item];
            before = Some(*item);
        }
    }
    let n_columns = items.columns.len();
    let mut blocks = Vec::new();
    for sweep in 0..N_SWEEPS {
        // The last sweeps look to both sides, so that no side wins.
        let (left, right) = match sweep {
            sweep if sweep + 2 >= N_SWEEPS => (true, true),
            sweep => (sweep % 2 == 0, sweep % 2 == 1),
        };
        for step in 0..n_columns {
            let index = if right && !left { n_columns - 1 - step } else { step };
            blocks.clear();
            for item in &items.columns[index] {
                let (wanted, weight) = wanted(items, *item, &middle, left, right);
                push(&mut blocks, wanted - packed[*item], weight);
            }
            let mut rest = items.columns[index].iter();
            for block in &blocks {
                for item in rest.by_ref().take(block.n_items) {
                    middle[*item] = block.offset() + packed[*item];
                }
            }
        }
    }
    middle
}

/// Where an item would best stand, and how much that counts.
fn wanted(items: &Items, item: usize, middle: &[f64], left: bool, right: bool) -> (f64, f64) {
    let (mut sum, mut weights) = (0.0, 0.0);
    let sides = [(left, items.left.of(item)), (right, items.right.of(item))];
    for other in sides.into_iter().filter(|(counts, _)| *counts).flat_map(|(_, others)| others) {
        // Long edges should be straight.
        let weight = match (items.is_bend(item), items.is_bend(*other)) {
            (true, true) => 8.0,
            (true, false) | (false, true) => 2.0,
            (false, false) => 1.0,
        };
        sum += weight * middle[*other];
        weights += weight;
    }
    // Nothing pulls at it, so it only gives way.
    if weights > 0.0 { (sum / weights, weights) } else { (middle[item], 0.01) }
}

/// Items that touch and so move together.
struct Block {
    sum: f64,
    weight: f64,
    n_items: usize,
}

impl Block {
    fn offset(&self) -> f64 {
        self.sum / self.weight
    }
}

/// Adds an item below the others. Where it would have to stand above them, they share the way: the
/// sum of the squares of all ways is least (pool adjacent violators).
fn push(blocks: &mut Vec<Block>, offset: f64, weight: f64) {
    let mut block = Block { sum: offset * weight, weight, n_items: 1 };
    while let Some(above) = blocks.pop_if(|above| above.offset() >= block.offset()) {
        block.sum += above.sum;
        block.weight += above.weight;
        block.n_items += above.n_items;
    }
    blocks.push(block);
}
