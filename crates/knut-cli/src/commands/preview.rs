//! `knut preview`: prints some rows of a table.

use knut_model::Identifier;

use super::{nearest_spec, sql};
use crate::args::PreviewArgs;
use crate::exit_code::ExitCode;
use crate::failure::Failure;
use crate::printer::Printer;

/// The database of a session that chose none. Source: Spark 4.3, `SessionCatalog.DEFAULT_DATABASE`.
const DEFAULT_DATABASE: &str = "default";

pub(crate) async fn run(args: PreviewArgs, printer: &mut Printer) -> Result<ExitCode, Failure> {
    let (catalog, database) = match nearest_spec(&args.project)? {
        Some(spec) => knut_project::spec_of(&spec)?.map_or((None, None), |spec| (spec.catalog, spec.database)),
        None => (None, None),
    };
    // One more than is shown tells whether there are more.
    let query = query(&args.table, catalog.as_deref(), database.as_deref(), args.limit.saturating_add(1));
    let connected = sql::connected(&args.project, &args.server, printer).await?;
    sql::execute(connected, &[&query], args.format, Some(args.limit), printer).await
}

/// A query of some rows of the table that the project means by its name.
fn query(table: &Identifier, catalog: Option<&str>, database: Option<&str>, n_rows: u64) -> String {
    let (before, table) = (table.parts().len(), table.parts().iter().map(String::as_str));
    let missing: Vec<&str> = match (before, catalog, database) {
        (1, Some(catalog), database) => vec![catalog, database.unwrap_or(DEFAULT_DATABASE)],
        (1, None, Some(database)) => vec![database],
        (2, Some(catalog), _) => vec![catalog],
        _ => Vec::new(),
    };
    let quoted: Vec<_> =
        missing.into_iter().chain(table).map(|part| format!("`{}`", part.replace('`', "``"))).collect();
    format!("SELECT * FROM {} LIMIT {}", quoted.join("."), n_rows.min(i32::MAX as u64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_means_a_table_of_the_project() {
        let query = |name: &str, catalog, database| query(&Identifier::parse(name).unwrap(), catalog, database, 21);
        assert_eq!(query("t", None, None), "SELECT * FROM `t` LIMIT 21");
        assert_eq!(query("t", Some("c"), Some("d")), "SELECT * FROM `c`.`d`.`t` LIMIT 21");
        assert_eq!(query("t", Some("c"), None), "SELECT * FROM `c`.`default`.`t` LIMIT 21");
        assert_eq!(query("e.t", Some("c"), Some("d")), "SELECT * FROM `c`.`e`.`t` LIMIT 21");
        assert_eq!(query("`a``b;c`", None, Some("d")), "SELECT * FROM `d`.`a``b;c` LIMIT 21");
    }
}
