//! Graphs go to JSON and come back the same; what is wrong in a document is told.

use proptest::prelude::*;

use super::GraphDocument;
use crate::{AutoCdc, CdcColumns, DataflowGraph, Dataset, Flow, Identifier, Query, SourceLocation, SourceRead};

fn at(file: &str, line: u32) -> SourceLocation {
    SourceLocation { file: file.to_owned(), line: Some(line) }
}

/// The graph of docs/graph-json.md.
fn documented() -> DataflowGraph {
    let raw = SourceRead::csv(["s3://shop/orders"]).schema("id INT, amount DECIMAL(10, 2)").streaming();
    let changes = AutoCdc::new("customer_changes", ["id"], "changed_at")
        .apply_as_deletes("op = 'delete'")
        .columns(CdcColumns::Except(vec!["op".to_owned()]))
        .scd_type_2(CdcColumns::Only(vec!["country".to_owned()]));
    DataflowGraph::builder()
        .default_database("sales")
        .sql_conf("spark.sql.shuffle.partitions", "8")
        .dataset(Dataset::temporary_view("raw_orders").query(raw.option("header", "true")))
        .dataset(
            Dataset::streaming_table("orders")
                .comment("Every order, one row each")
                .partition_by("ordered_on")
                .property("owner", "shop")
                .source_location(at("pipeline.rs", 12)),
        )
        .flow(Flow::builder("web", "orders", "SELECT * FROM STREAM raw_orders").reads("raw_orders"))
        .dataset(
            Dataset::materialized_view("sales.`daily totals`")
                .query("SELECT count(*) AS n FROM orders")
                .format("delta"),
        )
        .dataset(Dataset::streaming_table("customers").query(changes))
        .dataset(Dataset::sink("to_kafka", "kafka").option("topic", "orders"))
        .flow(Flow::builder(
            "out",
            "to_kafka",
            Query::Table { name: Identifier::parse("orders").unwrap(), streaming: true },
        ))
        .build()
        .unwrap()
}

/// The page's example is what a graph becomes, and every field of it is in the page.
#[test]
fn the_page_shows_what_is_written() {
    let page = include_str!("../../../../docs/graph-json.md");
    let written = serde_json::to_string_pretty(&documented()).unwrap();
    assert!(page.contains(&format!("```json\n{written}\n```")), "docs/graph-json.md should show\n{written}");
    let read: DataflowGraph = serde_json::from_str(&written).unwrap();
    assert_eq!(read, documented());
    let document = include_str!("document.rs");
    let parts = include_str!("parts.rs");
    let fields = document.lines().chain(parts.lines()).filter_map(|line| {
        let (name, _) = line.strip_prefix("    ")?.trim_start().strip_suffix(',')?.split_once(": ")?;
        name.chars().all(|c| c.is_ascii_lowercase() || c == '_').then_some(name)
    });
    let fields: Vec<&str> = fields.collect();
    assert!(fields.len() > 25, "{fields:?}");
    for field in fields {
        assert!(page.contains(field), "docs/graph-json.md does not tell of {field}");
    }
}

fn refused(text: &str) -> String {
    serde_json::from_str::<DataflowGraph>(text).unwrap_err().to_string()
}

