//! Rows as CSV. Source: RFC 4180; NULL is an empty field and the empty text a quoted one, so that
//! they can be told apart. Nested values are JSON texts.

use knut_client::arrow_array::RecordBatch;
use knut_client::arrow_schema::Schema;

use super::json;
use super::value::{Value, value};

/// The line of column names.
pub(super) fn header(schema: &Schema) -> String {
    joined(schema.fields().iter().map(|field| text(field.name())))
}

/// One row's line.
pub(super) fn line(batch: &RecordBatch, row: usize) -> String {
    joined(batch.columns().iter().map(|column| field(&value(column, row))))
}

fn joined(fields: impl Iterator<Item = String>) -> String {
    let mut line = fields.collect::<Vec<_>>().join(",");
    line.push_str("\r\n");
    line
}

fn field(value: &Value<'_>) -> String {
    match value {
        Value::Null => String::new(),
        Value::Moment { iso, .. } => iso.clone(),
        Value::Binary(bytes) => text(&bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().concat()),
        Value::List(_) | Value::Struct(_) | Value::Map(_) => {
            let mut out = String::new();
            json::write(value, &mut out);
            text(&out)
        }
        Value::Bool(_) | Value::Number(_) | Value::Text(_) => text(&value.shown()),
    }
}

fn text(text: &str) -> String {
    let needs_quotes = text.is_empty() || text.contains([',', '"', '\r', '\n']) || text.trim() != text;
    if needs_quotes { format!("\"{}\"", text.replace('"', "\"\"")) } else { text.to_owned() }
}
