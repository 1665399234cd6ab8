//! Finds the relations in a parser's tree of a query.
//!
//! The parser knows more than Spark: where the tree has something that Spark does not know, the
//! visit breaks off.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use sqlparser::ast::{
    BinaryOperator, Distinct, Expr, FunctionArguments, Ident, LimitClause, NamedWindowExpr, ObjectName, Query, Select,
    SetExpr, SetQuantifier, Statement, TableFactor, UnaryOperator, Visitor, WindowType,
};

use crate::sql::clauses::TYPES;

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
        spark_only(is_sparks_query(query))
    }

    fn post_visit_query(&mut self, _query: &Query) -> ControlFlow<()> {
        self.scopes.pop();
        if let Some(outer) = self.scopes.last_mut() {
            outer.n_visible = (outer.n_visible + 1).min(outer.names.len());
        }
        ControlFlow::Continue(())
    }

    fn pre_visit_table_factor(&mut self, factor: &TableFactor) -> ControlFlow<()> {
        match factor {
            TableFactor::Table { name, args: None, .. } => self.relation(name),
            TableFactor::Table { .. }
            | TableFactor::Derived { .. }
            | TableFactor::Function { .. }
            | TableFactor::NestedJoin { .. }
            | TableFactor::Pivot { .. }
            | TableFactor::Unpivot { .. } => ControlFlow::Continue(()),
            _ => ControlFlow::Break(()),
        }
    }

    fn pre_visit_select(&mut self, select: &Select) -> ControlFlow<()> {
        let is_foreign = select.top.is_some()
            || select.into.is_some()
            || select.exclude.is_some()
            || select.prewhere.is_some()
            || select.select_modifiers.is_some()
            || !select.connect_by.is_empty()
            || select.value_table_mode.is_some()
            || matches!(select.distinct, Some(Distinct::On(_)))
            || select
                .named_window
                .iter()
                .any(|window| matches!(&window.1, NamedWindowExpr::WindowSpec(window) if window.window_name.is_some()));
        spark_only(!is_foreign)
    }

    fn pre_visit_ident(&mut self, ident: &Ident) -> ControlFlow<()> {
        // A string in the place of a name.
        spark_only(ident.quote_style.is_none_or(|quote| quote == '`'))
    }

    fn pre_visit_statement(&mut self, _statement: &Statement) -> ControlFlow<()> {
        ControlFlow::Break(())
    }

    fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
        spark_only(is_sparks_expression(expr))
    }
}

fn spark_only(is_sparks: bool) -> ControlFlow<()> {
    if is_sparks { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
}

fn is_sparks_query(query: &Query) -> bool {
    let is_foreign = query.fetch.is_some()
        || !query.locks.is_empty()
        || query.for_clause.is_some()
        || query.settings.is_some()
        || query.format_clause.is_some();
    let limit = match &query.limit_clause {
        Some(LimitClause::LimitOffset { limit_by, .. }) => limit_by.is_empty(),
        Some(LimitClause::OffsetCommaLimit { .. }) => false,
        None => true,
    };
    // Set operations hang on the left.
    let mut body = &*query.body;
    while let SetExpr::SetOperation { left, set_quantifier, .. } = body {
        if !matches!(set_quantifier, SetQuantifier::All | SetQuantifier::Distinct | SetQuantifier::None) {
            return false;
        }
        body = &**left;
    }
    !is_foreign && limit
}

/// Whether a data type begins with a word of Spark's.
fn is_sparks_type(data_type: &str) -> bool {
    let first = data_type.split(|c: char| !c.is_ascii_alphanumeric() && c != '_').next().unwrap_or_default();
    TYPES.iter().any(|known| known.eq_ignore_ascii_case(first))
}

fn is_sparks_expression(expr: &Expr) -> bool {
    use BinaryOperator as B;
    match expr {
        Expr::BinaryOp { op, .. } => matches!(
            op,
            B::Plus
                | B::Minus
                | B::Multiply
                | B::Divide
                | B::Modulo
                | B::StringConcat
                | B::Gt
                | B::Lt
                | B::GtEq
                | B::LtEq
                | B::Spaceship
                | B::Eq
                | B::NotEq
                | B::And
                | B::Or
                | B::BitwiseOr
                | B::BitwiseAnd
                | B::BitwiseXor
                | B::DuckIntegerDivide
                | B::MyIntegerDivide
        ),
        Expr::UnaryOp { op, .. } => matches!(
            op,
            UnaryOperator::Plus
                | UnaryOperator::Minus
                | UnaryOperator::Not
                | UnaryOperator::BangNot
                | UnaryOperator::BitwiseNot
        ),
        Expr::Cast { data_type, .. } => is_sparks_type(&data_type.to_string()),
        Expr::TypedString(literal) => is_sparks_type(&literal.data_type.to_string()),
        // A window that builds on another.
        Expr::Function(function) => {
            !matches!(function.args, FunctionArguments::Subquery(_))
                && !matches!(&function.over, Some(WindowType::WindowSpec(window)) if window.window_name.is_some())
        }
        Expr::Array(_)
        | Expr::AllOp { .. }
        | Expr::AnyOp { .. }
        | Expr::AtTimeZone { .. }
        | Expr::Convert { .. }
        | Expr::Dictionary(_)
        | Expr::IsJson { .. }
        | Expr::IsNormalized { .. }
        | Expr::Map(_)
        | Expr::MatchAgainst { .. }
        | Expr::MemberOf(_)
        | Expr::OuterJoin(_)
        | Expr::Prefixed { .. }
        | Expr::Prior(_)
        | Expr::SimilarTo { .. } => false,
        _ => true,
    }
}
