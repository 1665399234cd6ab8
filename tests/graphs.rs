//! `knut graph`: groups, selections, drawings.

use insta::assert_snapshot;
use knut_tests::{Project, Ran};

fn orders(args: &[&str]) -> Ran {
    Project::copy_of("examples/orders").run(&[&["graph"], args].concat())
}

#[test]
fn datasets_are_grouped_by_file_or_schema() {
    assert_snapshot!("text_by_file", orders(&["--group-by", "file"]).expect(0).stdout);
    let mut project = Project::with_sql(
        "USE DATABASE sales;\nCREATE MATERIALIZED VIEW m AS SELECT 1 AS x;\nCREATE TEMPORARY VIEW v AS SELECT * FROM m;\n\
         CREATE MATERIALIZED VIEW other.n AS SELECT * FROM v;",
    );
    assert_snapshot!("text_by_schema", project.run(&["graph", "--group-by", "schema"]).expect(0).stdout);
    let mermaid = project.run(&["graph", "--group-by", "schema", "--format", "mermaid"]).expect(0).stdout;
    assert!(mermaid.contains(r#"["sales"]"#) && mermaid.contains(r#"["other"]"#), "{mermaid}");
    let dot = project.run(&["graph", "--group-by", "none", "--format", "dot"]).expect(0).stdout;
    assert!(!dot.contains("subgraph"), "{dot}");
}

/// A selection runs nothing upstream; the picture says what it does to each dataset.
#[test]
fn a_selection_is_marked() {
    assert_snapshot!(
        "a_selection_as_text",
        orders(&["--refresh", "revenue_by_country", "--full-refresh", "customers"]).expect(0).stdout
    );
    let ran = orders(&["--refresh", "nosuch"]).expect(4);
    assert!(ran.stderr.contains("no table is called nosuch"), "{}", ran.told());
}

/// A whole file that a browser shows; `crates/knut-viewer/src/svg/tests.rs` looks into it.
#[test]
fn a_graph_as_a_drawing() {
    let svg = orders(&["--format", "svg", "--focus", "customers"]).expect(0).stdout;
    assert!(svg.starts_with("<svg xmlns=") && svg.ends_with("</svg>\n"), "{svg}");
    assert_snapshot!("a_drawing", svg);
}