/// A document makes no graph that the builder refuses, and all that is wrong is told.
#[test]
fn all_problems_are_told() {
    let text = r#"{ "format": 1,
        "datasets": [
            { "kind": "materialized_view", "name": "hy-phen" },
            { "kind": "temporary_view", "name": "v", "format": "csv" },
            { "kind": "sink", "name": "out" },
            { "kind": "persisted_view", "name": "p" },
            { "kind": "streaming_table", "name": "t" }
        ],
        "flows": [
            { "name": "v", "target": "v", "query": { "kind": "table", "name": "a b" } },
            { "name": "p", "target": "p", "query": { "kind": "sql", "sql": "SELECT 1" }, "reads": ["x..y"] },
            { "name": "f", "target": "t", "query": { "kind": "auto_cdc", "source": "s", "keys": [], "sequence_by": "n" } }
        ] }"#;
    let document: GraphDocument = serde_json::from_str(text).unwrap();
    let problems = document.graph().unwrap_err();
    let told: Vec<String> = problems.problems().iter().map(ToString::to_string).collect();
    assert_eq!(
        told,
        [
            "bad name of a materialized view: `hy-phen` is not a valid name: a part with characters other than letters, \
             digits and _ must stand in backticks",
            "bad name of a read: `a b` is not a valid name: a part with characters other than letters, digits and _ \
             must stand in backticks",
            "bad name of a read: `x..y` is not a valid name: a part of it is empty",
            "the temporary view v takes no format",
            "the sink out has no format: say which data source it writes to, such as kafka",
            "the view p can only be defined in a SQL file: the protocol has no message for it",
            "the flow f cannot apply changes: it has no key columns",
        ]
    );
    assert!(refused(text).starts_with(&problems.to_string()), "{}", refused(text));
}

