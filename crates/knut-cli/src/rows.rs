//! The rows of a query, written as a table for people or as data for programs.

mod csv;
mod json;
mod table;
#[cfg(test)]
mod tests;
mod value;

use knut_client::arrow_array::RecordBatch;
use knut_client::arrow_schema::Schema;

use crate::args::RowFormat;
use crate::printer::Printer;
use table::Table;

/// How many rows a table shows unless something else is asked for: it is held in memory, and nobody
/// reads more.
const TABLE_LIMIT: u64 = 1000;

/// Writes the rows of one query.
pub(crate) struct RowsWriter {
    format: RowFormat,
    /// How many rows are written; `None` is all.
    limit: Option<u64>,
    table: Option<Table>,
    n_rows: u64,
    has_columns: bool,
    is_cut: bool,
}

impl RowsWriter {
    pub(crate) fn new(format: RowFormat, limit: Option<u64>) -> Self {
        let limit = limit.or_else(|| (format == RowFormat::Table).then_some(TABLE_LIMIT));
        Self { format, limit, table: None, n_rows: 0, has_columns: false, is_cut: false }
    }

    /// Takes the columns. A command gives none, and then nothing is written.
    pub(crate) fn columns(&mut self, schema: &Schema, printer: &mut Printer) {
        self.has_columns = !schema.fields().is_empty();
        if !self.has_columns {
            return;
        }
        match self.format {
            RowFormat::Table => self.table = Some(Table::new(schema)),
            RowFormat::Csv => printer.data(&csv::header(schema)),
            RowFormat::Json => {}
        }
    }

    /// Writes rows and tells whether more are wanted.
    pub(crate) fn rows(&mut self, batch: &RecordBatch, printer: &mut Printer) -> bool {
        if !self.has_columns {
            return true;
        }
        let room = self.limit.map_or(u64::MAX, |limit| limit.saturating_sub(self.n_rows));
        let n_rows = usize::try_from(room).unwrap_or(usize::MAX).min(batch.num_rows());
        self.is_cut = n_rows < batch.num_rows();
        self.n_rows += n_rows as u64;
        match (self.format, &mut self.table) {
            (RowFormat::Table, Some(table)) => table.add(batch, n_rows),
            (RowFormat::Csv, _) => {
                let lines: String = (0..n_rows).map(|row| csv::line(batch, row)).collect();
                printer.data(&lines);
            }
            _ => {
                let lines: String = (0..n_rows).map(|row| json::line(batch, row)).collect();
                printer.data(&lines);
            }
        }
        !self.is_cut && !printer.is_reader_gone()
    }

    /// Writes what is not written yet.
    pub(crate) fn finish(&mut self, printer: &mut Printer) {
        if let Some(table) = self.table.take() {
            table.print(printer);
        }
    }

    /// Whether the statement gave columns, and so a result.
    pub(crate) fn has_columns(&self) -> bool {
        self.has_columns
    }

    /// How many rows were written, in words.
    pub(crate) fn count(&self) -> String {
        let rows = if self.n_rows == 1 { "row" } else { "rows" };
        let more = if self.is_cut { ", and there are more: --limit says how many are shown" } else { "" };
        format!("{} {rows}{more}", self.n_rows)
    }
}
