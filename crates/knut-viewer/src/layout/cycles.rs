//! Makes a graph free of circles by turning some of its edges around.

/// For each edge, whether it must be turned around. Edges are pairs of nodes below `n_nodes`.
///
/// A search from the nodes that read nothing, then from the others in their order, turns around
/// what leads back to where it came from.
pub(super) fn back_edges(n_nodes: usize, edges: &[(usize, usize)]) -> Vec<bool> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); n_nodes];
    let mut n_reads = vec![0_usize; n_nodes];
    for (index, (from, to)) in edges.iter().enumerate() {
        readers[*from].push(index);
        n_reads[*to] += 1;
    }
    let mut seen = vec![Seen::No; n_nodes];
    let mut is_back = vec![false; edges.len()];
    let starts = (0..n_nodes).filter(|node| n_reads[*node] == 0).chain(0..n_nodes);
    let mut path: Vec<(usize, usize)> = Vec::new();
    for start in starts.collect::<Vec<_>>() {
        if seen[start] != Seen::No {
            continue;
        }
        seen[start] = Seen::Open;
        path.push((start, 0));
        while let Some((node, next)) = path.last_mut() {
            let Some(edge) = readers[*node].get(*next) else {
                seen[*node] = Seen::Done;
                path.pop();
                continue;
            };
            *next += 1;
            let to = edges[*edge].1;
            match seen[to] {
                Seen::No => {
                    seen[to] = Seen::Open;
                    path.push((to, 0));
                }
                Seen::Open => is_back[*edge] = true,
                Seen::Done => {}
            }
        }
    }
    is_back
}

/// How far the search has come with a node.
#[derive(Clone, Copy, PartialEq)]
enum Seen {
    No,
    Open,
    Done,
}
