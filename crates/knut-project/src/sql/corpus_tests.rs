//! What knut says about SQL, beside what a real server said about the same.

use std::collections::BTreeSet;

use crate::sql::{Certainty, ReadSource, Verdict, query_reads, read_sql};

/// A case of `corpus/statements.toml`.
struct Statement {
    sql: String,
    server: String,
}

fn statements() -> Vec<Statement> {
    let corpus: toml::Table = toml::from_str(include_str!("../../tests/corpus/statements.toml")).unwrap();
    let text = |case: &toml::Value, key: &str| case[key].as_str().unwrap().to_owned();
    let cases = corpus["case"].as_array().unwrap();
    cases.iter().map(|case| Statement { sql: text(case, "sql"), server: text(case, "server") }).collect()
}

/// knut may be undecided; it must never be wrong.
#[test]
fn no_verdict_contradicts_the_server() {
    let (mut wrong, mut undecided, mut agreed) = (Vec::new(), Vec::new(), 0);
    let statements = statements();
    for Statement { sql, server } in &statements {
        let read = read_sql(sql);
        let refused = read.iter().find(|statement| matches!(statement.verdict(), Verdict::Refused(_)));
        let is_undecided = read.iter().any(|statement| statement.verdict() == Verdict::Undecided);
        let is_accepted = server == "accept";
        if is_undecided && refused.is_none() {
            undecided.push(format!("{sql}  [{server}]"));
        } else if refused.is_none() == is_accepted {
            agreed += 1;
        } else {
            wrong.push(format!(
                "{sql}\n    server: {server}\n    knut: {:?}",
                refused.map(|statement| &statement.refusals)
            ));
        }
    }
    println!("{} statements: {agreed} agree, {} undecided", statements.len(), undecided.len());
    println!("undecided:\n{}", undecided.join("\n"));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

/// A case of `corpus/queries.toml`.
struct Query {
    sql: String,
    server: String,
    reads: BTreeSet<String>,
    streams: BTreeSet<String>,
}

fn queries() -> Vec<Query> {
    let corpus: toml::Table = toml::from_str(include_str!("../../tests/corpus/queries.toml")).unwrap();
    let names = |case: &toml::Value, key: &str| {
        let list = case.get(key).and_then(toml::Value::as_array);
        list.into_iter().flatten().map(|name| name.as_str().unwrap().to_owned()).collect()
    };
    let read = |case: &toml::Value| Query {
        sql: case["query"].as_str().unwrap().to_owned(),
        server: case["server"].as_str().unwrap().to_owned(),
        reads: names(case, "reads"),
        streams: names(case, "streams"),
    };
    corpus["case"].as_array().unwrap().iter().map(read).collect()
}

#[test]
fn reads_are_those_that_the_server_sees() {
    let (mut wrong, mut inferred) = (Vec::new(), Vec::new());
    let queries = queries();
    for Query { sql, server, reads, streams } in queries.iter().filter(|query| query.server == "accept") {
        let found = query_reads(sql);
        let names = |only_streams: bool| -> BTreeSet<String> {
            let names = found.reads.iter().filter(|read| read.is_streaming || !only_streams).filter_map(|read| {
                match &read.source {
                    ReadSource::Name(name) => Some(name.to_string()),
                    _ => None,
                }
            });
            names.collect()
        };
        if names(false) != *reads || names(true) != *streams {
            wrong.push(format!(
                "{sql}\n    server: {reads:?} {streams:?}\n    knut: {:?} {:?} {server}",
                names(false),
                names(true)
            ));
        }
        if !found.is_parsed {
            inferred.push(sql.as_str());
        }
        assert!(found.is_parsed || found.reads.iter().all(|read| read.certainty == Certainty::Inferred));
    }
    println!("inferred: {}\n{}", inferred.len(), inferred.join("\n"));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}

#[test]
fn no_verdict_on_a_query_contradicts_the_server() {
    let (mut wrong, mut undecided, mut agreed) = (Vec::new(), Vec::new(), 0);
    for Query { sql, server, .. } in &queries() {
        let read = read_sql(&format!("CREATE MATERIALIZED VIEW m AS {sql}"));
        match read[0].verdict() {
            Verdict::Undecided => undecided.push(format!("{sql}  [{server}]")),
            verdict if (verdict == Verdict::Accepted) == (server == "accept") => agreed += 1,
            verdict => wrong.push(format!("{sql}\n    server: {server}\n    knut: {verdict:?}")),
        }
    }
    println!("queries: {agreed} agree, {} undecided\n{}", undecided.len(), undecided.join("\n"));
    assert!(wrong.is_empty(), "{} wrong:\n{}", wrong.len(), wrong.join("\n"));
}
