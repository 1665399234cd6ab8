//! Whatever bytes a project's files have, loading it ends with a project or with problems that
//! print, never with a panic.

use std::fs;

use knut_project::{Project, check, source_problems, spec_problems};
use proptest::prelude::*;

/// Bytes, and text that gets further into a reader than bytes do.
fn content(words: &'static [&'static str]) -> impl Strategy<Value = Vec<u8>> {
    let from_words = prop::collection::vec(prop::sample::select(words), 0..40).prop_map(|w| w.concat().into_bytes());
    prop_oneof![
        1 => prop::collection::vec(any::<u8>(), 0..200),
        1 => any::<String>().prop_map(String::into_bytes),
        4 => from_words,
    ]
}

fn spec() -> impl Strategy<Value = Vec<u8>> {
    content(&[
        "name",
        "storage",
        "catalog",
        "schema",
        "database",
        "configuration",
        "libraries",
        "glob",
        "include",
        ": ",
        ":",
        "\n",
        "\r\n",
        "  ",
        "\t",
        "- ",
        "[",
        "]",
        "{",
        "}",
        ", ",
        "&a ",
        "*a",
        "<<",
        "!!str ",
        "!x ",
        "|\n",
        ">-\n",
        "'",
        "\"",
        "#",
        "t/**",
        "a.sql",
        "../",
        "4",
        "yes",
        "~",
        "---\n",
        "...\n",
        "\u{feff}",
        "é",
        "${x}",
        "? ",
        "%",
        "file:///s",
        "\\",
        "\u{85}",
        "\u{2028}",
    ])
}

fn knut_toml() -> impl Strategy<Value = Vec<u8>> {
    content(&[
        "[sources.a]",
        "[sources.",
        "sources",
        "]",
        "[",
        "[[",
        "\n",
        " = ",
        "format",
        "path",
        "schema",
        "streaming",
        "options",
        ".",
        "'x'",
        "\"",
        "'",
        "true",
        "0x1F",
        "1.5",
        "nan",
        "1979-05-27",
        "{",
        "}",
        ", ",
        "#",
        "é",
        "`",
        "*",
        "\"\"\"",
        "\\",
        "\u{feff}",
        "~/",
        "../..",
        "data",
        "\u{0}",
        "-",
    ])
}

proptest! {
    #[test]
    fn loading_never_panics(
        spec in spec(),
        toml in prop::option::of(knut_toml()),
        sql in prop::collection::vec(any::<u8>(), 0..50),
    ) {
        let toml_problems = toml.as_deref().map(source_problems).unwrap_or_default();
        let problems: Vec<_> = spec_problems(&spec).into_iter().chain(toml_problems).collect();
        prop_assert!(problems.iter().all(|problem| problem.code.is_some()), "{problems:?}");
        let folder = tempfile::tempdir()?;
        fs::create_dir(folder.path().join("t"))?;
        fs::write(folder.path().join("t/a.sql"), sql)?;
        fs::write(folder.path().join("s.yml"), spec)?;
        if let Some(toml) = toml {
            fs::write(folder.path().join("knut.toml"), toml)?;
        }
        let checkup = check(&folder.path().join("s.yml"), None);
        prop_assert_eq!(checkup.project.is_some(), Project::load(&folder.path().join("s.yml")).is_ok());
        for finding in &checkup.findings {
            for span in [&finding.span].into_iter().chain(finding.related.iter().map(|(span, _)| span)) {
                let text = &checkup.files[span.file].text;
                let is_in_text = span.range.clone().is_none_or(|range| text.get(range).is_some());
                prop_assert!(is_in_text && checkup.places(span).is_some() == span.range.is_some(), "{finding:?}");
            }
        }
        match Project::load(&folder.path().join("s.yml")) {
            Ok(project) => drop(project.graph()),
            Err(problems) => {
                let told: Vec<String> = problems.problems().iter().map(ToString::to_string).collect();
                prop_assert!(!told.is_empty());
                let places = problems.problems().iter().flat_map(|problem| problem.line.into_iter().chain(problem.column));
                prop_assert!(places.into_iter().all(|number| number > 0), "{told:?}");
            }
        }
    }
}
