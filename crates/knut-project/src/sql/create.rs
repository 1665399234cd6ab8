//! Reads `CREATE …`: materialized views, streaming tables, views and flows.

use std::collections::BTreeMap;

use knut_model::{DatasetKind, Identifier};

use crate::sql::auto_cdc;
use crate::sql::clauses::{self, Clauses};
use crate::sql::cursor::{Cursor, Step, Stop};
use crate::sql::refusal::RefusalReason;
use crate::sql::statement::{SqlContent, SqlDataset, SqlFill, SqlFlow, SqlName};

/// What else `CREATE` creates.
const OTHER_KINDS: [&str; 10] =
    ["TABLE", "EXTERNAL", "TEMPORARY", "TEMP", "DATABASE", "SCHEMA", "NAMESPACE", "FUNCTION", "INDEX", "CATALOG"];

/// Reads what follows `CREATE`.
pub(crate) fn create(cursor: &mut Cursor<'_>) -> Step<SqlContent> {
    let start = cursor.at;
    let mut replaces = false;
    if cursor.take(&["OR", "REFRESH"]) {
        cursor.refuse(RefusalReason::OrRefresh, cursor.span_from(start));
    } else {
        replaces = cursor.take(&["OR", "REPLACE"]);
    }
    let or_replace = cursor.span_from(start);
    skip_live(cursor);
    let kind = if cursor.take(&["MATERIALIZED"]) {
        skip_live(cursor);
        cursor.expect("VIEW")?;
        DatasetKind::MaterializedView
    } else if cursor.take(&["STREAMING"]) {
        skip_live(cursor);
        cursor.expect("TABLE")?;
        DatasetKind::StreamingTable
    } else if cursor.take(&["VIEW"]) {
        DatasetKind::PersistedView
    } else if is_temporary_view(cursor) {
        DatasetKind::TemporaryView
    } else if cursor.take(&["FLOW"]) {
        if replaces {
            return cursor.stop(RefusalReason::OrReplace, or_replace);
        }
        return flow(cursor).map(SqlContent::Flow);
    } else {
        return other(cursor, start);
    };
    if replaces && kind.is_table() {
        cursor.refuse(RefusalReason::OrReplace, or_replace);
    }
    let dataset = if kind.is_table() { table(cursor, kind)? } else { view(cursor, kind, replaces)? };
    cursor.expect_end()?;
    Ok(SqlContent::Dataset(dataset))
}

/// Passes over Databricks' `LIVE`, so that the rest is still read.
fn skip_live(cursor: &mut Cursor<'_>) {
    let span = cursor.span();
    if ["TABLE", "VIEW"].iter().any(|kind| cursor.is(&["LIVE", kind])) {
        cursor.at += 1;
        cursor.refuse(RefusalReason::Live, span);
    }
}

fn is_temporary_view(cursor: &mut Cursor<'_>) -> bool {
    let from = cursor.at;
    cursor.take(&["GLOBAL"]);
    if cursor.take_one_of(&["TEMPORARY", "TEMP"]) {
        skip_live(cursor);
        if cursor.take(&["VIEW"]) {
            return true;
        }
    }
    cursor.at = from;
    false
}

/// Something that is no definition: told by its first words.
fn other<T>(cursor: &mut Cursor<'_>, after_create: usize) -> Step<T> {
    if cursor.is(&["SINK"]) {
        return cursor.stop(RefusalReason::Sink, cursor.span());
    }
    if OTHER_KINDS.iter().any(|kind| cursor.is(&[kind])) {
        let mut words = format!("CREATE {}", cursor.text().to_uppercase());
        let is_temporary = cursor.take_one_of(&["TEMPORARY", "TEMP"]);
        if is_temporary && OTHER_KINDS.iter().any(|kind| cursor.is(&[kind])) {
            words = format!("{words} {}", cursor.text().to_uppercase());
        }
        cursor.at += usize::from(!is_temporary);
        let span = cursor.span_from(after_create.saturating_sub(1));
        return cursor.stop(RefusalReason::NotADefinition(words), span);
    }
    cursor.syntax("MATERIALIZED VIEW, STREAMING TABLE, VIEW or FLOW")
}

