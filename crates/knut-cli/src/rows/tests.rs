//! Whole results in every format.

use std::sync::Arc;

use knut_client::arrow_array::builder::{Int32Builder, MapBuilder, StringBuilder};
use knut_client::arrow_array::{
    ArrayRef, BinaryArray, Decimal128Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray,
};

use super::table::Table;
use super::{csv, json};

fn batch() -> RecordBatch {
    let mut map = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    map.keys().append_value("k");
    map.values().append_null();
    map.append(true).unwrap();
    for _ in 0..2 {
        map.append(false).unwrap();
    }
    let price = Decimal128Array::from(vec![Some(150), Some(-5), None]).with_precision_and_scale(38, 2).unwrap();
    let at = TimestampMicrosecondArray::from(vec![Some(0), Some(1), None]).with_timezone("Europe/Berlin");
    let columns: [(&str, ArrayRef); 6] = [
        ("id", Arc::new(Int64Array::from(vec![Some(1), Some(1000), None]))),
        ("price", Arc::new(price)),
        ("名前", Arc::new(StringArray::from(vec![Some("日本, \"x\""), Some("e\u{301}\n\u{1b}[31m"), Some("NULL")]))),
        ("empty", Arc::new(StringArray::from(vec![Some(""), None, Some("'NULL'")]))),
        ("at", Arc::new(at)),
        ("raw", Arc::new(BinaryArray::from_opt_vec(vec![Some(b"\x00a"), None, Some(b"")]))),
    ];
    let mut columns: Vec<(&str, ArrayRef)> = columns.into();
    columns.push(("map", Arc::new(map.finish())));
    RecordBatch::try_from_iter(columns).unwrap()
}

fn table(width: Option<usize>) -> (Vec<String>, usize) {
    let batch = batch();
    let mut table = Table::of_width(batch.schema_ref(), width);
    table.add(&batch, batch.num_rows());
    table.lines()
}

#[test]
fn a_table_is_aligned_and_harmless() {
    let (lines, n_cut) = table(None);
    assert_eq!(n_cut, 0);
    assert_eq!(
        lines,
        [
            "  id  price  名前           empty     at                          raw      map",
            "----  -----  -------------  --------  --------------------------  -------  -----------",
            "   1   1.50  日本, \"x\"                1970-01-01 01:00:00         [00 61]  {k -> NULL}",
            "1000  -0.05  e\u{301}\\n\\u{1b}[31m  NULL      1970-01-01 01:00:00.000001  NULL     NULL",
            "NULL   NULL  'NULL'         ''NULL''  NULL                        []       NULL",
        ]
    );
}

#[test]
fn columns_that_do_not_fit_are_counted() {
    let (lines, n_cut) = table(Some(20));
    assert_eq!((lines[0].as_str(), n_cut), ("  id  price", 5));
    let (lines, n_cut) = table(Some(1));
    assert_eq!((lines[0].as_str(), n_cut), ("  id", 6));
}

#[test]
fn csv_tells_an_empty_text_from_null() {
    let batch = batch();
    let lines: String = (0..3).map(|row| csv::line(&batch, row)).collect();
    assert_eq!(csv::header(batch.schema_ref()), "id,price,名前,empty,at,raw,map\r\n");
    assert_eq!(
        lines,
        "1,1.50,\"日本, \"\"x\"\"\",\"\",1970-01-01T01:00:00+01:00,0061,\"{\"\"k\"\":null}\"\r\n\
         1000,-0.05,\"e\u{301}\n\u{1b}[31m\",,1970-01-01T01:00:00.000001+01:00,,\r\n\
         ,,NULL,'NULL',,\"\",\r\n"
    );
}

#[test]
fn json_keeps_every_digit() {
    let batch = batch();
    let lines: String = (0..3).map(|row| json::line(&batch, row)).collect();
    assert_eq!(
        lines,
        "{\"id\":1,\"price\":1.50,\"名前\":\"日本, \\\"x\\\"\",\"empty\":\"\",\"at\":\"1970-01-01T01:00:00+01:00\",\
         \"raw\":\"AGE=\",\"map\":{\"k\":null}}\n\
         {\"id\":1000,\"price\":-0.05,\"名前\":\"e\u{301}\\n\\u001b[31m\",\"empty\":null,\
         \"at\":\"1970-01-01T01:00:00.000001+01:00\",\"raw\":null,\"map\":null}\n\
         {\"id\":null,\"price\":null,\"名前\":\"NULL\",\"empty\":\"'NULL'\",\"at\":null,\"raw\":\"\",\"map\":null}\n"
    );
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()));
}
