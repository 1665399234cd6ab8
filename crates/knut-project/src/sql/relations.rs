//! Finds the relations in a parser's tree of a query.
//!
//! The parser knows more than Spark: where the tree has something that Spark does not know, the
//! visit breaks off.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{Expr, Ident, ObjectName, Query, Select, Statement, TableFactor, Visitor};

use crate::sql::dialect;

/// The names that a `WITH` has given so far.
#[derive(Default)]
struct Scope {
    names: Vec<String>,
    /// How many of them are visible; the bodies come one after the other, before the rest of the
    /// query.
    n_visible: usize,
    is_recursive: bool,
}

/// Visits a tree whose places are token indexes.
#[derive(Default)]
pub(crate) struct Relations {
    scopes: Vec<Scope>,
    /// The tokens that begin a relation which is no common table.
    pub(crate) read: BTreeSet<usize>,
}

impl Relations {
    fn is_common_table(&self, name: &str) -> bool {
        self.scopes.iter().any(|scope| {
            // In its own body a recursive common table sees itself.
            let n_visible = (scope.n_visible + usize::from(scope.is_recursive)).min(scope.names.len());
            scope.names.iter().take(n_visible).any(|known| known == name)
        })
    }

    fn relation(&mut self, name: &ObjectName) -> ControlFlow<()> {
        let mut idents = name.0.iter().filter_map(|part| part.as_ident());
        let Some(first) = idents.next() else { return ControlFlow::Break(()) };
        if idents.next().is_some() || !self.is_common_table(&first.value.to_lowercase()) {
            let index = first.span.start.column.saturating_sub(1);
            self.read.extend(usize::try_from(index));
        }
        ControlFlow::Continue(())
    }
}

impl Visitor for Relations {
    type Break = ();

    fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
        let mut scope = Scope::default();
        if let Some(with) = &query.with {
            scope.names = with.cte_tables.iter().map(|table| table.alias.name.value.to_lowercase()).collect();
            scope.is_recursive = with.recursive;
        }
        self.scopes.push(scope);
        spark_only(dialect::is_sparks_query(query))
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.scopes.pop();
        if let Some(outer) = self.scopes.last_mut() {
            outer.n_visible = (outer.n_visible + 1).min(outer.names.len());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        if !dialect::is_sparks_factor(factor) {
            return ControlFlow::Break(());
        }
        match factor {
            TableFactor::Table { name, args: None, .. } => self.relation(name),
            _ => ControlFlow::Continue(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        spark_only(dialect::is_sparks_select(select))
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        // A string in the place of a name.
        spark_only(ident.quote_style.is_none_or(|quote| quote == '`'))
    }

    fn pre_visit_statement(&mut self, _statement: &Statement) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        spark_only(dialect::is_sparks_expression(expr))
    }
}

fn spark_only(is_sparks: bool) -> ControlFlow<()> {
    if is_sparks { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}