fn table(cursor: &mut Cursor<'_>, kind: DatasetKind) -> Step<SqlDataset> {
    let if_not_exists = cursor.take(&["IF", "NOT", "EXISTS"]);
    let name_at = cursor.at;
    let name = cursor.name()?;
    let name_span = cursor.span_from(name_at);
    let (columns, declared_columns) =
        if cursor.is_sign("(") { clauses::column_definitions(cursor)? } else { (None, Vec::new()) };
    let columns_are_given = columns.as_ref().is_some_and(|columns| !columns.is_empty());
    let mut read = Clauses::default();
    if cursor.take(&["USING"]) {
        let (parts, _) = cursor.parts()?;
        read.format = Some(parts.join("."));
    }
    clauses::table_clauses(cursor, &mut read)?;
    let fill = if cursor.take(&["AS"]) {
        Some(SqlFill::Query(cursor.query()))
    } else if cursor.is(&["FLOW"]) {
        let from = cursor.at;
        cursor.at += 1;
        if kind == DatasetKind::MaterializedView {
            return cursor.stop(RefusalReason::CdcOfMaterializedView, cursor.span_from(from));
        }
        cursor.expect("AUTO")?;
        cursor.expect("CDC")?;
        if columns_are_given {
            cursor.refuse(RefusalReason::CdcWithColumns, columns.clone().unwrap_or_default());
        }
        Some(SqlFill::AutoCdc(Box::new(auto_cdc::changes(cursor)?)))
    } else if !cursor.is_at_end() {
        return cursor.syntax("AS and a query");
    } else if kind == DatasetKind::MaterializedView {
        return cursor.stop(RefusalReason::NoQuery, name_span);
    } else {
        None
    };
    Ok(SqlDataset {
        kind,
        name,
        if_not_exists,
        columns,
        declared_columns,
        format: read.format,
        partition_columns: read.partition_columns,
        has_typed_partitions: read.has_typed_partitions,
        clustering_columns: read.clustering_columns,
        comment: read.comment,
        properties: read.properties,
        fill,
    })
}

fn view(cursor: &mut Cursor<'_>, kind: DatasetKind, replaces: bool) -> Step<SqlDataset> {
    let is_temporary = kind == DatasetKind::TemporaryView;
    let from = cursor.at;
    let if_not_exists = cursor.take(&["IF", "NOT", "EXISTS"]);
    if if_not_exists && (is_temporary || replaces) {
        cursor.refuse(RefusalReason::IfNotExists, cursor.span_from(from));
    }
    let from = cursor.at;
    if is_temporary
        && cursor.is(&["IDENTIFIER"])
        && cursor.tokens.get(from + 1).is_some_and(|token| token.is_sign(cursor.sql, "("))
    {
        return cursor.syntax("a plain name");
    }
    let mut name = cursor.name()?;
    if is_temporary {
        name = name.map(without_session);
    }
    if let Some(name) = name.as_ref().filter(|name| is_temporary && !name.identifier.is_single_part()) {
        cursor.refuse(RefusalReason::QualifiedTemporaryView, name.span.clone());
    }
    let mut read = Clauses::default();
    let columns = if cursor.is_sign("(") {
        let from = cursor.at + 1;
        let is_view_list = clauses::view_columns(cursor);
        let columns = cursor.span_from(from);
        if is_view_list.is_err() {
            // `CREATE TEMPORARY VIEW v (a INT) USING …` has the columns of a table.
            return Err(Stop);
        }
        Some(columns.start..columns.end.saturating_sub(1).max(columns.start))
    } else {
        None
    };
    if is_temporary && cursor.is(&["USING"]) {
        return cursor.stop(RefusalReason::ViewOfDataSource, cursor.span());
    }
    clauses::view_clauses(cursor, &mut read, is_temporary)?;
    if cursor.is_at_end() || !cursor.is(&["AS"]) {
        return cursor.syntax("AS and a query");
    }
    cursor.at += 1;
    let fill = Some(SqlFill::Query(cursor.query()));
    Ok(SqlDataset {
        kind,
        name,
        if_not_exists,
        columns,
        declared_columns: Vec::new(),
        format: None,
        partition_columns: Vec::new(),
        has_typed_partitions: false,
        clustering_columns: Vec::new(),
        comment: read.comment,
        properties: if is_temporary { BTreeMap::new() } else { read.properties },
        fill,
    })
}

