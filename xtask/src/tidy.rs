//! `cargo xtask tidy`: the house rules that no compiler checks, each with the place that breaks it.

mod layers;
mod sources;

use std::path::Path;

use anyhow::bail;

/// Checks everything and fails with all that is wrong.
pub(crate) fn run(root: &Path) -> anyhow::Result<()> {
    let mut problems = layers::check(root)?;
    problems.extend(sources::check(root)?);
    if problems.is_empty() {
        return Ok(());
    }
    bail!("{} house rules are broken:\n{}", problems.len(), problems.join("\n"))
}

#[cfg(test)]
mod tests {
    #[test]
    fn the_workspace_is_tidy() {
        super::run(crate::workspace_root()).unwrap();
    }
}
