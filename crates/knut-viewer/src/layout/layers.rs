//! Which column each node stands in.

/// The column of each node of a graph without circles: right of all that it reads, and as near to
/// its neighbours as that allows.
pub(super) fn layers(n_nodes: usize, edges: &[(usize, usize)]) -> Vec<usize> {
    let mut readers: Vec<Vec<usize>> = vec![Vec::new(); n_nodes];
    let mut n_reads = vec![0_usize; n_nodes];
    for (from, to) in edges {
        readers[*from].push(*to);
        n_reads[*to] += 1;
    }
    let mut layer = vec![0_usize; n_nodes];
    let mut missing = n_reads.clone();
    let mut order: Vec<usize> = (0..n_nodes).filter(|node| missing[*node] == 0).collect();
    let mut done = 0;
    while let Some(node) = order.get(done).copied() {
        done += 1;
        for to in &readers[node] {
            layer[*to] = layer[*to].max(layer[node] + 1);
            missing[*to] -= 1;
            if missing[*to] == 0 {
                order.push(*to);
            }
        }
    }
    // A node with more readers than reads makes its edges shorter by going to the right. Those
    // behind it have gone already.
    for node in order.iter().rev() {
        let furthest = readers[*node].iter().map(|to| layer[*to] - 1).min();
        if let Some(furthest) = furthest.filter(|_| readers[*node].len() > n_reads[*node]) {
            layer[*node] = furthest;
        }
    }
    let first = layer.iter().copied().min().unwrap_or(0);
    layer.into_iter().map(|layer| layer - first).collect()
}
