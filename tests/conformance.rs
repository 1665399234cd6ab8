//! The corpus of SQL texts on a real Spark server: that what it says of them is still what is written
//! down. That knut agrees with what is written down is a test of knut-project.

#![expect(clippy::unwrap_used, clippy::expect_used, reason = "a step that fails is a failed test")]

#[path = "conformance/edges.rs"]
mod edges;

use knut_client::{PipelinesClient, RunOptions};
use knut_model::DataflowGraph;
use knut_tests::{Project, workspace};

fn corpus(name: &str) -> Vec<toml::Value> {
    let path = workspace().join("crates/knut-project/tests/corpus").join(name);
    let corpus: toml::Table = toml::from_str(&std::fs::read_to_string(path).unwrap()).unwrap();
    corpus["case"].as_array().unwrap().clone()
}

async fn define(client: &PipelinesClient, sql: &str) -> Result<knut_client::DefinedGraph, knut_client::Error> {
    let graph = DataflowGraph::builder().default_database("default").sql_file("a.sql", sql).build().unwrap();
    client.define_graph(&graph).await
}

#[tokio::test]
async fn the_server_still_says_what_is_written_down() {
    let mut project = Project::empty();
    project.run(&["local", "start"]).expect(0);
    let remote = project.run(&["local", "status", "--remote"]).expect(0).stdout.trim().to_owned();
    let client = PipelinesClient::connect(&remote).await.unwrap();
    let wrong = statements(&client).await;
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
    assert_eq!(static_confs_that_can_be_set(&client).await, Vec::<String>::new());
    let options = RunOptions::new(format!("file://{}/storage", project.path().display()));
    let wrong = edges::check(&client, &corpus("queries.toml"), &options).await;
    assert!(wrong.is_empty(), "{} differ:\n{}", wrong.len(), wrong.join("\n"));
}

async fn statements(client: &PipelinesClient) -> Vec<String> {
    let cases = corpus("statements.toml");
    assert!(cases.len() >= 150, "only {} statements", cases.len());
    let mut wrong = Vec::new();
    for case in cases {
        let sql = case["sql"].as_str().unwrap();
        // The local server has the Hive catalog.
        let expected = case.get("hive").unwrap_or(&case["server"]).as_str().unwrap();
        let expected = expected.replace("(java.lang.RuntimeException) ", "");
        let said = match define(client, sql).await {
            Ok(_) => "accept".to_owned(),
            Err(error) => {
                format!("refuse: {}", error.server().map_or(String::new(), |server| server.message.trim().to_owned()))
            }
        };
        // What is written down is the beginning of the message, on one line.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let beginning: String = expected.trim_end_matches('…').chars().take(80).collect();
        let is_same = if expected == "accept" { said == expected } else { said.starts_with(beginning.trim_end()) };
        if !is_same {
            wrong.push(format!("{sql}\n    written: {expected}\n    said: {said}"));
        }
    }
    wrong
}

/// Those confs that `knut check` calls fixed and that the server lets somebody set all the same.
async fn static_confs_that_can_be_set(client: &PipelinesClient) -> Vec<String> {
    let path = workspace().join("crates/knut-project/src/check/static_confs.txt");
    let mut settable = Vec::new();
    for key in std::fs::read_to_string(path).unwrap().lines() {
        let confs = [(key.to_owned(), "x".to_owned())].into();
        let warnings = client.set_confs(&confs).await.unwrap();
        let is_refused = warnings.iter().any(|warning| warning.contains("CANNOT_MODIFY_"));
        if !is_refused {
            settable.push(key.to_owned());
        }
    }
    settable
}
