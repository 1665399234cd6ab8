//! Which datasets a run updates.

use crate::Identifier;

/// Which datasets a run updates, and which of them it rebuilds from nothing.
///
/// A selection runs only the flows into the named datasets, never what is up- or downstream of
/// them. Source: Spark 4.3, `StartRun.refresh_selection` and `full_refresh_selection`.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum RefreshSelection {
    /// Update everything; streaming tables go on from their checkpoints.
    #[default]
    All,
    /// Reset and recompute everything. Tables with `pipelines.reset.allowed=false` are only updated.
    FullAll,
    /// Update only these datasets. [`RefreshSelection::only`] makes it.
    #[non_exhaustive]
    Only {
        /// Datasets to update.
        refresh: Vec<Identifier>,
        /// Datasets to reset and recompute.
        full_refresh: Vec<Identifier>,
    },
}

impl RefreshSelection {
    /// Updates only `refresh`, and only `full_refresh` from nothing. `None` when both are empty:
    /// the server would take that for everything.
    pub fn only(refresh: Vec<Identifier>, full_refresh: Vec<Identifier>) -> Option<Self> {
        let is_empty = refresh.is_empty() && full_refresh.is_empty();
        (!is_empty).then_some(Self::Only { refresh, full_refresh })
    }
}
