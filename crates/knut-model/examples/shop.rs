//! A pipeline written in Rust with this crate alone, as JSON; the README shows it.
#![expect(clippy::print_stdout, reason = "the graph is what this program is for")]

use knut_model::{DataflowGraph, Dataset, SourceRead};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let files = SourceRead::csv(["s3://shop/orders"]).schema("id INT, amount INT").streaming();
    let graph = DataflowGraph::builder()
        .dataset(Dataset::temporary_view("raw_orders").query(files))
        .dataset(Dataset::streaming_table("orders").query("SELECT * FROM STREAM raw_orders"))
        .dataset(Dataset::materialized_view("totals").query("SELECT sum(amount) AS total FROM orders"))
        .build()?; // tells everything that is wrong with it
    println!("{}", serde_json::to_string_pretty(&graph)?);
    Ok(())
}
