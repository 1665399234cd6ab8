//! Reads what stands between a dataset's name and its query: columns, format, partitions and so on.

use std::collections::BTreeMap;
use std::ops::Range;

use crate::sql::cursor::{Cursor, Step};
use crate::sql::read_tree::is_expression;
use crate::sql::refusal::RefusalReason;
use crate::sql::statement::SqlColumn;
use crate::sql::token::{Token, TokenKind};

/// The clauses of a dataset.
#[derive(Default)]
pub(crate) struct Clauses {
    pub(crate) format: Option<String>,
    pub(crate) partition_columns: Vec<SqlColumn>,
    pub(crate) has_typed_partitions: bool,
    pub(crate) clustering_columns: Vec<SqlColumn>,
    pub(crate) comment: Option<String>,
    pub(crate) properties: BTreeMap<String, String>,
}

/// Data types by their first word. A word that is not among them may be one that knut does not know.
pub(crate) const TYPES: [&str; 33] = [
    "ARRAY",
    "BIGINT",
    "BINARY",
    "BOOLEAN",
    "BYTE",
    "CHAR",
    "CHARACTER",
    "DATE",
    "DEC",
    "DECIMAL",
    "DOUBLE",
    "FLOAT",
    "INT",
    "INTEGER",
    "INTERVAL",
    "LONG",
    "MAP",
    "NUMERIC",
    "REAL",
    "SHORT",
    "SMALLINT",
    "STRING",
    "STRUCT",
    "TIME",
    "TIMESTAMP",
    "TIMESTAMP_LTZ",
    "TIMESTAMP_NTZ",
    "TINYINT",
    "VARCHAR",
    "VARIANT",
    "VOID",
    "GEOGRAPHY",
    "GEOMETRY",
];

/// Properties that Spark keeps for itself. Source: Spark 4.3, `AstBuilder.cleanTableProperties`.
const RESERVED_PROPERTIES: [&str; 5] = ["provider", "location", "owner", "external", "is_managed_location"];

/// Reads the list of columns of a table; gives the bytes between its parentheses, and the columns.
pub(crate) fn column_definitions(cursor: &mut Cursor<'_>) -> Step<(Option<Range<usize>>, Vec<SqlColumn>)> {
    let open = cursor.span();
    let list = cursor.parentheses()?;
    let inner = open.end..cursor.tokens.get(cursor.at - 1).map_or(open.end, |close| close.start);
    if list.is_empty() {
        return Ok((Some(open.end..open.end), Vec::new()));
    }
    let mut columns = Vec::new();
    for item in items(cursor.sql, list) {
        let mut column = Cursor::new(cursor.sql, item, item.last().map_or(inner.end, |token| token.end));
        let read = column_definition(&mut column);
        cursor.refusals.append(&mut column.refusals);
        cursor.has_doubt |= column.has_doubt;
        columns.push(read?);
    }
    Ok((Some(inner), columns))
}

/// Cuts a list at its commas, but not at those in parentheses or in `MAP<STRING, INT>`.
fn items<'t>(sql: &str, list: &'t [Token]) -> Vec<&'t [Token]> {
    let (mut out, mut start, mut depth, mut angles) = (Vec::new(), 0, 0_usize, 0_usize);
    for (at, token) in list.iter().enumerate() {
        let after_type = at > 0 && ["ARRAY", "MAP", "STRUCT"].iter().any(|word| list[at - 1].is_word(sql, word));
        match (token.kind, token.text(sql)) {
            (TokenKind::Sign, "(") => depth += 1,
            (TokenKind::Sign, ")") => depth = depth.saturating_sub(1),
            (TokenKind::Sign, "<") if after_type => angles += 1,
            (TokenKind::Sign, ">") => angles = angles.saturating_sub(1),
            (TokenKind::Sign, ",") if depth == 0 && angles == 0 => {
                out.push(&list[start..at]);
                start = at + 1;
            }
            _ => {}
        }
    }
    out.push(&list[start..]);
    out
}

