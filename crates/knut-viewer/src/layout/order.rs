//! In which order items stand in their columns, so that few edges cross.

use super::items::Items;
use super::number;

/// How often the columns are sorted at most.
const MAX_SWEEPS: usize = 24;
/// How often without fewer crossings than before.
const MAX_STALE_SWEEPS: usize = 4;

/// Sorts the columns by where the neighbours of their items stand, from left to right and back,
/// and keeps the order with the fewest crossings. Items of a lower lane come first.
pub(super) fn order(items: &mut Items, lane: &[usize]) {
    let mut work = Work { place: vec![0; items.layer.len()], ..Work::default() };
    for column in &mut items.columns {
        column.sort_by_key(|item| lane[*item]);
    }
    work.take_places(items);
    let mut fewest = work.crossings(items);
    let mut best = items.columns.clone();
    let mut n_stale = 0;
    for sweep in 0..MAX_SWEEPS {
        if fewest == 0 || n_stale == MAX_STALE_SWEEPS {
            break;
        }
        work.sweep(items, lane, sweep % 2 == 0);
        let crossings = work.crossings(items);
        if crossings < fewest {
            fewest = crossings;
            best.clone_from(&items.columns);
            n_stale = 0;
        } else {
            n_stale += 1;
        }
    }
    items.columns = best;
}

#[derive(Default)]
struct Work {
    /// Where each item stands in its column.
    place: Vec<usize>,
    /// Items with what they are sorted by.
    keyed: Vec<(usize, f64, usize)>,
    /// A tree of counts, for the crossings.
    tree: Vec<usize>,
    ends: Vec<usize>,
}

impl Work {
    fn take_places(&mut self, items: &Items) {
        for column in &items.columns {
            for (place, item) in column.iter().enumerate() {
                self.place[*item] = place;
            }
        }
    }

    fn sweep(&mut self, items: &mut Items, lane: &[usize], is_rightwards: bool) {
        let n_columns = items.columns.len();
        for step in 1..n_columns {
            let (index, before) =
                if is_rightwards { (step, step - 1) } else { (n_columns - 1 - step, n_columns - step) };
            let mut column = std::mem::take(&mut items.columns[index]);
            let scale = number(items.columns[before].len()) / number(column.len().max(1));
            let neighbours = if is_rightwards { &items.left } else { &items.right };
            self.keyed.clear();
            for (place, item) in column.iter().enumerate() {
                let of_item = neighbours.of(*item);
                let middle = if of_item.is_empty() {
                    number(place) * scale
                } else {
                    number(of_item.iter().map(|other| self.place[*other]).sum()) / number(of_item.len())
                };
                self.keyed.push((lane[*item], middle, *item));
            }
            self.keyed.sort_by(|(lane_a, a, _), (lane_b, b, _)| lane_a.cmp(lane_b).then(a.total_cmp(b)));
            for (place, (_, _, item)) in self.keyed.iter().enumerate() {
                column[place] = *item;
                self.place[*item] = place;
            }
            items.columns[index] = column;
        }
    }

    fn crossings(&mut self, items: &Items) -> usize {
        let mut n = 0;
        for (index, column) in items.columns.iter().enumerate() {
            let n_right = items.columns.get(index + 1).map_or(0, Vec::len);
            self.tree.clear();
            self.tree.resize(n_right + 1, 0);
            let mut n_before = 0;
            for item in column {
                self.ends.clear();
                self.ends.extend(items.right.of(*item).iter().map(|other| self.place[*other]));
                self.ends.sort_unstable();
                // Edges of one item do not cross each other: all are counted before any is added.
                for end in &self.ends {
                    n += n_before - self.sum_to(*end);
                }
                for index in 0..self.ends.len() {
                    self.add(self.ends[index]);
                    n_before += 1;
                }
            }
        }
        n
    }

    /// How many ends stand at or above `end`.
    fn sum_to(&self, end: usize) -> usize {
        let (mut index, mut sum) = (end + 1, 0);
        while index > 0 {
            sum += self.tree[index];
            index &= index - 1;
        }
        sum
    }

    fn add(&mut self, end: usize) {
        let mut index = end + 1;
        while index < self.tree.len() {
            self.tree[index] += 1;
            index += index & index.wrapping_neg();
        }
    }
}
