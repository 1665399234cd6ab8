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
        mark: None,
    });
    for node in &mut picture.nodes[..2] {
        node.group = Some("in \"a\"".to_owned());
    }
    picture
}

#[test]
fn a_graph_as_text() {
    assert_eq!(
        orders().group_by(Grouping::None).to_text(),
        "temporary view     raw\n\
         external           elsewhere.t\n\
         streaming table    orders <- elsewhere.t, raw, STREAM raw\n\
         materialized view  totals <- orders (?)\n"
    );
    assert_eq!(
        orders().to_text(),
        "external           elsewhere.t\n\
         materialized view  totals <- orders (?)\n\
         in \"a\":\n  temporary view     raw\n  streaming table    orders <- elsewhere.t, raw, STREAM raw\n"
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
        let node = PictureNode::new(name, NodeKind::External);
        let edge =
            PictureEdge { from: name.to_owned(), to: name.to_owned(), streaming: false, inferred: false, mark: None };
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
    let node = |n: usize| PictureNode::new(format!("t{n}"), NodeKind::External);
    let edge = |n: usize| PictureEdge {
        from: "t0".to_owned(),
        to: format!("t{n}"),
        streaming: false,
        inferred: false,
        mark: None,
    };
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

#[test]
fn nodes_are_grouped_by_file_or_schema() {
    let at = |file: &str| SourceLocation { file: file.to_owned(), line: None };
    let graph = DataflowGraph::builder()
        .default_catalog("c")
        .default_database("d")
        .dataset(Dataset::temporary_view("v").query("SELECT 1").source_location(at("a.rs")))
        .dataset(Dataset::materialized_view("t").query("SELECT 1"))
        .dataset(Dataset::materialized_view("`e f`.t").query("SELECT 1").source_location(at("b.rs")))
        .build()
        .unwrap();
    let groups = |grouping| {
        let groups = Picture::of(&graph).group_by(grouping).nodes.into_iter().map(|node| node.group);
        groups.map(Option::unwrap_or_default).collect::<Vec<_>>()
    };
    assert_eq!(groups(Grouping::File), ["a.rs", "", "b.rs"]);
    assert_eq!(groups(Grouping::Schema), ["", "c.d", "c.`e f`"]);
    assert_eq!(groups(Grouping::None), ["", "", ""]);
}

#[test]
fn a_definition_that_changed_is_a_change_and_a_place_is_none() {
    let picture = |sql: &str, line| {
        let at = SourceLocation { file: "a.rs".to_owned(), line: Some(line) };
        let dataset = Dataset::materialized_view("t").query(sql).source_location(at);
        Picture::of(&DataflowGraph::builder().dataset(dataset).build().unwrap())
    };
    assert_eq!(picture("SELECT 1", 1).diff(&picture("SELECT 1", 2)).changes(), []);
    let told = picture("SELECT 2", 1).diff(&picture("SELECT 1", 1)).to_string();
    assert_eq!(told, "~ t (materialized view, defined otherwise)\n");
}

/// What is marked says so in words in every form, not by its colour alone.
#[test]
fn changes_are_marked_in_every_form() {
    let before = orders().group_by(Grouping::None);
    let mut after = before.clone();
    after.nodes[0].kind = NodeKind::Dataset(DatasetKind::MaterializedView);
    after.nodes.retain(|node| node.name != "totals");
    after.edges.retain(|edge| edge.to != "totals");
    after.nodes.push(PictureNode::new("new", NodeKind::Dataset(DatasetKind::Sink)));
    after.edges.push(PictureEdge {
        from: "orders".to_owned(),
        to: "new".to_owned(),
        streaming: true,
        inferred: false,
        mark: None,
    });
    let marked = after.marked_since(&before);
    assert_eq!(marked.marks(), [Mark::Added, Mark::Removed, Mark::Changed]);
    assert_eq!(
        marked.to_text(),
        "changed  materialized view  raw\n\
         \u{20}        external           elsewhere.t\n\
         \u{20}        streaming table    orders <- elsewhere.t, raw, STREAM raw\n\
         added    sink               new <- STREAM orders (added)\n\
         removed  materialized view  totals <- orders (removed)\n"
    );
    let mermaid = marked.to_mermaid().unwrap();
    for line in [
        "  n3[/\"new (added)\"/]:::added",
        "  n1 ==>|added| n3",
        "  n1 -->|removed| n4",
        "  linkStyle 3 stroke:#0a7a5a",
        "  classDef changed fill:#fff3c4,stroke:#8a6d00,color:#1b1b1b",
    ] {
        assert!(mermaid.lines().any(|found| found == line), "{line} in\n{mermaid}");
    }
    let dot = marked.to_dot();
    assert!(dot.contains(r##"label="new\nsink\nadded", shape=cds, style="solid,filled", color="#0a7a5a""##), "{dot}");
    assert!(dot.contains(r##"n1 -> n4 [color="#b3400a", fontcolor="#b3400a", label="removed"]"##), "{dot}");
}

#[test]
fn a_selection_is_marked() {
    let graph = DataflowGraph::builder()
        .dataset(Dataset::streaming_table("a").query("SELECT 1"))
        .dataset(Dataset::temporary_view("v").query("SELECT 1").reads("a"))
        .dataset(Dataset::materialized_view("b").query("SELECT 1").reads("v"))
        .dataset(Dataset::materialized_view("c").query("SELECT 1"))
        .dataset(Dataset::temporary_view("unused").query("SELECT 1"))
        .build()
        .unwrap();
    let selection = crate::RefreshSelection::only(vec![crate::Identifier::parse("b").unwrap()], vec![]).unwrap();
    let mut picture = Picture::of(&graph);
    picture.mark_plan(&crate::RunPlan::new(&crate::Outline::of(&graph), &selection));
    let marks: Vec<String> =
        picture.nodes.iter().map(|node| node.mark.map(|mark| mark.to_string()).unwrap_or_default()).collect();
    assert_eq!(marks, ["read as it is", "", "update", "left out", "left out"]);
}

/// C074: a graph of nothing is drawn as nothing.
#[test]
fn an_empty_graph_is_drawn() {
    let empty = Picture::default();
    assert_eq!(empty.to_mermaid().unwrap(), "flowchart LR\n");
    assert!(empty.to_dot().ends_with("\n}\n") && empty.to_text().is_empty());
}

/// C100: sinks are nodes of their own kind, with a flow or without.
#[test]
fn sinks_are_nodes_of_their_own_kind() {
    let mut graph = DataflowGraph::builder().dataset(Dataset::streaming_table("src").query("SELECT 1"));
    for name in ["one", "two"] {
        graph = graph
            .dataset(Dataset::sink(name, "console"))
            .flow(Flow::builder(format!("to_{name}"), name, "SELECT * FROM STREAM src").reads("src"));
    }
    let graph = graph.dataset(Dataset::sink("idle", "memory")).build().unwrap();
    assert_eq!(
        Picture::of(&graph).to_text(),
        "streaming table  src\nsink             one <- src\nsink             two <- src\nsink             idle\n"
    );
}