fn column_definition(column: &mut Cursor<'_>) -> Step<SqlColumn> {
    const CONSTRAINTS: [&[&str]; 4] = [&["PRIMARY", "KEY"], &["FOREIGN", "KEY"], &["UNIQUE"], &["CHECK"]];
    let starts_constraint = |column: &Cursor<'_>| CONSTRAINTS.iter().any(|words| column.is(words));
    let whole = column.span();
    if column.is(&["CONSTRAINT"]) && column.tokens.len() > 2 {
        column.at += 2;
        if column.is(&["EXPECT"]) {
            return column.stop(RefusalReason::Expectation, column.span());
        }
        if starts_constraint(column) {
            return column.stop(RefusalReason::Constraint, whole);
        }
        column.at = 0;
    }
    let is_table_constraint = column.is(&["PRIMARY", "KEY"])
        || column.is(&["FOREIGN", "KEY"])
        || (["UNIQUE", "CHECK"].iter().any(|word| column.is(&[word]))
            && column.tokens.get(1).is_some_and(|token| token.is_sign(column.sql, "(")));
    if is_table_constraint {
        return column.stop(RefusalReason::Constraint, whole);
    }
    let span = column.span();
    let definition = SqlColumn { name: column.part()?, span };
    data_type(column)?;
    while !column.is_at_end() {
        if column.take(&["NOT", "NULL"]) {
        } else if column.take(&["COMMENT"]) {
            column.string()?;
        } else if starts_constraint(column) || column.is(&["REFERENCES"]) || column.is(&["CONSTRAINT"]) {
            return column.stop(RefusalReason::Constraint, column.span());
        } else if column.take(&["COLLATE"]) {
            collation(column)?;
        } else if column.is(&["DEFAULT"]) || column.is(&["GENERATED"]) {
            column.has_doubt = true;
            return Ok(definition);
        } else {
            return column.syntax("NOT NULL or COMMENT");
        }
    }
    Ok(definition)
}

fn data_type(column: &mut Cursor<'_>) -> Step<()> {
    let Some(token) = column.peek().filter(|token| token.is_name()) else { return column.syntax("a data type") };
    let is_type = |token: &Token| TYPES.iter().any(|name| token.is_word(column.sql, name));
    if !is_type(token) || token.is_word(column.sql, "INTERVAL") {
        column.has_doubt = true;
        column.at = column.tokens.len();
        return Ok(());
    }
    column.at += 1;
    if column.is_sign("(") {
        let arguments = column.parentheses()?;
        let is_decimal = ["DECIMAL", "DEC", "NUMERIC"].iter().any(|name| token.is_word(column.sql, name));
        let is_text = ["CHAR", "CHARACTER", "VARCHAR"].iter().any(|name| token.is_word(column.sql, name));
        let is_form = match arguments {
            [one] => (is_decimal || is_text) && one.kind == TokenKind::Number,
            [one, comma, two] => {
                let numbers = one.kind == TokenKind::Number && two.kind == TokenKind::Number;
                is_decimal && numbers && comma.is_sign(column.sql, ",")
            }
            _ => false,
        };
        column.has_doubt |= !is_form;
        time_zone(column);
        return Ok(());
    }
    // The lexer knows an empty pair of angles as a sign of its own.
    if column.take_sign("<>") {
        column.has_doubt = true;
        return Ok(());
    }
    if !column.is_sign("<") {
        time_zone(column);
        return Ok(());
    }
    // The types within are known where a colon or an outer type comes before them.
    let mut depth = 0_usize;
    let mut previous = token;
    while let Some(token) = column.peek() {
        let follows_type = previous.is_sign(column.sql, ":") || previous.is_sign(column.sql, "<");
        match token.text(column.sql) {
            "<" => depth += 1,
            ">" => depth = depth.saturating_sub(1),
            "<>" => {}
            _ if previous.is_sign(column.sql, ":") && !is_type(token) => column.has_doubt = true,
            _ if follows_type || !token.is_word(column.sql, "INTERVAL") => {}
            _ => column.has_doubt = true,
        }
        column.at += 1;
        previous = token;
        if depth == 0 {
            return Ok(());
        }
    }
    column.syntax(">")
}

/// `WITH LOCAL TIME ZONE` and `WITHOUT TIME ZONE` after a type of time. Which types take it is the server's to say.
fn time_zone(column: &mut Cursor<'_>) {
    for words in [&["WITH", "LOCAL", "TIME", "ZONE"][..], &["WITHOUT", "TIME", "ZONE"], &["WITH", "TIME", "ZONE"]] {
        if column.take(words) {
            column.has_doubt = true;
            return;
        }
    }
}

/// The name of a collation, of one part or of three.
fn collation(cursor: &mut Cursor<'_>) -> Step<()> {
    let (parts, _) = cursor.parts()?;
    let is_known = matches!(&parts[..], [name] if name.to_ascii_uppercase().starts_with("UTF8_"));
    cursor.has_doubt |= !is_known;
    Ok(())
}

/// Reads the list of columns of a view: names, each with a comment or not.
pub(crate) fn view_columns(cursor: &mut Cursor<'_>) -> Step<()> {
    cursor.expect_sign("(")?;
    loop {
        cursor.part()?;
        if cursor.take(&["COMMENT"]) {
            cursor.string()?;
        }
        if !cursor.take_sign(",") {
            return cursor.expect_sign(")");
        }
    }
}

