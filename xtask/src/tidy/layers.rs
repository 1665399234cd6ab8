//! Which crate may use which: layers point one way, and what must stay out of a layer stays out.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, bail};
use cargo_metadata::{DependencyKind, Metadata};

/// One crate's rule.
struct Rule {
    name: &'static str,
    /// The crates of the workspace that it may use directly.
    may_use: &'static [&'static str],
    /// The crates that it must not pull in, directly or through others.
    must_not_pull_in: &'static [&'static str],
}

const ASYNC: [&str; 3] = ["tokio", "tonic", "prost"];

/// The rules, from the ground up. docs/architecture.md has the same table in words.
const RULES: &[Rule] = &[
    Rule { name: "knut-model", may_use: &[], must_not_pull_in: &["tokio", "tonic", "prost", "serde_json"] },
    Rule { name: "knut-proto", may_use: &[], must_not_pull_in: &["hyper", "rustls", "tokio-rustls"] },
    Rule { name: "knut-viewer", may_use: &["knut-model"], must_not_pull_in: &ASYNC },
    Rule { name: "knut-project", may_use: &["knut-model"], must_not_pull_in: &ASYNC },
    Rule {
        name: "knut-client",
        may_use: &["knut-model", "knut-viewer", "knut-proto"],
        must_not_pull_in: &["saphyr-parser", "sqlparser", "toml", "ratatui", "axum"],
    },
    Rule { name: "knut-local", may_use: &[], must_not_pull_in: &["tonic", "tokio"] },
    Rule {
        name: "knut-cli",
        may_use: &["knut-client", "knut-local", "knut-model", "knut-project", "knut-viewer"],
        must_not_pull_in: &["tonic-prost-build", "protox"],
    },
    Rule { name: "knut-testkit", may_use: &["knut-proto", "knut-viewer"], must_not_pull_in: &[] },
];

/// Everything that breaks a rule.
pub(super) fn check(root: &Path) -> anyhow::Result<Vec<String>> {
    let metadata =
        cargo_metadata::MetadataCommand::new().current_dir(root).other_options(["--locked".to_owned()]).exec()?;
    let crates = crates_of(&metadata, root);
    let direct = direct_of(&metadata);
    let mut pulled_in = Graph::new();
    for rule in RULES {
        pulled_in.insert(rule.name.to_owned(), pulled_in_by(root, rule.name)?);
    }
    let mut problems = check_graph(&direct, &pulled_in, RULES);
    for name in &crates {
        if !RULES.iter().any(|rule| rule.name == name) {
            problems.push(format!("{name}: has no rule in xtask/src/tidy/layers.rs"));
        }
    }
    let page = root.join("docs/architecture.md");
    let text = std::fs::read_to_string(&page).with_context(|| format!("cannot read {}", page.display()))?;
    problems.extend(check_page(&text, &crates));
    Ok(problems)
}

/// For each crate, what it depends on outside its own tests.
type Graph = BTreeMap<String, BTreeSet<String>>;

fn direct_of(metadata: &Metadata) -> Graph {
    let direct = |package: &&cargo_metadata::Package| {
        let normal = package.dependencies.iter().filter(|dependency| dependency.kind == DependencyKind::Normal);
        (package.name.to_string(), normal.map(|dependency| dependency.name.clone()).collect())
    };
    metadata.workspace_packages().iter().map(direct).collect()
}

/// Everything that a crate pulls in when it is built alone with all its features. The metadata do
/// not tell: in them, a feature that one crate turns on is on for all.
fn pulled_in_by(root: &Path, name: &str) -> anyhow::Result<BTreeSet<String>> {
    let mut command = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    command.args(["tree", "--locked", "--all-features", "--edges", "normal", "--prefix", "none", "--package", name]);
    let output = command.current_dir(root).output().context("cannot run cargo tree")?;
    if !output.status.success() {
        bail!("cargo tree failed for {name}: {}", String::from_utf8_lossy(&output.stderr));
    }
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(text.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect())
}

fn crates_of(metadata: &Metadata, root: &Path) -> BTreeSet<String> {
    let folder = root.join("crates");
    let packages = metadata.workspace_packages().into_iter();
    packages
        .filter(|package| package.manifest_path.as_std_path().starts_with(&folder))
        .map(|package| package.name.to_string())
        .collect()
}

fn check_graph(direct: &Graph, pulled_in: &Graph, rules: &[Rule]) -> Vec<String> {
    let mut problems = Vec::new();
    for rule in rules {
        let (Some(direct), Some(pulled_in)) = (direct.get(rule.name), pulled_in.get(rule.name)) else {
            problems.push(format!("{}: has a rule but does not exist", rule.name));
            continue;
        };
        let of_workspace = direct.iter().filter(|dep| rules.iter().any(|rule| rule.name == **dep));
        for dep in of_workspace.filter(|dep| !rule.may_use.contains(&dep.as_str())) {
            problems.push(format!("{}: may not use {dep}", rule.name));
        }
        for dep in rule.must_not_pull_in.iter().filter(|dep| pulled_in.contains(**dep)) {
            problems.push(format!("{}: must not pull in {dep}", rule.name));
        }
    }
    problems
}

/// The page names every crate, and no crate that does not exist.
fn check_page(text: &str, crates: &BTreeSet<String>) -> Vec<String> {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c == '-';
    let named: BTreeSet<String> =
        text.split(|c| !is_part(c)).filter(|word| word.starts_with("knut-")).map(str::to_owned).collect();
    let missing = crates.difference(&named).map(|name| format!("docs/architecture.md: does not name {name}"));
    let unknown =
        named.difference(crates).map(|name| format!("docs/architecture.md: names {name}, which does not exist"));
    missing.chain(unknown).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn graph(edges: &[(&str, &[&str])]) -> Graph {
        let deps = |deps: &[&str]| deps.iter().map(|dep| (*dep).to_owned()).collect();
        edges.iter().map(|(name, to)| ((*name).to_owned(), deps(to))).collect()
    }

    #[test]
    fn a_layer_that_points_the_wrong_way_is_told() {
        let rules = [
            Rule { name: "knut-model", may_use: &[], must_not_pull_in: &["tokio"] },
            Rule { name: "knut-client", may_use: &["knut-model"], must_not_pull_in: &[] },
            Rule { name: "knut-gone", may_use: &[], must_not_pull_in: &[] },
        ];
        let direct = graph(&[("knut-model", &["knut-client"]), ("knut-client", &["knut-model", "http"])]);
        let pulled_in = graph(&[("knut-model", &["knut-client", "tokio"]), ("knut-client", &["knut-model", "tokio"])]);
        assert_eq!(
            check_graph(&direct, &pulled_in, &rules),
            [
                "knut-model: may not use knut-client",
                "knut-model: must not pull in tokio",
                "knut-gone: has a rule but does not exist"
            ]
        );
    }

    #[test]
    fn the_page_and_the_crates_agree() {
        let crates = BTreeSet::from(["knut-model".to_owned(), "knut-client".to_owned()]);
        assert_eq!(
            check_page("`knut-model` and knut-tui.", &crates),
            [
                "docs/architecture.md: does not name knut-client",
                "docs/architecture.md: names knut-tui, which does not exist"
            ]
        );
    }
}
