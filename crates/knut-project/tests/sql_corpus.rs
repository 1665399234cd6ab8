//! What knut says about SQL, beside what a real server said about the same.

use knut_project::{Verdict, read_sql};

/// A case of `corpus/statements.toml`.
struct Statement {
    sql: String,
    server: String,
}

fn statements() -> Vec<Statement> {
    let corpus: toml::Table = toml::from_str(include_str!("corpus/statements.toml")).unwrap();
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
