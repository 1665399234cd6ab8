//! What can stand out about a node or an edge: how it differs from before, or what a run does with it.

use std::fmt;

use super::{NodeKind, Picture};
use crate::{DatasetKind, PlannedAction, RunPlan};

/// What stands out about a node or an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[non_exhaustive]
pub enum Mark {
    /// It is new.
    Added,
    /// It is gone.
    Removed,
    /// It is defined in another way.
    Changed,
    /// The run updates it.
    Updated,
    /// The run empties it and computes it anew.
    FullyRefreshed,
    /// The run reads it as it is.
    ReadAsItIs,
    /// The run leaves it alone.
    LeftOut,
}

impl fmt::Display for Mark {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Updated => "update",
            Self::FullyRefreshed => "full refresh",
            Self::ReadAsItIs => "read as it is",
            Self::LeftOut => "left out",
        })
    }
}

impl Mark {
    /// The colours for it, of the edge and of the area: told apart by most who see few colours, and
    /// never alone, the word is always there.
    pub fn colours(self) -> (&'static str, &'static str) {
        match self {
            Self::Added => ("#0a7a5a", "#d9f2e8"),
            Self::Removed => ("#b3400a", "#fbe3d6"),
            Self::Changed => ("#8a6d00", "#fff3c4"),
            Self::Updated => ("#005b96", "#d8ebf8"),
            Self::FullyRefreshed => ("#8e3a74", "#f5e0ee"),
            Self::ReadAsItIs | Self::LeftOut => ("#767676", "#f2f2f2"),
        }
    }

    /// A word for it that can be the name of a class.
    pub fn class(self) -> &'static str {
        match self {
            Self::Added => "added",
            Self::Removed => "removed",
            Self::Changed => "changed",
            Self::Updated => "updated",
            Self::FullyRefreshed => "refreshed",
            Self::ReadAsItIs => "asitis",
            Self::LeftOut => "leftout",
        }
    }
}

impl Picture {
    /// Marks what a run does with each dataset. The picture's nodes must begin with the plan's
    /// datasets, in their order, as those of a graph and of a project do.
    pub fn mark_plan(&mut self, plan: &RunPlan) {
        for (node, planned) in self.nodes.iter_mut().zip(&plan.datasets) {
            node.mark = match planned.action {
                PlannedAction::Update => Some(Mark::Updated),
                PlannedAction::FullRefresh => Some(Mark::FullyRefreshed),
                PlannedAction::View => None,
                PlannedAction::LeftOut(_) if planned.is_read => Some(Mark::ReadAsItIs),
                PlannedAction::LeftOut(_) => Some(Mark::LeftOut),
            };
            // A view that nothing of the run reads is not computed.
            let is_view =
                matches!(node.kind, NodeKind::Dataset(DatasetKind::TemporaryView | DatasetKind::PersistedView));
            if is_view && !planned.is_read {
                node.mark = Some(Mark::LeftOut);
            }
        }
    }

    /// The marks that are used, each once.
    pub fn marks(&self) -> Vec<Mark> {
        let nodes = self.nodes.iter().filter_map(|node| node.mark);
        let marks: std::collections::BTreeSet<Mark> =
            nodes.chain(self.edges.iter().filter_map(|edge| edge.mark)).collect();
        marks.into_iter().collect()
    }
}
