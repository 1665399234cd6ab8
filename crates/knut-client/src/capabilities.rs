//! What a server of a given Spark version can do. An older one takes newer messages silently or
//! answers with an error that confuses, so knut refuses by itself. Source: the schemas of Spark 4.1,
//! 4.2 and 4.3.

use knut_model::{AutoCdc, CdcColumns, DataflowGraph, Query, ScdType};

/// A Spark version's first two numbers; `None` for a text of another form, which is given the
/// benefit of the doubt.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Capabilities(Option<(u32, u32)>);

impl Capabilities {
    pub(crate) fn of_version(version: &str) -> Self {
        let mut parts = version.split('.').map_while(|part| part.parse::<u32>().ok());
        Self(parts.next().zip(parts.next()))
    }

    fn is_at_least(self, major: u32, minor: u32) -> bool {
        self.0.is_none_or(|version| version >= (major, minor))
    }

    /// Pipelines at all.
    pub(crate) fn has_pipelines(self) -> bool {
        self.is_at_least(4, 1)
    }

    /// `GetStatus`.
    pub(crate) fn has_status(self) -> bool {
        self.is_at_least(4, 2)
    }

    /// What in `graph` the server cannot do; `None` when it can do all of it.
    pub(crate) fn refusal_of(self, graph: &DataflowGraph) -> Option<String> {
        graph.flows().iter().find_map(|flow| {
            let Query::AutoCdc(cdc) = &flow.query else { return None };
            let (what, major, minor) = needs(cdc);
            let name = &flow.name;
            (!self.is_at_least(major, minor))
                .then(|| format!("the flow {name} {what}, which came with Spark {major}.{minor}"))
        })
    }
}

fn needs(cdc: &AutoCdc) -> (&'static str, u32, u32) {
    if cdc.scd_type == ScdType::Two || cdc.track_history != CdcColumns::All {
        ("keeps history (SCD type 2)", 4, 3)
    } else {
        ("applies changes", 4, 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use knut_model::Dataset;

    #[test]
    fn pipelines_came_with_4_1() {
        let has = |version| Capabilities::of_version(version).has_pipelines();
        assert!(["4.1.0", "4.3.0", "5.0.0-SNAPSHOT", "next"].into_iter().all(has));
        assert!(!["3.5.6", "4.0.1"].into_iter().any(has));
    }

    #[test]
    fn a_graph_that_asks_too_much_is_refused() {
        let graph =
            |cdc: AutoCdc| DataflowGraph::builder().dataset(Dataset::streaming_table("t").query(cdc)).build().unwrap();
        let changes = || AutoCdc::new("raw", ["id"], "at");
        let refusal = |version, cdc| Capabilities::of_version(version).refusal_of(&graph(cdc));
        assert_eq!(
            refusal("4.1.4", changes()).as_deref(),
            Some("the flow t applies changes, which came with Spark 4.2")
        );
        assert_eq!(refusal("4.2.0", changes()), None);
        assert_eq!(
            refusal("4.2.1", changes().scd_type_2(CdcColumns::All)).as_deref(),
            Some("the flow t keeps history (SCD type 2), which came with Spark 4.3")
        );
        assert_eq!(refusal("4.3.0", changes().scd_type_2(CdcColumns::All)), None);
    }
}
