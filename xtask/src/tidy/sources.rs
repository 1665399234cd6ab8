//! Rules for single source files: what they are for, how long they are, that no test is skipped.

use std::path::{Path, PathBuf};

use anyhow::Context as _;

/// How long a hand-written file may be.
const MAX_LINES: usize = 600;

/// Everything that breaks a rule.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let mut files = Vec::new();
    for folder in ["crates", "examples", "fuzz", "tests", "xtask"] {
        collect(&root.join(folder), &mut files)?;
    }
    files.sort();
    let mut problems = Vec::new();
    for file in files {
        let text = std::fs::read_to_string(&file).with_context(|| format!("cannot read {}", file.display()))?;
        let shown = file.strip_prefix(root).unwrap_or(&file).display().to_string();
        let is_generated = shown.contains("/generated/");
        problems.extend(check_file(&shown, &text, is_generated));
    }
    Ok(problems)
}

fn collect(folder: &Path, files: &mut Vec<PathBuf>) -> anyhow::Result<()> {
    for entry in folder.read_dir().with_context(|| format!("cannot read {}", folder.display()))? {
        let path = entry?.path();
        let is_hidden =
            path.file_name().is_some_and(|name| name.to_string_lossy().starts_with('.') || name == "target");
        if path.is_dir() && !is_hidden {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    Ok(())
}

fn check_file(shown: &str, text: &str, is_generated: bool) -> Vec<String> {
    let mut problems = Vec::new();
    if !text.starts_with("//! ") {
        problems.push(format!("{shown}:1: does not begin with `//!` and what the file is for"));
    }
    let n_lines = text.lines().count();
    if n_lines > MAX_LINES && !is_generated {
        problems.push(format!("{shown}: has {n_lines} lines; split it along its ideas"));
    }
    for (index, line) in text.lines().enumerate() {
        let line = line.trim_start();
        let at = |what: &str| format!("{shown}:{}: {what}", index + 1);
        // Put together, so that this file does not break its own rule.
        if line.starts_with(concat!("#[", "ignore")) {
            problems.push(at("a test is ignored"));
        }
        let is_doc = line.starts_with("///") || line.starts_with("//!");
        if is_doc && line.contains("```") && line.contains("ignore") {
            problems.push(at("an example in the documentation is ignored; use `no_run` if it needs a server"));
        }
    }
    problems
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_rule_fires() {
        let skipped = format!("//! A file.\n#[{}]\n/// ```{}\n", "ignore", "ignore");
        assert_eq!(
            check_file("a.rs", &skipped, false),
            [
                "a.rs:2: a test is ignored",
                "a.rs:3: an example in the documentation is ignored; use `no_run` if it needs a server"
            ]
        );
        assert_eq!(
            check_file("a.rs", "fn main() {}\n", false),
            ["a.rs:1: does not begin with `//!` and what the file is for"]
        );
        let long = format!("//! Long.\n{}", "\n".repeat(600));
        assert_eq!(check_file("a.rs", &long, false), ["a.rs: has 601 lines; split it along its ideas"]);
        assert!(check_file("a.rs", &long, true).is_empty());
    }
}
