//! `examples/orders` on a real Spark server: its rows are worked out by hand from the files under
//! `examples/orders/data`.

use knut_tests::Project;

/// 8 orders; the two files of the stream together.
const ORDERS: &str =
    "SELECT order_id, customer_id, product, quantity, unit_price, ordered_on FROM orders WHERE order_id IN (1, 8)";
const REVENUE: &str = "SELECT country, n_orders, revenue FROM revenue_by_country";
const OPEN: &str = "SELECT order_id, name, amount FROM open_orders";

/// NL: 2×3.50 + 3×12.00 + 1×89.90 + 4×4.20 + 1×12.00; DE: 4.20 + 12.00; FR: 10×3.50.
const REVENUE_ROWS: [&str; 3] = [
    r#"{"country":"DE","n_orders":2,"revenue":16.20}"#,
    r#"{"country":"FR","n_orders":1,"revenue":35.00}"#,
    r#"{"country":"NL","n_orders":5,"revenue":161.70}"#,
];
/// Orders 4, 7 and 8 were not shipped.
const OPEN_ROWS: [&str; 3] = [
    r#"{"order_id":4,"name":"Chika","amount":89.90}"#,
    r#"{"order_id":7,"name":"Chika","amount":16.80}"#,
    r#"{"order_id":8,"name":"Ada","amount":12.00}"#,
];

fn check_rows(project: &mut Project) {
    assert_eq!(
        project.rows(ORDERS),
        [
            r#"{"order_id":1,"customer_id":1,"product":"espresso","quantity":2,"unit_price":3.50,"ordered_on":"2026-01-05"}"#,
            r#"{"order_id":8,"customer_id":1,"product":"beans","quantity":1,"unit_price":12.00,"ordered_on":"2026-02-14"}"#,
        ]
    );
    assert_eq!(project.rows("SELECT count(*) AS n FROM orders"), [r#"{"n":8}"#]);
    assert_eq!(project.rows("SELECT count(*) AS n FROM shipments"), [r#"{"n":5}"#]);
    assert_eq!(project.rows(REVENUE), REVENUE_ROWS);
    assert_eq!(project.rows(OPEN), OPEN_ROWS);
}

/// Tables, their files and the streams' checkpoints outlive the server together.
#[test]
fn the_example_gives_the_same_rows_before_and_after_a_restart() {
    let mut project = Project::copy_of("examples/orders");
    let ran = project.run(&["run", "--local"]).expect(0);
    assert!(ran.stdout.starts_with("run COMPLETED in ") && ran.stdout.ends_with(": 5 completed\n"), "{}", ran.told());
    for flow in ["customers", "web_orders", "shipments", "revenue_by_country", "open_orders"] {
        assert!(ran.stderr.contains(&format!("spark_catalog.default.{flow}")), "{}", ran.told());
    }
    check_rows(&mut project);

    project.run(&["local", "stop"]).expect(0);
    project.run(&["run", "--local"]).expect(0);
    check_rows(&mut project);

    // A stream reads only what is new; what is computed from it follows.
    let march = "order_id,customer_id,product,quantity,unit_price,ordered_on\n9,4,beans,2,12.00,2026-03-01\n";
    project.write("data/orders/2026-03.csv", march);
    project.run(&["run", "--local"]).expect(0);
    assert_eq!(project.rows("SELECT count(*) AS n FROM orders"), [r#"{"n":9}"#]);
    assert_eq!(
        project.rows(&format!("{REVENUE} WHERE country = 'FR'")),
        [r#"{"country":"FR","n_orders":2,"revenue":59.00}"#]
    );

    // A stream from nothing gives the same rows, not twice as many, and a dry run elsewhere none.
    let ran = project.run(&["run", "--local", "--full-refresh", "orders"]).expect(0);
    assert!(ran.stdout.ends_with(": 1 completed, 4 excluded\n"), "{}", ran.told());
    project.run(&["dry-run", "--local", "--storage", "elsewhere"]).expect(0);
    assert_eq!(project.rows("SELECT count(*) AS n FROM orders"), [r#"{"n":9}"#]);

    // One table alone, and everything from nothing.
    project.write("data/customers/customers.json", "{\"customer_id\": 4, \"name\": \"Dora\", \"country\": \"BE\"}\n");
    let ran = project.run(&["run", "--local", "--refresh", "customers"]).expect(0);
    assert!(ran.stdout.ends_with(": 1 completed, 4 excluded\n"), "{}", ran.told());
    project.run(&["run", "--local", "--full-refresh-all"]).expect(0);
    assert_eq!(project.rows("SELECT count(*) AS n FROM orders"), [r#"{"n":9}"#]);
    assert_eq!(project.rows(REVENUE), [r#"{"country":"BE","n_orders":2,"revenue":59.00}"#]);
}

/// What `knut init` writes runs at once, also where the path has a space (C018), and leaves nothing
/// outside the project: Spark alone would keep the checkpoints in a folder `my%20shop` beside it.
#[test]
fn a_new_project_runs() {
    let mut project = Project::empty();
    project.run(&["init", "my shop"]).expect(0);
    let spec = "my shop/spark-pipeline.yml";
    let ran = project.run(&["run", "--local", "--spec", spec]);
    project.run(&["local", "stop", "--spec", spec]).expect(0);
    let ran = ran.expect(0);
    assert!(!ran.stderr.contains("warning"), "{}", ran.told());
    let folders: Vec<_> = project.path().read_dir().unwrap().map(|entry| entry.unwrap().file_name()).collect();
    assert_eq!(folders, ["my shop"]);
    assert!(project.path().join("my shop/.knut/storage/_checkpoints").is_dir());
}
