//! What queries read.

use super::*;

fn shown(sql: &str) -> Vec<String> {
    let found = query_reads(sql);
    found
        .reads
        .iter()
        .map(|read| {
            let name = match &read.source {
                ReadSource::Name(name) => name.to_string(),
                ReadSource::Path { format, path } => format!("{format}:{path}"),
            };
            format!(
                "{}{name}{}",
                if read.is_streaming { "STREAM " } else { "" },
                if read.certainty == Certainty::Inferred { "?" } else { "" }
            )
        })
        .collect()
}

#[test]
fn simple_reads() {
    assert_eq!(shown("SELECT * FROM a"), ["a"]);
}
