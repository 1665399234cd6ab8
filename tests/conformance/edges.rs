//! Who reads whom, asked of a server: of a table that cannot be resolved it says which flows fail
//! because of it, whatever else is wrong with them.
//!
//! Each query of the corpus becomes a flow of one graph, together with every name that the corpus
//! knows as a dataset. Names that stand in no query together are broken in the same dry run, so that
//! a handful of dry runs asks about all of them. A name that stands in a query without being read is
//! asked about too.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use knut_client::{PipelinesClient, RunOptions};
use knut_model::{DataflowGraph, Identifier};
use knut_project::{ReadSource, query_reads};
use knut_viewer::{FailureReason, ViewerState};

/// A query, what is written down of it, and what knut says.
struct Query {
    sql: String,
    written: Reads,
    knut: Reads,
}

/// Names with a catalog and a database, or one part; those of streams also in `streams`.
#[derive(Default, PartialEq, Eq)]
struct Reads {
    all: BTreeSet<Identifier>,
    streams: BTreeSet<Identifier>,
}

/// How a name is defined in a graph.
#[derive(Clone, Copy)]
enum Definition {
    /// A table that can be read as a stream and as a whole.
    Table,
    /// A query that cannot be resolved.
    Broken,
    /// A view that cannot be read as a stream.
    BatchView,
}

/// Asks about every query; gives those of which the server says something else.
pub(crate) async fn check(client: &PipelinesClient, cases: &[toml::Value], options: &RunOptions) -> Vec<String> {
    let accepted = cases.iter().filter(|case| case["server"].as_str() == Some("accept"));
    let queries: Vec<Query> = accepted.map(query).collect();
    assert!(queries.len() >= 300, "only {} queries", queries.len());
    let known: BTreeSet<&Identifier> =
        queries.iter().flat_map(|query| query.written.all.union(&query.knut.all)).collect();
    // What a name can be read as is a matter of the text: a query is asked about each name in it.
    let words: Vec<BTreeSet<&Identifier>> = queries
        .iter()
        .map(|query| known.iter().copied().filter(|name| has_word(&query.sql, name.name())).collect())
        .collect();
    let mut said: Vec<Reads> = queries.iter().map(|_| Reads::default()).collect();
    let rounds = rounds(&known, &words);
    assert!(rounds.len() <= 20, "{} rounds", rounds.len());
    for probed in &rounds {
        let asked: Vec<(usize, &Identifier)> = (0..queries.len())
            .filter_map(|index| Some((index, *words[index].iter().find(|name| probed.contains(*name))?)))
            .collect();
        let failed = failures(client, &queries, &known, &asked, probed, Definition::Broken, options).await;
        for (index, name) in &asked {
            if failed.get(index).is_some_and(|(reason, _)| *reason == FailureReason::UnresolvedUpstream) {
                said[*index].all.insert((*name).clone());
            }
        }
        // A temporary view has one part; of other names the stream is not asked.
        let views: BTreeSet<&Identifier> = probed.iter().copied().filter(|name| name.is_single_part()).collect();
        let failed = failures(client, &queries, &known, &asked, &views, Definition::BatchView, options).await;
        for (index, name) in &asked {
            let is_refused = |text: &str| text.contains("INCOMPATIBLE_BATCH_VIEW_READ");
            if failed.get(index).is_some_and(|(_, text)| is_refused(text)) {
                said[*index].streams.insert((*name).clone());
            }
        }
    }
    queries.iter().zip(said).filter_map(|(query, said)| difference(query, &said)).collect()
}

fn difference(query: &Query, said: &Reads) -> Option<String> {
    let single = |names: &BTreeSet<Identifier>| -> BTreeSet<Identifier> {
        names.iter().filter(|name| name.is_single_part()).cloned().collect()
    };
    let is_same = |reads: &Reads| reads.all == said.all && single(&reads.streams) == said.streams;
    let names = |names: &BTreeSet<Identifier>| names.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
    let shown = |reads: &Reads| format!("[{}] streams [{}]", names(&reads.all), names(&reads.streams));
    (!is_same(&query.written) || !is_same(&query.knut)).then(|| {
        let (written, knut, said) = (shown(&query.written), shown(&query.knut), shown(said));
        format!("{}\n    written: {written}\n    knut: {knut}\n    said: {said}", query.sql)
    })
}

