//! The table for a person.

use std::io::{self, Write as _};

use super::{Figure, Measured};

/// Prints one paragraph for each row.
///
/// # Errors
/// When standard output cannot be written.
pub(super) fn print(measured: &[Measured]) -> anyhow::Result<()> {
    let mut out = io::stdout().lock();
    for row in measured {
        writeln!(out, "{:4} {}", row.row, row.what)?;
        for figure in &row.figures {
            writeln!(out, "       {:<44} {:>12}", figure.name, value(figure))?;
        }
        writeln!(out, "     {} {}", if row.is_met { "met:   " } else { "MISSED:" }, row.target)?;
    }
    Ok(())
}

fn value(figure: &Figure) -> String {
    match figure.unit {
        "count" => format!("{:.0}", figure.value),
        "ratio" => format!("{:.3}", figure.value),
        unit => format!("{:.3} {unit}", figure.value),
    }
}
