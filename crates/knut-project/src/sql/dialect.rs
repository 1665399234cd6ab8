//! What of a parser's tree is Spark's: the parser knows syntax of many databases.
//!
//! A query with other things in it is one that knut does not understand. Each rule comes from a
//! statement that the parser took and a real server refused.

use sqlparser::ast::{
    BinaryOperator, CastKind, CeilFloorKind, DataType, DateTimeField, Distinct, Expr, Function, FunctionArguments,
    GroupByExpr, GroupByWithModifier, Join, JoinOperator, LimitClause, NamedWindowExpr, Query, Select, SetExpr,
    SetQuantifier, TableFactor, TableSampleKind, TableSampleModifier, TableWithJoins, UnaryOperator, WindowType,
};

use crate::sql::clauses::TYPES;

/// Whether what a query has around its body is Spark's.
pub(crate) fn is_sparks_query(query: &Query) -> bool {
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

/// Whether a query's own part is Spark's.
pub(crate) fn is_sparks_select(select: &Select) -> bool {
    let is_foreign = select.top.is_some()
        || select.into.is_some()
        || select.exclude.is_some()
        || select.prewhere.is_some()
        || select.select_modifiers.is_some()
        || !select.connect_by.is_empty()
        || select.value_table_mode.is_some()
        || matches!(select.distinct, Some(Distinct::On(_)));
    let (GroupByExpr::All(modifiers) | GroupByExpr::Expressions(_, modifiers)) = &select.group_by;
    let has_totals = modifiers.iter().any(|modifier| matches!(modifier, GroupByWithModifier::Totals));
    let builds_on_window = select
        .named_window
        .iter()
        .any(|window| matches!(&window.1, NamedWindowExpr::WindowSpec(window) if window.window_name.is_some()));
    !is_foreign && !has_totals && !builds_on_window && select.from.iter().all(has_sparks_joins)
}

/// Whether a relation is of a kind, with clauses, that Spark has.
pub(crate) fn is_sparks_factor(factor: &TableFactor) -> bool {
    match factor {
        TableFactor::Table { with_hints, sample, version, partitions, .. } => {
            let is_option = |hint: &Expr| matches!(hint, Expr::BinaryOp { op: BinaryOperator::Eq, .. });
            let is_sample = sample.as_ref().is_none_or(is_sparks_sample);
            is_sample && with_hints.iter().all(is_option) && version.is_none() && partitions.is_empty()
        }
        TableFactor::NestedJoin { table_with_joins, .. } => has_sparks_joins(table_with_joins),
        TableFactor::Derived { .. }
        | TableFactor::Function { .. }
        | TableFactor::Pivot { .. }
        | TableFactor::Unpivot { .. } => true,
        _ => false,
    }
}

fn is_sparks_sample(sample: &TableSampleKind) -> bool {
    let (TableSampleKind::BeforeTableAlias(sample) | TableSampleKind::AfterTableAlias(sample)) = sample;
    matches!(sample.modifier, TableSampleModifier::TableSample) && sample.name.is_none()
}

fn has_sparks_joins(table: &TableWithJoins) -> bool {
    use JoinOperator as J;
    let is_foreign = |join: &Join| {
        matches!(
            join.join_operator,
            J::CrossApply
                | J::OuterApply
                | J::AsOf { .. }
                | J::StraightJoin(_)
                | J::ArrayJoin
                | J::LeftArrayJoin
                | J::InnerArrayJoin
                | J::RightSemi(_)
                | J::RightAnti(_)
        )
    };
    !table.joins.iter().any(is_foreign)
}

/// Whether a data type is one word of Spark's, with its arguments or not.
fn is_sparks_type(data_type: &DataType) -> bool {
    let written = data_type.to_string();
    let end = written.find(|c: char| !c.is_ascii_alphanumeric() && c != '_').unwrap_or(written.len());
    let (first, rest) = written.split_at(end);
    let needs_length = ["CHAR", "CHARACTER", "VARCHAR"].iter().any(|name| name.eq_ignore_ascii_case(first));
    let rest_fits = if needs_length { rest.starts_with('(') } else { rest.is_empty() || rest.starts_with(['(', '<']) };
    rest_fits && TYPES.iter().any(|known| known.eq_ignore_ascii_case(first))
}

/// Whether a type can stand before a literal, `DATE '2024-01-01'`.
fn is_literal_type(data_type: &DataType) -> bool {
    const LITERALS: [&str; 5] = ["DATE", "TIME", "TIMESTAMP", "TIMESTAMP_NTZ", "TIMESTAMP_LTZ"];
    let written = data_type.to_string();
    LITERALS.iter().any(|known| known.eq_ignore_ascii_case(&written))
}

fn is_sparks_function(function: &Function) -> bool {
    // A window that builds on another.
    let builds_on_window =
        matches!(&function.over, Some(WindowType::WindowSpec(window)) if window.window_name.is_some());
    let has_sparks_arguments = match &function.args {
        FunctionArguments::None => true,
        FunctionArguments::List(list) => list.clauses.is_empty(),
        FunctionArguments::Subquery(_) => false,
    };
    has_sparks_arguments && !builds_on_window
}

/// Whether the outermost part of an expression is Spark's.
pub(crate) fn is_sparks_expression(expr: &Expr) -> bool {
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
        Expr::Cast { kind, data_type, .. } => *kind != CastKind::SafeCast && is_sparks_type(data_type),
        Expr::TypedString(literal) => is_literal_type(&literal.data_type),
        Expr::Function(function) => is_sparks_function(function),
        Expr::Ceil { field, .. } | Expr::Floor { field, .. } => {
            !matches!(field, CeilFloorKind::DateTimeField(field) if *field != DateTimeField::NoDateTime)
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
