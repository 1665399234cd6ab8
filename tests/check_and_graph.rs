//! `knut check` and `knut graph`: what they say without a server.

use insta::assert_snapshot;
use knut_tests::Project;

/// A project with something wrong in each of its files.
fn wrong() -> Project {
    Project::with_sql(
        "CREATE STREAMING TABLE orders AS SELECT * FROM raw;\n\nCREATE MATERIALIZED VIEW a AS\n\tSELECT * FROM c; -- 漢\n",
    )
    .file("transformations/b.sql", "CREATE MATERIALIZED VIEW b AS SELECT * FROM a;\nCREATE MATERIALIZED VIEW c AS SELECT * FROM b;\n")
    .file("transformations/c.sql", "CREATE OR REFRESH STREAMING TABLE old (CONSTRAINT x EXPECT (id > 0));\nUSE sales.eu;")
    .file("knut.toml", "[sources.raw]\nformat = \"rate\"\nstreaming = true\n")
}

#[test]
fn everything_wrong_is_told_at_once() {
    assert_snapshot!(wrong().run(&["check"]).told());
}

#[test]
fn for_programs() {
    let ran = wrong().run(&["check", "--format", "json"]).expect(3);
    for line in ran.stdout.lines() {
        let finding: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(finding["v"], 1, "{line}");
    }
    assert_snapshot!(ran.told());
}

#[test]
fn for_github() {
    assert_snapshot!(wrong().run(&["check", "--format", "github"]).told());
}

/// Services look for the files in their checkout, where a project may lie in any folder.
#[test]
fn paths_for_services_begin_where_the_check_ran() {
    let mut project = Project::empty()
        .file("etl/shop/spark-pipeline.yml", "name: n\nstorage: s\nlibraries:\n  - glob:\n      include: t/**\n")
        .file("etl/shop/t/a.sql", "DROP TABLE x");
    let spec = "etl/shop/spark-pipeline.yml";
    let github = project.run(&["check", "--format", "github", "--spec", spec]).expect(3);
    assert!(github.stdout.contains("file=etl/shop/t/a.sql,"), "{}", github.told());
    let sarif = project.run(&["check", "--format", "sarif", "--spec", spec]).expect(3);
    assert!(sarif.stdout.contains("\"etl/shop/t/a.sql\""), "{}", sarif.told());
    let human = project.run(&["check", "--spec", spec]).expect(3);
    assert!(human.stderr.contains("--> t/a.sql:1:1"), "{}", human.told());
}

/// A log that a code scanning service can take: every index and reference in it holds.
#[test]
fn for_code_scanning() {
    let mut project = wrong()
        .file("transformations/é b#1.sql", "CREATE MATERIALIZED VIEW `größe` AS SELECT '漢🚀' AS x; DROP TABLE x")
        .file("transformations/c.txt", "");
    let ran = project.run(&["check", "--format", "sarif"]).expect(3);
    let log: serde_json::Value = serde_json::from_str(&ran.stdout).unwrap();
    assert_eq!((&log["version"], log["runs"].as_array().unwrap().len()), (&"2.1.0".into(), 1));
    let run = &log["runs"][0];
    let rules = run["tool"]["driver"]["rules"].as_array().unwrap();
    let ids: std::collections::BTreeSet<_> = rules.iter().map(|rule| rule["id"].as_str().unwrap()).collect();
    assert_eq!(ids.len(), rules.len(), "each rule once");
    for rule in rules {
        assert!(rule["help"]["text"].as_str().is_some_and(|text| text.len() > 20), "{rule}");
    }
    let results = run["results"].as_array().unwrap();
    assert!(results.len() >= 8, "{results:?}");
    for result in results {
        let rule = &rules[usize::try_from(result["ruleIndex"].as_u64().unwrap()).unwrap()];
        assert_eq!(rule["id"], result["ruleId"]);
        assert_eq!(rule["defaultConfiguration"]["level"], result["level"]);
        let related = result["relatedLocations"].as_array();
        for location in result["locations"].as_array().unwrap().iter().chain(related.into_iter().flatten()) {
            let place = &location["physicalLocation"];
            let uri = place["artifactLocation"]["uri"].as_str().unwrap();
            assert!(uri.is_ascii() && !uri.contains([' ', '#']), "{uri}");
            let base = place["artifactLocation"]["uriBaseId"].as_str().unwrap();
            assert!(run["originalUriBaseIds"][base].is_object());
            let region = &place["region"];
            let number = |key: &str| region[key].as_u64().unwrap();
            if region.is_object() {
                let (start, end) =
                    ((number("startLine"), number("startColumn")), (number("endLine"), number("endColumn")));
                assert!((1, 1) <= start && start <= end, "{region}");
            } else {
                assert_eq!(uri, "transformations/c.txt");
            }
        }
    }
    let drop = results.iter().find(|result| result["ruleId"] == "K0101").unwrap();
    let place = &drop["locations"][0]["physicalLocation"];
    assert_eq!(place["artifactLocation"]["uri"], "transformations/%C3%A9%20b%231.sql");
    // In characters, as `columnKind` says: the rocket is one.
    assert_eq!((&run["columnKind"], &place["region"]["startColumn"]), (&"unicodeCodePoints".into(), &55.into()));
    let sound = Project::copy_of("examples/orders").run(&["check", "--format", "sarif"]).expect(0);
    assert!(sound.stdout.contains("\"results\": []"), "{}", sound.told());
}