#[test]
fn what_is_not_the_form_is_refused() {
    let with = |fields: &str| refused(&format!("{{ \"format\": 1, {fields} }}"));
    for (told, expected) in [
        (refused("{}"), "missing field `format`"),
        (refused(r#"{ "format": 2, "future": [] }"#), "the graph has format 2; this version reads 1"),
        (with(r#""tables": []"#), "unknown field `tables`"),
        (with(r#""sql_conf": { "a": "1", "a": "2" }"#), "`a` stands twice"),
        (with(r#""datasets": [], "datasets": []"#), "duplicate field `datasets`"),
        (with(r#""datasets": [{ "kind": "live_table", "name": "t" }]"#), "unknown variant `live_table`"),
        (
            with(r#""datasets": [{ "kind": "sink", "name": "t", "partition_colums": [] }]"#),
            "unknown field `partition_colums`",
        ),
        (
            with(r#""flows": [{ "name": "f", "target": "t", "query": { "kind": "sql", "sql": "", "x": 1 } }]"#),
            "unknown field `x`",
        ),
        (
            with(r#""flows": [{ "name": "f", "target": "t", "query": { "kind": "source", "paht": 1 } }]"#),
            "unknown field `paht`",
        ),
        (
            with(
                r#""flows": [{ "name": "f", "target": "t", "query":
                { "kind": "auto_cdc", "source": "s", "keys": [], "sequence_by": "n", "scd_type": 3 } }]"#,
            ),
            "`scd_type` is 1 or 2, not 3",
        ),
    ] {
        assert!(told.contains(expected), "{told}");
    }
}

#[test]
fn parts_stand_alone() {
    let query: Query = serde_json::from_str(r#"{ "kind": "table", "name": "`a b`.c", "streaming": true }"#).unwrap();
    assert_eq!(serde_json::to_string(&query).unwrap(), r#"{"kind":"table","name":"`a b`.c","streaming":true}"#);
    let name: Identifier = serde_json::from_str(r#"" a.`b` ""#).unwrap();
    assert!(serde_json::from_str::<Identifier>(r#""a b""#).is_err());
    assert_eq!(serde_json::to_string(&name).unwrap(), r#""a.b""#);
    let graph = documented();
    assert!(serde_json::to_string(&graph.datasets()[0]).unwrap().contains("temporary_view"));
    assert!(serde_json::to_string(&graph.flows()[0]).unwrap().contains("raw_orders"));
}

fn text() -> impl Strategy<Value = String> {
    proptest::collection::vec(any::<char>(), 0..6).prop_map(|chars| chars.into_iter().collect())
}

fn texts() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(text(), 0..3)
}

/// A column's name, quoted.
fn columns() -> impl Strategy<Value = Vec<String>> {
    proptest::collection::vec(text().prop_map(|name| quoted(&format!("c{name}"))), 1..3)
}

fn choice() -> impl Strategy<Value = CdcColumns> {
    prop_oneof![Just(CdcColumns::All), columns().prop_map(CdcColumns::Only), columns().prop_map(CdcColumns::Except)]
}

fn quoted(part: &str) -> String {
    Identifier::from_parts([part]).unwrap().to_string()
}

fn source() -> impl Strategy<Value = SourceRead> {
    (proptest::option::of(text()), proptest::option::of(text()), texts(), text(), any::<bool>()).prop_map(
        |(format, schema, paths, option, streaming)| SourceRead {
            format,
            schema,
            paths,
            options: [(option.clone(), option)].into(),
            streaming,
        },
    )
}

fn query() -> impl Strategy<Value = Query> {
    prop_oneof![
        text().prop_map(Query::Sql),
        source().prop_map(Query::Source),
        (text(), any::<bool>()).prop_map(|(name, streaming)| {
            Query::Table { name: Identifier::from_parts([format!("t{name}")]).unwrap(), streaming }
        }),
        (text(), text(), source()).prop_map(|(sql, name, read)| Query::sql_over(sql, [(name, read)])),
        (columns(), proptest::option::of(text()), choice(), choice(), any::<bool>()).prop_map(
            |(keys, deletes, columns, history, keeps_history)| {
                let mut cdc = AutoCdc::new("changes", keys, "at").columns(columns);
                cdc.apply_as_deletes = deletes;
                Query::AutoCdc(if keeps_history { cdc.scd_type_2(history) } else { cdc })
            }
        ),
    ]
}

proptest! {
    #[test]
    fn a_graph_comes_back_the_same(
        datasets in proptest::collection::vec((0_u8..5, text(), query(), text(), texts(), any::<bool>(), any::<u32>()), 1..6),
        defaults in (proptest::option::of(text()), proptest::option::of(text())),
        conf in (text(), text()),
        file in proptest::option::of((text(), text())),
    ) {
        let mut graph = DataflowGraph::builder().sql_conf(conf.0, conf.1).dataset(Dataset::sink("always", "noop"));
        if let Some(catalog) = defaults.0 {
            graph = graph.default_catalog(catalog);
        }
        if let Some(database) = defaults.1 {
            graph = graph.default_database(database);
        }
        for (index, (kind, name, query, text, texts, flag, line)) in datasets.into_iter().enumerate() {
            let part = format!("{index}_{name}");
            let own = quoted(&part);
            let table = Identifier::from_parts(["db.".to_owned(), part.clone()]).unwrap().to_string();
            let location = SourceLocation { file: text.clone(), line: flag.then_some(line) };
            let dataset = match kind {
                0 => Dataset::temporary_view(&own).query(query).sql_conf(&*text, "x"),
                1 => Dataset::materialized_view(&table).query(query).schema(&*text).property(&*text, "x").reads(&table),
                2 => Dataset::streaming_table(&table).query(query).format(&*text),
                3 => Dataset::sink(&own, format!("f{text}")).option(&*text, &*text),
                _ => Dataset::streaming_table(&own),
            };
            let dataset = texts.into_iter().filter(|_| (1..3).contains(&kind)).fold(dataset, |dataset, column| {
                if flag { dataset.partition_by(column) } else { dataset.cluster_by(column) }
            });
            graph = graph.dataset(dataset.comment(text).source_location(location.clone()));
            if kind == 4 {
                let flow = Flow::builder(quoted(&format!("{index}_flow")), own, Query::Sql(name));
                graph = graph.flow(flow.reads("raw").sql_conf("k", "v").source_location(location));
            }
        }
        if let Some((path, text)) = file {
            graph = graph.sql_file(path, text);
        }
        let graph = graph.build().unwrap();
        let text = serde_json::to_string(&graph).unwrap();
        let read: DataflowGraph = serde_json::from_str(&text).unwrap();
        prop_assert_eq!(&read, &graph);
        prop_assert_eq!(serde_json::to_string(&read).unwrap(), text);
    }
}