fn query(case: &toml::Value) -> Query {
    let sql = case["query"].as_str().unwrap_or_default().to_owned();
    let written = |key: &str| -> BTreeSet<Identifier> {
        let names = case.get(key).and_then(toml::Value::as_array);
        let names = names.into_iter().flatten().filter_map(toml::Value::as_str);
        names.map(|name| full(&Identifier::parse(name).expect("the corpus has names"))).collect()
    };
    let mut knut = Reads::default();
    for read in query_reads(&sql).reads {
        let ReadSource::Name(name) = &read.source else { continue };
        knut.all.insert(full(name));
        if read.is_streaming {
            knut.streams.insert(full(name));
        }
    }
    Query { written: Reads { all: written("reads"), streams: written("streams") }, knut, sql }
}

/// `db1.a` is `spark_catalog.db1.a`.
fn full(name: &Identifier) -> Identifier {
    match name.parts() {
        [database, table] => Identifier::from_parts(["spark_catalog", database, table]).expect("three parts"),
        _ => name.clone(),
    }
}

/// Whether a name stands somewhere in a text, be it as a word of its own or in backticks.
fn has_word(text: &str, name: &str) -> bool {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let mut words = text.split(|c| !is_word(c));
    words.any(|word| word.eq_ignore_ascii_case(name)) || (!name.chars().all(is_word) && text.contains(name))
}

/// Names in groups of which no query has two.
fn rounds<'a>(known: &BTreeSet<&'a Identifier>, words: &[BTreeSet<&'a Identifier>]) -> Vec<BTreeSet<&'a Identifier>> {
    let mut rounds: Vec<BTreeSet<&Identifier>> = Vec::new();
    for name in known {
        let is_apart =
            |round: &BTreeSet<&Identifier>| words.iter().all(|words| !words.contains(name) || words.is_disjoint(round));
        match rounds.iter_mut().find(|round| is_apart(round)) {
            Some(round) => {
                round.insert(name);
            }
            None => rounds.push([*name].into()),
        }
    }
    rounds
}

/// Why flows of queries failed in a dry run, by the queries' positions.
async fn failures(
    client: &PipelinesClient,
    queries: &[Query],
    known: &BTreeSet<&Identifier>,
    asked: &[(usize, &Identifier)],
    probed: &BTreeSet<&Identifier>,
    definition: Definition,
    options: &RunOptions,
) -> BTreeMap<usize, (FailureReason, String)> {
    let mut sql = String::from("CREATE MATERIALIZED VIEW knut_sentinel AS SELECT knut_nowhere;\n");
    for name in known {
        let definition = if probed.contains(name) { definition } else { Definition::Table };
        let kind = match definition {
            Definition::BatchView => "TEMPORARY VIEW",
            _ => "MATERIALIZED VIEW",
        };
        let query = match definition {
            Definition::Broken => "SELECT knut_nowhere",
            _ => "SELECT 1 AS id",
        };
        let quoted: Vec<String> = name.parts().iter().map(|part| format!("`{}`", part.replace('`', "``"))).collect();
        // Writing to a string cannot fail.
        let _ = writeln!(sql, "CREATE {kind} {} AS {query};", quoted.join("."));
    }
    for (index, _) in asked {
        let _ = writeln!(sql, "CREATE MATERIALIZED VIEW knut_query_{index} AS {}\n;", queries[*index].sql);
    }
    let graph = DataflowGraph::builder().default_database("default").sql_file("a.sql", sql).build();
    let graph = client.define_graph(&graph.expect("the graph is sound")).await.expect("the server takes the corpus");
    let state: ViewerState = client.run_updates(graph, &options.clone().dry_run(true)).to_end().await;
    // The sentinel shows that flows were resolved at all.
    assert!(state.flow_named("spark_catalog.default.knut_sentinel").is_some(), "{:?}", state.outcome());
    let failed = state.flows().iter().filter_map(|flow| {
        let index = flow.name().rsplit("knut_query_").next()?.parse().ok()?;
        let failure = flow.failures().first()?;
        let text = failure.error.as_ref().map_or(String::new(), |error| error.message.clone());
        Some((index, (failure.reason, text)))
    });
    failed.collect()
}
