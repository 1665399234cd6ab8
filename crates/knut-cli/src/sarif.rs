//! Findings as SARIF 2.1.0, the form in which code scanning services take them.
//!
//! Columns are counted in characters. Paths of files are URIs relative to the folder that the check ran in,
//! whose own place is not told: a service knows where it laid the checkout.

use std::collections::BTreeMap;

use knut_project::{Checkup, Code, FileSpan, Finding};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use crate::findings;

const SCHEMA: &str = "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json";

/// The name that stands for the folder that the check ran in.
const ROOT: &str = "PROJECTROOT";

/// What a path may not hold as it is: all but RFC 3986's unreserved characters and the slash.
const ESCAPED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~').remove(b'/');

/// One log with one run, which has a rule for each code that was found.
pub(crate) fn log(checkup: &Checkup) -> String {
    let mut rules: BTreeMap<Code, usize> = checkup.findings.iter().map(|finding| (finding.code, 0)).collect();
    for (index, position) in rules.values_mut().enumerate() {
        *position = index;
    }
    let results: Vec<Value> =
        checkup.findings.iter().map(|finding| result(checkup, finding, rules[&finding.code])).collect();
    let log = json!({
        "$schema": SCHEMA,
        "version": "2.1.0",
        "runs": [{
            "tool": { "driver": {
                "name": "knut",
                "version": env!("CARGO_PKG_VERSION"),
                "semanticVersion": env!("CARGO_PKG_VERSION"),
                "rules": rules.keys().map(|code| rule(*code)).collect::<Vec<_>>(),
            } },
            "columnKind": "unicodeCodePoints",
            "originalUriBaseIds": { ROOT: {
                "description": { "text": "The folder of the pipeline spec." },
            } },
            "results": results,
        }],
    });
    format!("{log:#}")
}

fn rule(code: Code) -> Value {
    json!({
        "id": code.to_string(),
        "shortDescription": { "text": code.title() },
        "fullDescription": { "text": code.explanation() },
        "help": { "text": format!("{}\n\nknut check --explain {code} prints the same.", code.explanation()) },
        "defaultConfiguration": { "level": findings::word(code.severity()) },
    })
}

fn result(checkup: &Checkup, finding: &Finding, rule: usize) -> Value {
    let help = finding.help.as_deref().map(|help| format!("\nhelp: {help}")).unwrap_or_default();
    let related: Vec<Value> = finding
        .related
        .iter()
        .enumerate()
        .map(|(index, (span, what))| {
            let mut location = location(checkup, span);
            location["id"] = json!(index + 1);
            location["message"] = json!({ "text": what });
            location
        })
        .collect();
    let mut result = json!({
        "ruleId": finding.code.to_string(),
        "ruleIndex": rule,
        "level": findings::word(finding.code.severity()),
        "message": { "text": format!("{}{help}", finding.message) },
        "locations": [location(checkup, &finding.span)],
    });
    if !related.is_empty() {
        result["relatedLocations"] = Value::Array(related);
    }
    result
}

/// A place; a file as a whole has no region.
fn location(checkup: &Checkup, span: &FileSpan) -> Value {
    let path = &checkup.files[span.file].path;
    let uri = utf8_percent_encode(path, ESCAPED).to_string();
    let artifact = if path.starts_with('/') {
        json!({ "uri": format!("file://{uri}") })
    } else {
        json!({ "uri": uri, "uriBaseId": ROOT })
    };
    let mut physical = json!({ "artifactLocation": artifact });
    if let Some((start, end)) = checkup.places(span) {
        physical["region"] = json!({
            "startLine": start.line,
            "startColumn": start.column,
            "endLine": end.line,
            "endColumn": end.column,
        });
    }
    json!({ "physicalLocation": physical })
}
