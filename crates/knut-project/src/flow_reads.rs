//! What the SQL of a graph's flows reads, for a graph that was built in Rust or read from JSON.

use std::collections::BTreeMap;

use knut_model::{Flow, FlowRead, Identifier, Query};

use crate::sql::{Certainty, ReadSource, SqlRead, query_reads};

/// What a flow's SQL reads; nothing if it has none. It is for
/// [`Picture::with_reads`](knut_model::Picture::with_reads) and
/// [`Outline::with_reads`](knut_model::Outline::with_reads).
pub fn flow_reads(flow: &Flow) -> Vec<FlowRead> {
    let (sql, inputs) = match &flow.query {
        Query::Sql(sql) => (sql, None),
        Query::SqlOver { sql, inputs } => (sql, Some(inputs)),
        _ => return Vec::new(),
    };
    // The data sources of a query hide datasets of their names.
    let is_input = |name: &Identifier| {
        let mut inputs = inputs.into_iter().flat_map(BTreeMap::keys);
        name.is_single_part() && inputs.any(|input| input.eq_ignore_ascii_case(name.name()))
    };
    let read = |read: SqlRead| {
        let name = match read.source {
            ReadSource::Name(name) | ReadSource::TimeTravel(name) => name,
            ReadSource::Path { format, path } => Identifier::from_parts([format, path]).ok()?,
        };
        let inferred = read.certainty == Certainty::Inferred;
        (!is_input(&name)).then_some(FlowRead { name, streaming: read.is_streaming, inferred })
    };
    query_reads(sql).reads.into_iter().filter_map(read).collect()
}

#[cfg(test)]
mod tests {
    use knut_model::{DataflowGraph, Dataset, Picture, SourceRead};

    use super::*;

    #[test]
    fn sql_says_what_a_graph_reads() {
        let over = Query::sql_over("SELECT * FROM STREAM Files JOIN a", [("files", SourceRead::csv(["/x"]))]);
        let graph = DataflowGraph::builder()
            .dataset(Dataset::materialized_view("a").query("SELECT * FROM csv.`/data`"))
            .dataset(Dataset::streaming_table("b").query(over))
            // What the author said is not drawn twice.
            .dataset(Dataset::streaming_table("c").query("SELECT * FROM STREAM(b)").reads("b").reads("hidden"))
            .build()
            .unwrap();
        assert_eq!(
            Picture::with_reads(&graph, flow_reads).to_text(),
            "external           csv.`/data`\n\
             materialized view  a <- csv.`/data`\n\
             streaming table    b <- a\n\
             external           hidden\n\
             streaming table    c <- STREAM b, hidden\n"
        );
    }
}
