//! Rows as JSON, one object a line, spelt as Spark's own `to_json` does.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use knut_client::arrow_array::RecordBatch;

use super::value::{Value, value};

/// One row with its newline. Columns of one name all stand in it.
pub(super) fn line(batch: &RecordBatch, row: usize) -> String {
    let schema = batch.schema_ref();
    let columns = schema.fields().iter().zip(batch.columns());
    let mut out = String::new();
    object(columns.map(|(field, column)| (field.name().as_str(), value(column, row))), &mut out);
    out.push('\n');
    out
}

fn object<'a>(fields: impl Iterator<Item = (&'a str, Value<'a>)>, out: &mut String) {
    out.push('{');
    for (index, (name, value)) in fields.enumerate() {
        if index > 0 {
            out.push(',');
        }
        string(name, out);
        out.push(':');
        write(&value, out);
    }
    out.push('}');
}

/// Writes a value.
pub(super) fn write(value: &Value<'_>, out: &mut String) {
    match value {
        Value::Null => out.push_str("null"),
        Value::Bool(bool) => out.push_str(if *bool { "true" } else { "false" }),
        // JSON has no such numbers.
        Value::Number(number) if number.ends_with(['N', 'y']) => string(number, out),
        Value::Number(number) => out.push_str(number),
        Value::Text(text) => string(text, out),
        Value::Binary(bytes) => string(&STANDARD.encode(bytes), out),
        Value::Moment { iso, .. } => string(iso, out),
        Value::List(values) => {
            out.push('[');
            for (index, value) in values.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                write(value, out);
            }
            out.push(']');
        }
        Value::Struct(fields) => object(fields.iter().map(|(name, value)| (*name, value.clone())), out),
        Value::Map(pairs) => {
            out.push('{');
            for (index, (key, value)) in pairs.iter().enumerate() {
                if index > 0 {
                    out.push(',');
                }
                // Keys are texts in JSON, whatever they are in Spark.
                match key {
                    Value::Moment { iso, .. } => string(iso, out),
                    key => string(&key.shown(), out),
                }
                out.push(':');
                write(value, out);
            }
            out.push('}');
        }
    }
}

fn string(text: &str, out: &mut String) {
    out.push_str(&serde_json::Value::from(text).to_string());
}