/// Reads the clauses of a table, in any order, up to `AS` or what else ends them.
pub(crate) fn table_clauses(cursor: &mut Cursor<'_>, read: &mut Clauses) -> Step<()> {
    let mut seen = Seen::default();
    let mut partition_at = None;
    loop {
        let from = cursor.span();
        if cursor.take(&["PARTITIONED", "BY"]) {
            seen.clause(cursor, "PARTITIONED BY", &from);
            read.partition_columns = partition_columns(cursor, &mut read.has_typed_partitions)?;
            partition_at = Some(from);
        } else if cursor.take(&["CLUSTER", "BY"]) {
            seen.clause(cursor, "CLUSTER BY", &from);
            read.clustering_columns = clustering_columns(cursor)?;
        } else if cursor.is(&["CLUSTERED", "BY"]) {
            return cursor.stop(RefusalReason::Clause("CLUSTERED BY"), from);
        } else if cursor.is(&["LOCATION"]) {
            return cursor.stop(RefusalReason::Clause("LOCATION"), from);
        } else if cursor.is(&["OPTIONS"]) {
            return cursor.stop(RefusalReason::Clause("OPTIONS"), from);
        } else if cursor.is(&["STORED"]) {
            return cursor.stop(RefusalReason::Clause("STORED AS"), from);
        } else if cursor.is(&["ROW", "FORMAT"]) {
            return cursor.stop(RefusalReason::Clause("ROW FORMAT"), from);
        } else if cursor.is(&["SKEWED", "BY"]) {
            return cursor.stop(RefusalReason::Clause("SKEWED BY"), from);
        } else if !common_clause(cursor, read, &mut seen)? {
            break;
        }
    }
    if let Some(span) = partition_at.filter(|_| !read.clustering_columns.is_empty()) {
        cursor.refuse(RefusalReason::PartitionAndCluster, span);
    }
    Ok(())
}

/// Reads the clauses of a view, in any order, up to `AS`.
pub(crate) fn view_clauses(cursor: &mut Cursor<'_>, read: &mut Clauses, is_temporary: bool) -> Step<()> {
    let mut seen = Seen::default();
    loop {
        let from = cursor.span();
        if is_temporary && cursor.is(&["TBLPROPERTIES"]) {
            return cursor.stop(RefusalReason::Clause("TBLPROPERTIES"), from);
        } else if is_temporary && cursor.is(&["WITH", "SCHEMA"]) {
            return cursor.stop(RefusalReason::Clause("WITH SCHEMA"), from);
        } else if cursor.is(&["PARTITIONED", "ON"]) {
            return cursor.stop(RefusalReason::Clause("PARTITIONED ON"), from);
        } else if cursor.is(&["WITH", "METRICS"]) {
            return cursor.stop(RefusalReason::NotADefinition("CREATE VIEW WITH METRICS".to_owned()), from);
        } else if cursor.take(&["WITH", "SCHEMA"]) {
            seen.clause(cursor, "WITH SCHEMA", &from);
            if !cursor.take_one_of(&["BINDING", "COMPENSATION", "EVOLUTION"]) {
                cursor.take(&["TYPE"]);
                cursor.expect("EVOLUTION")?;
            }
        } else if !common_clause(cursor, read, &mut seen)? {
            return Ok(());
        }
    }
}