/// A temporary view may be written with the place that Spark keeps them in.
fn without_session(name: SqlName) -> SqlName {
    let is = |part: &str, word: &str| part.eq_ignore_ascii_case(word);
    let is_session = match name.identifier.parts() {
        [session, _] => is(session, "session"),
        [system, session, _] => is(system, "system") && is(session, "session"),
        _ => false,
    };
    let short = if is_session { Identifier::from_parts([name.identifier.name()]).ok() } else { None };
    SqlName { identifier: short.unwrap_or(name.identifier), span: name.span }
}

fn flow(cursor: &mut Cursor<'_>) -> Step<SqlFlow> {
    if cursor.is(&["IF", "NOT", "EXISTS"]) {
        return cursor.stop(RefusalReason::IfNotExists, cursor.span());
    }
    let name = cursor.name()?;
    if let Some(name) = name.as_ref().filter(|name| !name.identifier.is_single_part()) {
        cursor.refuse(RefusalReason::MultipartFlowName, name.span.clone());
    }
    let comment = if cursor.take(&["COMMENT"]) { Some(cursor.string()?) } else { None };
    cursor.expect("AS")?;
    if cursor.is(&["APPLY", "CHANGES"]) {
        return cursor.stop(RefusalReason::ApplyChanges, cursor.span());
    }
    if cursor.take(&["AUTO", "CDC"]) {
        cursor.expect("INTO")?;
        let target = cursor.name()?;
        let fill = SqlFill::AutoCdc(Box::new(auto_cdc::changes(cursor)?));
        cursor.expect_end()?;
        return Ok(SqlFlow { name, target, comment, fill });
    }
    let insert = cursor.at;
    if !cursor.take(&["INSERT"]) {
        return cursor.syntax("INSERT INTO or AUTO CDC INTO");
    }
    cursor.take(&["WITH", "SCHEMA", "EVOLUTION"]);
    if cursor.take(&["OVERWRITE"]) {
        cursor.refuse(RefusalReason::InsertOverwrite, cursor.span_from(insert));
    } else {
        cursor.expect("INTO")?;
    }
    // A table may be called `table`.
    if cursor.is(&["TABLE"]) && !cursor.is(&["TABLE", "BY", "NAME"]) {
        cursor.at += 1;
    }
    let target = cursor.name()?;
    if cursor.is(&["PARTITION"]) {
        cursor.refuse(RefusalReason::FlowTargetDetails, cursor.span());
        cursor.at += 1;
        cursor.parentheses()?;
        cursor.take(&["IF", "NOT", "EXISTS"]);
    }
    // Options of the writer.
    if cursor.is(&["WITH"]) && cursor.tokens.get(cursor.at + 1).is_some_and(|token| token.is_sign(cursor.sql, "(")) {
        cursor.at += 1;
        cursor.parentheses()?;
        cursor.has_doubt = true;
    }
    if cursor.is(&["REPLACE"]) {
        return cursor.stop(RefusalReason::InsertOverwrite, cursor.span());
    }
    if cursor.take(&["BY", "NAME"]) {
    } else if cursor.is_sign("(") && !is_query_in_parentheses(cursor) {
        cursor.refuse(RefusalReason::FlowTargetDetails, cursor.span());
        cursor.parentheses()?;
    } else {
        let span = cursor.span_from(insert);
        cursor.refuse(RefusalReason::NotByName, span);
    }
    let fill = SqlFill::Query(cursor.query());
    Ok(SqlFlow { name, target, comment, fill })
}

/// Whether the parenthesis holds a query and not a list of columns.
fn is_query_in_parentheses(cursor: &Cursor<'_>) -> bool {
    let first = cursor.rest().iter().find(|token| !token.is_sign(cursor.sql, "("));
    first.is_some_and(|token| {
        ["SELECT", "WITH", "FROM", "VALUES", "TABLE"].iter().any(|word| token.is_word(cursor.sql, word))
    })
}
