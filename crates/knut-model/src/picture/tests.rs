//! Pictures of one graph in every form, and of names that try to break out.

use super::*;
use crate::{Dataset, Flow};

fn orders() -> Picture {
    let graph = DataflowGraph::builder()
        .dataset(Dataset::temporary_view("raw").query("SELECT 1"))
        .dataset(Dataset::streaming_table("orders"))
        .flow(Flow::builder(
            "web",
            "orders",
            Query::Table { name: crate::Identifier::parse("raw").unwrap(), streaming: true },
        ))
        .dataset(Dataset::materialized_view("totals").query("SELECT 1"))
        .flow(Flow::builder("more", "orders", "SELECT 1").reads("elsewhere.t").reads("RAW"))
        .build()
        .unwrap();
    let mut picture = Picture::of(&graph);
    picture.edges.push(PictureEdge {
        from: "orders".to_owned(),
        to: "totals".to_owned(),
        streaming: false,
        inferred: true,
    });
    for node in &mut picture.nodes[..2] {
        node.group = Some("in \"a\"".to_owned());
    }
    picture
}

#[test]
fn a_graph_as_text() {
    assert_eq!(
        orders().to_text(),
        "temporary view     raw\n\
         external           elsewhere.t\n\
         streaming table    orders <- elsewhere.t, raw, STREAM raw\n\
         materialized view  totals <- orders (?)\n"
    );
}

#[test]
fn a_graph_in_dot() {
    assert_eq!(
        orders().to_dot(),
        r#"digraph {
  rankdir=LR;
  node [fontname="sans-serif"];
  subgraph cluster_0 {
    label="in \"a\"";
    n0 [label="raw\ntemporary view", shape=ellipse, style=solid];
    n1 [label="orders\nstreaming table", shape=box, style=bold];
  }
  n2 [label="totals\nmaterialized view", shape=box, style=solid];
  n3 [label="elsewhere.t\nexternal", shape=box, style=dotted];
  n3 -> n1;
  n0 -> n1;
  n0 -> n1 [style=dashed];
  n1 -> n2 [style=dotted];
}
"#
    );
}

#[test]
fn a_graph_in_mermaid() {
    assert_eq!(
        orders().to_mermaid().unwrap(),
        r#"flowchart LR
  subgraph g0 ["in #34;a#34;"]
    n0(["raw"])
    n1[["orders"]]
  end
  n2["totals"]
  n3{{"elsewhere.t"}}
  n3 --> n1
  n0 --> n1
  n0 ==> n1
  n1 -. ? .-> n2
"#
    );
}

/// C074, C075: no name leaves its label.
#[test]
fn names_stay_in_their_labels() {
    for name in ["end", "a(b)\"c#;]", "a--b", "a|b", "a\nb`c", "x\\", "<b>", "->", "__proto__", "\u{1b}[31m", "目录"]
    {
        let node = PictureNode { name: name.to_owned(), kind: NodeKind::External, group: None, source_location: None };
        let edge = PictureEdge { from: name.to_owned(), to: name.to_owned(), streaming: false, inferred: false };
        let picture = Picture { nodes: vec![node], edges: vec![edge] };
        let dot = picture.to_dot();
        assert_eq!(dot.lines().count(), 6, "{dot}");
        let label = dot.lines().nth(3).unwrap();
        assert!(
            label.starts_with("  n0 [label=\"") && label.ends_with("\\nexternal\", shape=box, style=dotted];"),
            "{label}"
        );
        let mermaid = picture.to_mermaid().unwrap();
        assert_eq!(mermaid.lines().count(), 3, "{mermaid}");
        let label = mermaid.lines().nth(1).unwrap().strip_prefix("  n0{{\"").unwrap().strip_suffix("\"}}").unwrap();
        assert!(!label.contains(['"', '<', '`', '[', ']', '|', '\\', '\u{1b}']), "{label}");
        assert_eq!(picture.to_text().lines().count(), 1);
    }
}

#[test]
fn a_picture_that_mermaid_would_not_draw_is_refused() {
    let node =
        |n: usize| PictureNode { name: format!("t{n}"), kind: NodeKind::External, group: None, source_location: None };
    let edge = |n: usize| PictureEdge { from: "t0".to_owned(), to: format!("t{n}"), streaming: false, inferred: false };
    let picture = |n: usize| Picture { nodes: (0..=n).map(node).collect(), edges: (1..=n).map(edge).collect() };
    assert!(picture(500).to_mermaid().is_ok());
    assert_eq!(picture(501).to_mermaid().unwrap_err().n_edges, 501);
}

#[test]
fn a_focus_keeps_what_is_near() {
    let near = |name, up, down| {
        orders()
            .focus(name, up, down)
            .map(|picture| picture.nodes.iter().map(|node| node.name.clone()).collect::<Vec<_>>().join(" "))
    };
    assert_eq!(near("orders", Some(0), None).as_deref(), Some("orders totals"));
    assert_eq!(near("totals", Some(1), Some(0)).as_deref(), Some("orders totals"));
    assert_eq!(near("totals", None, None).as_deref(), Some("raw orders totals elsewhere.t"));
    assert_eq!(near("nosuch", None, None), None);
}

#[test]
fn a_diff_tells_nodes_and_edges() {
    let before = orders();
    let mut after = orders();
    assert_eq!(after.diff(&before).changes(), []);
    after.nodes.retain(|node| node.name != "totals");
    after.edges.retain(|edge| edge.to != "totals");
    after.nodes[1].kind = NodeKind::Dataset(DatasetKind::MaterializedView);
    assert_eq!(
        after.diff(&before).to_string(),
        "~ orders (materialized view, was streaming table)\n- totals (materialized view)\n- orders -> totals\n"
    );
    assert_eq!(
        before.diff(&after).to_string(),
        "~ orders (streaming table, was materialized view)\n+ totals (materialized view)\n+ orders -> totals\n"
    );
}