/// The clauses that came so far.
#[derive(Default)]
struct Seen(Vec<&'static str>);

impl Seen {
    fn clause(&mut self, cursor: &mut Cursor<'_>, clause: &'static str, span: &Range<usize>) {
        if self.0.contains(&clause) {
            cursor.refuse(RefusalReason::DuplicateClause(clause), span.clone());
        } else {
            self.0.push(clause);
        }
    }
}

/// Reads a clause that tables and views have; whether there was one.
fn common_clause(cursor: &mut Cursor<'_>, read: &mut Clauses, seen: &mut Seen) -> Step<bool> {
    let from = cursor.span();
    if cursor.take(&["COMMENT"]) {
        seen.clause(cursor, "COMMENT", &from);
        read.comment = Some(cursor.string()?);
    } else if cursor.take(&["TBLPROPERTIES"]) {
        seen.clause(cursor, "TBLPROPERTIES", &from);
        read.properties = properties(cursor)?;
    } else if cursor.take(&["DEFAULT", "COLLATION"]) {
        seen.clause(cursor, "DEFAULT COLLATION", &from);
        collation(cursor)?;
    } else {
        return Ok(false);
    }
    Ok(true)
}

fn partition_columns(cursor: &mut Cursor<'_>, has_types: &mut bool) -> Step<Vec<SqlColumn>> {
    let from = cursor.span();
    let list = cursor.parentheses()?;
    let mut columns = Vec::new();
    for item in items(cursor.sql, list) {
        let mut column = Cursor::new(cursor.sql, item, from.end);
        let read = partition_column(&mut column, has_types);
        cursor.refusals.append(&mut column.refusals);
        cursor.has_doubt |= column.has_doubt;
        columns.push(read?);
    }
    Ok(columns)
}

fn partition_column(column: &mut Cursor<'_>, has_types: &mut bool) -> Step<SqlColumn> {
    let (parts, span) = column.parts()?;
    let name = parts.last().cloned().unwrap_or_default();
    if parts.len() > 1 {
        column.refuse(RefusalReason::NestedColumn, span.clone());
    } else if column.is_sign("(") {
        column.refuse(RefusalReason::PartitionTransform, span.clone());
    } else if !column.is_at_end() {
        // Hive's form, with a data type.
        data_type(column)?;
        *has_types = true;
        column.has_doubt = true;
    }
    Ok(SqlColumn { name, span })
}

fn clustering_columns(cursor: &mut Cursor<'_>) -> Step<Vec<SqlColumn>> {
    cursor.expect_sign("(")?;
    let mut columns = Vec::new();
    loop {
        let (parts, span) = cursor.parts()?;
        if parts.len() > 1 {
            cursor.refuse(RefusalReason::NestedColumn, span.clone());
        }
        columns.extend(parts.into_iter().next_back().map(|name| SqlColumn { name, span }));
        if !cursor.take_sign(",") {
            cursor.expect_sign(")")?;
            return Ok(columns);
        }
    }
}

fn properties(cursor: &mut Cursor<'_>) -> Step<BTreeMap<String, String>> {
    cursor.expect_sign("(")?;
    let mut properties = BTreeMap::new();
    loop {
        let span = cursor.span();
        let key = match cursor.peek().map(|token| token.kind) {
            Some(TokenKind::Text | TokenKind::RawText) => {
                let token = cursor.peek().map(|token| token.string(cursor.sql)).unwrap_or_default();
                cursor.at += 1;
                token
            }
            _ => cursor.parts()?.0.join("."),
        };
        if cursor.is_sign(",") || cursor.is_sign(")") {
            cursor.refuse(RefusalReason::PropertyWithoutValue(key.clone()), span.clone());
        } else {
            let has_sign = cursor.take_sign("=") || cursor.take_sign("==");
            let value = property_value(cursor, has_sign)?;
            if RESERVED_PROPERTIES.contains(&key.as_str()) {
                cursor.refuse(RefusalReason::ReservedProperty(key.clone()), span.clone());
            }
            if properties.insert(key.clone(), value).is_some() {
                cursor.refuse(RefusalReason::DuplicateProperty(key), span);
            }
        }
        if !cursor.take_sign(",") {
            cursor.expect_sign(")")?;
            return Ok(properties);
        }
    }
}

fn property_value(cursor: &mut Cursor<'_>, has_sign: bool) -> Step<String> {
    let text = cursor.text();
    match cursor.peek().map(|token| token.kind) {
        Some(TokenKind::Text | TokenKind::RawText) => return cursor.string(),
        // A number with a suffix is none here.
        Some(TokenKind::Number) if text.ends_with(|c: char| c.is_ascii_digit() || c == '.') => {}
        Some(TokenKind::Word) if cursor.is(&["TRUE"]) || cursor.is(&["FALSE"]) => {
            cursor.at += 1;
            return Ok(text.to_ascii_lowercase());
        }
        _ => return if has_sign { cursor.syntax("a string, a number, true or false") } else { cursor.syntax("=") },
    }
    cursor.at += 1;
    Ok(text.to_owned())
}

/// Reads an expression up to one of the words that may follow it; gives its bytes.
pub(crate) fn expression(cursor: &mut Cursor<'_>, ends: &[&[&str]]) -> Step<Range<usize>> {
    let from = cursor.at;
    let mut depth = 0_usize;
    while let Some(token) = cursor.peek() {
        if depth == 0 && cursor.at > from && ends.iter().any(|words| cursor.is(words)) {
            break;
        }
        match (token.kind, token.text(cursor.sql)) {
            (TokenKind::Sign, "(") => depth += 1,
            (TokenKind::Sign, ")") => depth = depth.saturating_sub(1),
            _ => {}
        }
        cursor.at += 1;
    }
    if cursor.at == from {
        return cursor.syntax("an expression");
    }
    let tokens = cursor.tokens.get(from..cursor.at).unwrap_or_default();
    cursor.has_doubt |= !is_expression(cursor.sql, tokens);
    Ok(cursor.span_from(from))
}
