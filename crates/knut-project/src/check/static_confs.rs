//! The confs that a running server lets nobody set.
//!
//! The list is what a Spark Connect server of Spark 4.3.0 refused, of all confs that it knows: static
//! ones and those of Spark's core. Most confs of cluster managers are no part of it, because a server
//! knows them only where it runs on one, and elsewhere takes no notice. `tests/conformance.rs` asks a real server again.

use crate::text::quoted;

const STATIC_CONFS: &str = include_str!("static_confs.txt");

/// What to do about one.
pub(super) const HELP: &str = "take it out and set it where the server is started; a dry run does not notice";

/// What is wrong with setting one.
pub(super) fn message(key: &str) -> String {
    format!("{} is fixed when the server starts: each flow that sets it fails in the run", quoted(key))
}

/// Whether a conf cannot be set. Upper and lower case count, as they do to Spark.
pub(super) fn is_static(key: &str) -> bool {
    STATIC_CONFS.lines().any(|known| known == key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_list_is_sorted_and_names_confs_only() {
        let confs: Vec<&str> = STATIC_CONFS.lines().collect();
        assert!(confs.len() > 500, "{}", confs.len());
        assert!(confs.windows(2).all(|pair| pair[0] < pair[1]));
        assert!(confs.iter().all(|conf| conf.starts_with("spark.") && !conf.contains(' ')));
        for conf in ["spark.sql.shuffle.partitions", "spark.default.parallelism", "spark.app.name", "spark.foo", ""] {
            assert!(!is_static(conf), "{conf}");
        }
    }
}
