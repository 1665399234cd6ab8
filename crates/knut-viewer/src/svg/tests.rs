//! Drawings are well-formed whatever the names are, and say in words what they say in colours.

use knut_model::{DataflowGraph, Dataset, DatasetKind, Flow, Mark, NodeKind, Picture, PictureEdge, PictureNode};
use proptest::prelude::*;

use super::*;

fn edge(from: &str, to: &str, streaming: bool) -> PictureEdge {
    PictureEdge { from: from.to_owned(), to: to.to_owned(), streaming, inferred: false, mark: None }
}

fn named(names: &[&str]) -> Picture {
    let kind = NodeKind::Dataset(DatasetKind::MaterializedView);
    let nodes: Vec<PictureNode> = names.iter().map(|name| PictureNode::new(*name, kind)).collect();
    let edges = names.windows(2).map(|pair| edge(pair[0], pair[1], false)).collect();
    Picture { nodes, edges }
}

/// The texts of a drawing that are in elements of that name.
fn texts(svg: &str, element: &str) -> Vec<String> {
    let document = roxmltree::Document::parse(svg).unwrap();
    let found = document.descendants().filter(|node| node.has_tag_name(("http://www.w3.org/2000/svg", element)));
    found.map(|node| node.text().unwrap_or_default().to_owned()).collect()
}

#[test]
fn a_drawing_says_what_there_is() {
    let graph = DataflowGraph::builder()
        .dataset(Dataset::temporary_view("raw").query("SELECT 1"))
        .dataset(Dataset::streaming_table("orders").query(knut_model::AutoCdc::new("raw", ["id"], "at")))
        .dataset(Dataset::materialized_view("totals").query("SELECT 1").reads("orders").reads("elsewhere.t"))
        .dataset(Dataset::sink("out", "noop"))
        .flow(Flow::builder("f", "out", "SELECT 1").reads("totals"))
        .build()
        .unwrap();
    let mut picture = Picture::of(&graph);
    picture.nodes[1].group = Some("a.sql".to_owned());
    picture.nodes[2].mark = Some(Mark::Changed);
    let svg = svg(&picture, "shop");
    let told = texts(&svg, "text");
    for text in [
        "shop",
        "a.sql",
        "orders",
        "streaming table",
        "materialized view, changed",
        "temporary view",
        "external",
        "sink",
        "read in whole",
        "read as a stream",
    ] {
        assert!(told.iter().any(|found| found == text), "{text} in {told:?}");
    }
    let titles = texts(&svg, "title");
    for text in ["shop", "raw → orders (stream)", "orders → totals", "totals (materialized view, changed)"] {
        assert!(titles.iter().any(|found| found == text), "{text} in {titles:?}");
    }
    assert!(texts(&svg, "desc")[0].contains("5 nodes (1 of kind streaming table"), "{svg}");
    // Nothing is fetched and nothing runs.
    let links = svg.matches("http").count();
    assert_eq!(links, 1, "only the name of the format is a link");
    assert!(!svg.contains("<script") && !svg.contains("url(") && !svg.contains("@import"));
}

/// C038, C074, C075, C094: names stay names.
#[test]
fn names_stay_in_their_texts() {
    let names = [
        "<script>alert(1)</script>",
        "a(b)\"c#;]",
        "]]>",
        "&amp;",
        "end",
        "subgraph",
        "__proto__",
        "constructor",
        "null",
        "2024",
        "x\\",
        "->",
        "a\nb",
        "\u{1b}[31m",
        "目录",
        "größe_🚀",
        "مرحبا",
        "e\u{301}",
        "é",
        "\u{202e}evil",
        "-->",
        "",
    ];
    let svg = svg(&named(&names), "<title> & \"more\"");
    let told = texts(&svg, "text");
    for name in names.iter().filter(|name| !name.contains(['\n', '\u{1b}', '\u{202e}', '\0'])) {
        assert!(told.iter().any(|found| found == name), "{name} in {told:?}");
    }
    assert!(!svg.contains(['\u{1b}', '\u{202e}']));
    assert_eq!(told[0], "<title> & \"more\"");
}

/// C037, C076: names that differ at their ends only are told apart, whole names are there to hover
/// over, and the columns do not grow with them.
#[test]
fn long_names_lose_their_middle() {
    let stem = "n".repeat(190);
    let names = [format!("{stem}_first_one"), format!("{stem}_other_one")];
    let svg = svg(&named(&[&names[0], &names[1]]), "shop");
    let drawn: Vec<String> = texts(&svg, "text").into_iter().filter(|text| text.starts_with("nnn")).collect();
    assert_eq!(drawn.len(), 2);
    assert_ne!(drawn[0], drawn[1]);
    assert!(drawn.iter().all(|name| name.chars().count() == MAX_NAME && name.contains('…')), "{drawn:?}");
    let titles = texts(&svg, "title");
    assert!(names.iter().all(|name| titles.iter().any(|title| title.starts_with(name))));
    let document = roxmltree::Document::parse(&svg).unwrap();
    let width: f64 = document.root_element().attribute("width").unwrap().parse().unwrap();
    assert!(width < 900.0, "{width}");
}

#[test]
fn circles_and_an_empty_graph_are_drawn() {
    let mut picture = named(&["a", "b"]);
    picture.edges.push(edge("b", "a", true));
    picture.edges.push(edge("a", "a", false));
    picture.edges.push(edge("a", "nowhere", false));
    let drawn = svg(&picture, "shop");
    assert!(texts(&drawn, "title").iter().any(|title| title == "b → a (stream, closes a circle)"));
    assert!(texts(&drawn, "text").iter().any(|text| text == "closes a circle"));
    let empty = svg(&Picture::default(), "nothing");
    assert!(texts(&empty, "desc")[0].contains("0 nodes"));
}

#[test]
fn ten_thousand_nodes_are_drawn() {
    let names: Vec<String> = (0..10_000).map(|n| format!("table_{n}")).collect();
    let mut picture = named(&names.iter().map(String::as_str).collect::<Vec<_>>());
    picture.edges.extend((0..4_000).map(|n| edge(&names[n], &names[n + 5_000], true)));
    let svg = svg(&picture, "large");
    assert_eq!(svg.matches("materialized_view\" x=").count(), 10_001);
    assert!(svg.len() < 40_000_000, "{}", svg.len());
}

proptest! {
    #[test]
    fn any_name_makes_a_well_formed_drawing(
        names in proptest::collection::btree_set(any::<String>(), 1..6),
        group in proptest::option::of(any::<String>()),
        title in any::<String>(),
    ) {
        let names: Vec<&str> = names.iter().map(String::as_str).collect();
        let mut picture = named(&names);
        picture.nodes[0].group = group;
        let svg = svg(&picture, &title);
        prop_assert!(roxmltree::Document::parse(&svg).is_ok(), "{}", svg);
    }
}