#[test]
fn a_sound_project_passes() {
    assert_snapshot!(Project::copy_of("examples/orders").run(&["check"]).told());
}

#[test]
fn codes_are_explained() {
    assert_snapshot!(Project::empty().run(&["check", "--explain", "k0203"]).told());
    let ran = Project::empty().run(&["check", "--explain", "K9999"]).expect(2);
    assert!(ran.stderr.contains("there is no code K9999"), "{}", ran.told());
}

/// A run asks no server what `check` knows already, unless it is told to.
#[test]
fn a_run_checks_first() {
    let args = ["run", "--remote", "sc://127.0.0.1:1"];
    let ran = wrong().run(&args).expect(3);
    assert!(
        ran.stderr.contains("error[K0203]") && ran.stderr.contains("the server would refuse this project"),
        "{}",
        ran.told()
    );
    let ran = wrong().run(&[&args[..], &["--no-check"]].concat()).expect(7);
    assert!(!ran.stderr.contains("K0203"), "{}", ran.told());
}

/// The server would ignore the name and say success.
#[test]
fn a_refresh_of_what_is_not_there_is_refused() {
    let refused = |name: &str| {
        Project::copy_of("examples/orders").run(&["run", "--remote", "sc://127.0.0.1:1", "--refresh", name])
    };
    for (name, hints) in [
        ("customers,ordesr", &["no table is called ordesr", "help: did you mean orders?"][..]),
        ("web_orders", &["web_orders is a flow, not a table", "help: name the dataset that it writes into, orders"]),
        ("order_values", &["order_values is a temporary view, and only tables can be selected"]),
        // All that is wrong is told.
        ("ordesr,nosuch", &["called ordesr", "called nosuch", "the project has orders, shipments"]),
    ] {
        let ran = refused(name).expect(4);
        assert!(hints.iter().all(|hint| ran.stderr.contains(hint)), "{}", ran.told());
    }
    refused("orders,default.customers").expect(7);
}

#[test]
fn a_graph_in_every_form() {
    let graph = |args: &[&str]| Project::copy_of("examples/orders").run(&[&["graph"], args].concat()).expect(0).stdout;
    assert_snapshot!("graph_as_text", graph(&[]));
    assert_snapshot!("graph_in_mermaid", graph(&["--format", "mermaid"]));
    assert_snapshot!("graph_in_dot", graph(&["--format", "dot", "--focus", "orders", "--up", "1", "--down", "1"]));
    assert_snapshot!("graph_in_json", graph(&["--format", "json", "--focus", "customers"]));
    let ran = Project::copy_of("examples/orders").run(&["graph", "--focus", "nosuch"]).expect(2);
    assert!(ran.stderr.contains("the graph has no nosuch"), "{}", ran.told());
}
