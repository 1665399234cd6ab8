//! Rows as an aligned table for people.

use std::io::IsTerminal as _;

use knut_client::arrow_array::RecordBatch;
use knut_client::arrow_schema::{DataType, Schema};
use knut_viewer::visible;
use unicode_width::{UnicodeWidthChar as _, UnicodeWidthStr as _};

use super::value::{Value, value};
use crate::printer::Printer;

/// How wide one cell may be on a terminal.
const MAX_CELL: usize = 60;
const GAP: &str = "  ";

/// A table that grows.
pub(super) struct Table {
    columns: Vec<Column>,
    n_rows: usize,
    /// How wide it may be; `None` where nobody looks at it on a terminal.
    width: Option<usize>,
}

struct Column {
    /// The name, then the rows.
    cells: Vec<String>,
    width: usize,
    is_number: bool,
}

impl Column {
    fn add(&mut self, cell: String) {
        self.width = self.width.max(cell.width());
        self.cells.push(cell);
    }
}

impl Table {
    pub(super) fn new(schema: &Schema) -> Self {
        let terminal = std::io::stdout().is_terminal().then(terminal_size::terminal_size).flatten();
        Self::of_width(schema, terminal.map(|(width, _)| usize::from(width.0)))
    }

    pub(super) fn of_width(schema: &Schema, width: Option<usize>) -> Self {
        let columns = schema.fields().iter().map(|field| {
            let kind = field.data_type();
            let is_number = kind.is_numeric() && !matches!(kind, DataType::Null);
            let mut column = Column { cells: Vec::new(), width: 0, is_number };
            column.add(fitted(field.name(), width.is_some()));
            column
        });
        Self { columns: columns.collect(), n_rows: 0, width }
    }

    /// Adds the first rows of a batch.
    pub(super) fn add(&mut self, batch: &RecordBatch, n_rows: usize) {
        for (column, array) in self.columns.iter_mut().zip(batch.columns()) {
            for row in 0..n_rows {
                column.add(fitted(&cell(&value(array, row)), self.width.is_some()));
            }
        }
        self.n_rows += n_rows;
    }

    pub(super) fn print(&self, printer: &mut Printer) {
        let (lines, n_cut) = self.lines();
        let mut text = lines.join("\n");
        text.push('\n');
        printer.data(&text);
        if n_cut > 0 {
            let columns = if n_cut == 1 { "column does" } else { "columns do" };
            printer.note(&format!("{n_cut} more {columns} not fit here: name the ones you want, or use --format"));
        }
    }

    /// The lines, and how many columns were left out.
    pub(super) fn lines(&self) -> (Vec<String>, usize) {
        let mut room = self.width.unwrap_or(usize::MAX);
        let mut n_shown = 0;
        for column in &self.columns {
            let width = column.width + if n_shown > 0 { GAP.len() } else { 0 };
            // One column is shown in any case.
            if width > room && n_shown > 0 {
                break;
            }
            room = room.saturating_sub(width);
            n_shown += 1;
        }
        let shown = &self.columns[..n_shown.min(self.columns.len())];
        let line = |index: usize| {
            let cells = shown.iter().map(|column| {
                let cell = column.cells.get(index).map_or("", String::as_str);
                let pad = " ".repeat(column.width.saturating_sub(cell.width()));
                if column.is_number { pad + cell } else { cell.to_owned() + &pad }
            });
            cells.collect::<Vec<_>>().join(GAP).trim_end().to_owned()
        };
        let rule: Vec<String> = shown.iter().map(|column| "-".repeat(column.width.max(1))).collect();
        let mut lines = vec![line(0), rule.join(GAP)];
        lines.extend((1..=self.n_rows).map(line));
        (lines, self.columns.len() - shown.len())
    }
}

/// A cell's text. The text NULL stands in quotes, and so does that, so that it is not taken for a NULL.
fn cell(value: &Value<'_>) -> String {
    match value {
        Value::Text(text) if text.trim_matches('\'') == "NULL" => format!("'{text}'"),
        value => value.shown(),
    }
}

/// One line without anything that could act on a terminal, cut if it must fit.
fn fitted(text: &str, must_fit: bool) -> String {
    let text = visible(text).replace('\n', "\\n").replace('\t', "\\t");
    if !must_fit || text.width() <= MAX_CELL {
        return text;
    }
    let mut cut = String::new();
    let mut width = 0;
    for c in text.chars() {
        width += c.width().unwrap_or(0);
        if width > MAX_CELL - 1 {
            break;
        }
        cut.push(c);
    }
    cut + "…"
}
