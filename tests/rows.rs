//! Rows of queries on a real Spark server.

use knut_tests::Project;

/// One server for all: a start takes longer than the rest.
#[test]
fn rows_are_printed() {
    let mut project = Project::with_sql("CREATE MATERIALIZED VIEW totals AS SELECT id, id / 2 AS half FROM range(30)");
    project.run(&["run", "--local"]).expect(0);

    let shown = project.run(&["preview", "totals", "--limit", "2"]).expect(0);
    assert_eq!(shown.stdout.lines().next(), Some("id  half"), "{}", shown.told());
    assert_eq!(shown.stdout.lines().count(), 4, "{}", shown.told());
    assert!(shown.stderr.contains("2 rows, and there are more"), "{}", shown.told());
    let unknown = project.run(&["preview", "nope"]).expect(6);
    assert!(unknown.stderr.contains("TABLE_OR_VIEW_NOT_FOUND"), "{}", unknown.told());

    every_row_of_a_large_result_comes_once(&mut project);
    values_are_shown_as_spark_does(&mut project);

    // A command gives no rows, and what comes after a failure is not executed.
    let several = "CREATE TABLE q (a INT); INSERT INTO q VALUES (7); SELECT * FROM q; DROP TABLE q; SELECT * FROM q; SELECT 3 AS b";
    let ran = project.run(&["sql", "--format", "csv", several]).expect(6);
    assert_eq!(ran.stdout, "a\r\n7\r\n", "{}", ran.told());
}

fn every_row_of_a_large_result_comes_once(project: &mut Project) {
    let ran = project.run(&["sql", "--format", "json", "SELECT id FROM range(300000)"]).expect(0);
    let ids: Vec<String> = ran.stdout.lines().map(str::to_owned).collect();
    assert_eq!(ids.len(), 300_000);
    assert!(ids.iter().enumerate().all(|(index, line)| *line == format!("{{\"id\":{index}}}")));
}

fn values_are_shown_as_spark_does(project: &mut Project) {
    let values = "1.50BD AS d, X'00ff' AS b, timestamp'2024-07-02 03:04:05.6' AS t, array(1, NULL) AS l, \
                  map('k', named_struct('x', 1e10D, 'y', INTERVAL '1' DAY)) AS m, CAST(NULL AS STRING) AS n, 'NULL' AS s";
    let ran = project.run(&["sql", &format!("SET TIME ZONE 'Europe/Berlin'; SELECT {values}")]).expect(0);
    let last = ran.stdout.lines().last().unwrap_or_default();
    let cells: Vec<&str> = last.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    let expected = [
        "1.50",
        "[00 FF]",
        "2024-07-02 03:04:05.6",
        "[1, NULL]",
        "{k -> {1.0E10, INTERVAL '1 00:00:00' DAY TO SECOND}}",
        "NULL",
        "'NULL'",
    ];
    assert_eq!(cells, expected, "{}", ran.told());
}
