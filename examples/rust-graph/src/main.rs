//! The pipeline of `examples/orders`, built in Rust: no project files, no SQL files.
//!
//! Give it a server, `cargo run -p rust-graph -- sc://localhost:15002`. The data lies on this
//! machine, so the server must too.
#![expect(clippy::print_stderr, reason = "an example talks to the person who runs it")]

use std::path::Path;

use anyhow::{Context as _, bail};
use futures::StreamExt as _;
use knut_client::{PipelinesClient, RunOptions};
use knut_model::{DataflowGraph, Dataset, Flow, GraphProblems, RefreshSelection, SourceRead};
use knut_viewer::{RunOutcome, ViewerState, visible};

#[tokio::main(flavor = "current_thread")]
async fn main() -> anyhow::Result<()> {
    let remote = std::env::args().nth(1).or_else(|| std::env::var("SPARK_REMOTE").ok());
    let remote = remote.context("give a server: cargo run -p rust-graph -- sc://localhost:15002")?;
    let data = Path::new(env!("CARGO_MANIFEST_DIR")).join("../orders/data").canonicalize()?;
    let storage = Path::new(env!("CARGO_MANIFEST_DIR")).join(".knut/storage");

    let client = PipelinesClient::connect(&remote).await?;
    let graph = client.define_graph(&orders(&data)?).await?;
    // From nothing each time: the tables are the server's, the checkpoints are here, and on another
    // server the streams would take rows for read that its tables do not have.
    let options = RunOptions::new(format!("file://{}", storage.display())).refresh(RefreshSelection::FullAll);
    let mut updates = client.run_updates(graph, &options);

    let mut state = ViewerState::default();
    while let Some(update) = updates.next().await {
        for change in state.apply(update) {
            let flow = state.flow(change.flow);
            eprintln!("{:10} {}", flow.status().word(), visible(flow.name()));
        }
    }
    client.close().await?;
    match state.outcome() {
        Some(RunOutcome::Succeeded) => Ok(()),
        other => bail!("the run did not succeed: {other:?}"),
    }
}

/// The graph. Its names are the same as in `examples/orders`, prefixed so that both can share a server.
fn orders(data: &Path) -> Result<DataflowGraph, GraphProblems> {
    let files = |folder: &str| [format!("file://{}", data.join(folder).display())];
    let raw_orders = SourceRead::csv(files("orders"))
        .schema(
            "order_id INT, customer_id INT, product STRING, quantity INT, unit_price DECIMAL(10, 2), ordered_on DATE",
        )
        .option("header", "true")
        .streaming();
    let raw_shipments =
        SourceRead::json(files("shipments")).schema("order_id INT, carrier STRING, shipped_on DATE").streaming();
    let raw_customers = SourceRead::json(files("customers")).schema("customer_id INT, name STRING, country STRING");

    DataflowGraph::builder()
        .dataset(Dataset::temporary_view("raw_orders").query(raw_orders))
        .dataset(Dataset::temporary_view("raw_shipments").query(raw_shipments))
        .dataset(Dataset::temporary_view("raw_customers").query(raw_customers))
        .dataset(Dataset::streaming_table("rust_orders").comment("Every order, one row each"))
        .flow(Flow::builder("rust_web_orders", "rust_orders", "SELECT * FROM STREAM raw_orders").reads("raw_orders"))
        .dataset(Dataset::streaming_table("rust_shipments").query("SELECT * FROM STREAM raw_shipments"))
        .dataset(Dataset::materialized_view("rust_customers").query("SELECT * FROM raw_customers"))
        .dataset(
            Dataset::temporary_view("order_values")
                .query("SELECT order_id, customer_id, quantity * unit_price AS amount, ordered_on FROM rust_orders"),
        )
        .dataset(Dataset::materialized_view("rust_revenue_by_country").query(
            "SELECT country, count(*) AS n_orders, sum(amount) AS revenue
             FROM order_values JOIN rust_customers USING (customer_id) GROUP BY country",
        ))
        .dataset(Dataset::materialized_view("rust_open_orders").query(
            "SELECT order_id, name, amount FROM order_values JOIN rust_customers USING (customer_id)
             LEFT ANTI JOIN rust_shipments USING (order_id)",
        ))
        .build()
}
