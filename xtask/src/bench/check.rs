//! P6: `knut check` of a large project, and whether its time grows with the project and no faster.

use std::fmt::Write as _;
use std::fs;
use std::path::Path;
use std::process::Command;

use super::{Bench, Figure, Measured};

/// Files of the large project; the small one has half as many.
const FILES: usize = 1_000;

/// Definitions in one file.
const DEFINITIONS: usize = 10;

/// Twice the project may take this many times the time: some of it is noise, and all of it could be caches.
const LINEAR: f64 = 2.4;

pub(super) fn measure(bench: &Bench<'_>) -> anyhow::Result<Measured> {
    let knut = bench.knut()?;
    let folder = tempfile::tempdir()?;
    let check = |n_files: usize| -> anyhow::Result<Command> {
        let project = folder.path().join(n_files.to_string());
        write_project(&project, n_files)?;
        let mut command = Command::new(&knut);
        command.arg("check").current_dir(project);
        Ok(command)
    };
    let usages = bench.in_turns(&mut [check(FILES)?, check(FILES / 2)?])?;
    let (large, small) = (usages[0], usages[1]);
    let growth = large.wall / small.wall;
    Ok(Measured {
        row: "P6",
        what: format!("knut check of {} definitions in {FILES} files", FILES * DEFINITIONS),
        target: "under 1 s, and twice the project takes at most 2.4 times the time",
        figures: vec![
            Figure::new("wall", large.wall, "s"),
            Figure::new("processor time", large.cpu, "s"),
            Figure::new("memory", large.memory, "MB"),
            Figure::new("half of it: wall", small.wall, "s"),
            Figure::new("growth from half to whole", growth, "ratio"),
        ],
        is_met: large.wall < 1.0 && growth <= LINEAR,
    })
}

/// A project as people write them: each file a small pipeline from a raw table to a report, with comments, named
/// columns, joins with the file before it, windows and sub-queries.
fn write_project(folder: &Path, n_files: usize) -> anyhow::Result<()> {
    fs::create_dir_all(folder.join("transformations"))?;
    let spec = "name: large\nstorage: storage\nlibraries:\n  - glob:\n      include: transformations/**\n";
    fs::write(folder.join("spark-pipeline.yml"), spec)?;
    for file in 0..n_files {
        fs::write(folder.join(format!("transformations/f{file:04}.sql")), sql(file)?)?;
    }
    Ok(())
}

fn sql(file: usize) -> anyhow::Result<String> {
    let mut sql = String::new();
    writeln!(sql, "-- The orders of shop {file}; one row for each.")?;
    writeln!(
        sql,
        "CREATE MATERIALIZED VIEW raw_{file} (id BIGINT COMMENT 'the order''s number', at TIMESTAMP, amount DECIMAL(10, 2)) \
         COMMENT 'as they come' AS\nSELECT id, timestamp_seconds(id) AS at, CAST(id % 97 AS DECIMAL(10, 2)) AS amount FROM range(1000);"
    )?;
    for step in 1..DEFINITIONS - 1 {
        let before = if step == 1 { format!("raw_{file}") } else { format!("step_{file}_{}", step - 1) };
        let other = if file == 0 { before.clone() } else { format!("step_{}_{step}", file - 1) };
        writeln!(
            sql,
            "\n/* Step {step}: joined with the shop before. */\nCREATE MATERIALIZED VIEW step_{file}_{step}\nPARTITIONED BY (day)\nAS WITH \
             days AS (\n  SELECT id, date_trunc('DAY', at) AS day, at, amount,\n    row_number() OVER (PARTITION BY date_trunc('DAY', at) ORDER BY \
             amount DESC) AS rank\n  FROM {before}\n)\nSELECT d.id, d.at, d.day, d.amount + coalesce(o.amount, 0) AS amount\nFROM days d LEFT JOIN \
             {other} o ON d.id = o.id\nWHERE d.rank <= 10 AND d.id NOT IN (SELECT id FROM raw_{file} WHERE amount < 0);"
        )?;
    }
    writeln!(
        sql,
        "\nCREATE MATERIALIZED VIEW report_{file} AS\nSELECT day, sum(amount) AS total, count(*) AS orders FROM step_{file}_{} GROUP BY day;",
        DEFINITIONS - 2
    )?;
    Ok(sql)
}
