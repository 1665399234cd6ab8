//! "Did you mean": the known name nearest to one that nobody knows.

/// The candidate that `name` most likely stands for; `None` when none is near.
pub fn nearest<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let name: Vec<char> = name.to_lowercase().chars().collect();
    // A third of the letters may differ: more, and the hint misleads.
    let most = (name.len() / 3).max(1);
    // Nobody types a name this long by mistake, and the comparison is quadratic.
    if name.len() > 64 {
        return None;
    }
    let scored = candidates.into_iter().map(|candidate| {
        let letters: Vec<char> = candidate.to_lowercase().chars().collect();
        (distance(&name, &letters), candidate)
    });
    scored.filter(|(edits, _)| *edits <= most).min_by_key(|(edits, _)| *edits).map(|(_, candidate)| candidate)
}

/// How many letters must be added, dropped, changed or swapped with their neighbour.
fn distance(a: &[char], b: &[char]) -> usize {
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, to) in b.iter().enumerate() {
            let mut edits = (last[j] + usize::from(from != to)).min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && a[i - 1] == *to && *from == b[j - 1] {
                edits = edits.min(before_last[j - 1] + 1);
            }
            row.push(edits);
        }
        before_last = last;
        last = row;
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_near_name_is_suggested() {
        for (name, expected) in [
            ("storge", Some("storage")),
            ("Storage", Some("storage")),
            ("strogae", Some("storage")),
            ("libraires", Some("libraries")),
            ("naem", Some("name")),
            ("clusters", None),
            ("", None),
            ("x", None),
        ] {
            assert_eq!(nearest(name, ["name", "storage", "libraries"]), expected, "{name}");
        }
    }
}
