//! Finds the relations of a query from its tokens alone, without understanding the rest.
//!
//! A stack holds the open parentheses, so that it is linear and cannot overflow. Where a word can
//! be a keyword or a name, it decides as Spark's grammar does. Source: Spark 4.3,
//! `SqlBaseParser`; the odd cases were tried on a real server.

use std::collections::HashMap;
use std::ops::Range;

use crate::sql::token::{self, Token, TokenKind};

/// A place where the query names a relation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Site {
    /// The index of its first token; the tree of a parser knows it by this.
    pub(crate) at: usize,
    /// The index after its last token.
    pub(crate) end: usize,
    pub(crate) parts: Vec<String>,
    pub(crate) is_streaming: bool,
    pub(crate) kind: SiteKind,
    /// Whether it is a function's argument, which the tree of a parser does not know.
    pub(crate) is_argument: bool,
    /// The bytes of the name.
    pub(crate) span: Range<usize>,
}

/// What a relation's name can mean.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SiteKind {
    /// A dataset of the graph, or a table or view of the catalog.
    Named,
    /// What a `WITH` of the query defines.
    CommonTable,
    /// A table as it was at another time; it is no dataset of the graph.
    TimeTravel,
}

/// A function in the place of a relation, `range(3)`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Call {
    pub(crate) name: String,
    pub(crate) span: Range<usize>,
}

/// How a token must be changed for a parser that does not know Spark's own syntax.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Edit {
    /// Left out: `STREAM` and its parentheses.
    Drop,
    /// `TABLE x` is `SELECT * FROM x`.
    SelectAll,
    /// `FROM x` is `SELECT * FROM x`.
    SelectBefore,
}

/// What the tokens show.
#[derive(Debug, Default)]
pub(crate) struct Found {
    /// In the order in which they are written.
    pub(crate) sites: Vec<Site>,
    pub(crate) calls: Vec<Call>,
    /// By token index, in rising order.
    pub(crate) edits: Vec<(usize, Edit)>,
    /// Whether there is something that Spark does not take though a parser may.
    pub(crate) is_odd: bool,
    /// Whether an `IDENTIFIER(…)` computes the name of a relation.
    pub(crate) has_computed_name: bool,
}

/// What an open parenthesis, or the whole query, is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FrameKind {
    Query,
    /// `FROM (a JOIN b)`.
    Relations,
    /// Arguments, a list, a column list.
    Other,
}

/// What the next token of a frame is taken for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Expect {
    Nothing,
    Relation,
    /// After the beginning, or `UNION`: `SELECT`, `TABLE x`, a parenthesis.
    QueryBody,
    /// After `WITH` or a comma in its list.
    CommonTableName,
}

/// What a comma separates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Commas {
    Nothing,
    /// After `FROM`.
    Relations,
    /// After `FROM VALUES`: rows before a parenthesis, else relations.
    Rows,
    /// After `WITH`.
    CommonTables,
}

struct Frame {
    kind: FrameKind,
    expect: Expect,
    commas: Commas,
    has_pipe: bool,
    /// Whether the query begins with `FROM`.
    starts_with_from: bool,
    /// The common table whose body has yet to come.
    common_table: Option<String>,
    is_recursive: bool,
    /// The common tables that end with this frame.
    scope: Vec<String>,
    /// The common table whose body this frame is.
    defines: Option<String>,
}

impl Frame {
    fn new(kind: FrameKind, expect: Expect) -> Self {
        Self {
            kind,
            expect,
            commas: if kind == FrameKind::Relations { Commas::Relations } else { Commas::Nothing },
            has_pipe: false,
            starts_with_from: false,
            common_table: None,
            is_recursive: false,
            scope: Vec::new(),
            defines: None,
        }
    }
}

/// Words that end the list of relations after `FROM`.
const CLAUSES: [&str; 13] = [
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "SORT",
    "DISTRIBUTE",
    "CLUSTER",
    "LIMIT",
    "OFFSET",
    "WINDOW",
    "SELECT",
    "LATERAL",
    "QUALIFY",
];

/// Words that join two queries.
const SET_OPERATORS: [&str; 4] = ["UNION", "EXCEPT", "INTERSECT", "MINUS"];

/// Words after `stream` with which it is a name: `FROM stream WHERE …`. With other words Spark
/// reads a stream, even `FROM stream AS q`, of a table called `AS`.
const AFTER_NAME_STREAM: [&str; 21] = [
    "WHERE",
    "GROUP",
    "HAVING",
    "ORDER",
    "SORT",
    "DISTRIBUTE",
    "CLUSTER",
    "LIMIT",
    "OFFSET",
    "WINDOW",
    "UNION",
    "EXCEPT",
    "INTERSECT",
    "MINUS",
    "LATERAL",
    "TABLESAMPLE",
    "PIVOT",
    "UNPIVOT",
    "ON",
    "JOIN",
    "SELECT",
];

/// Finds the relations of a query.
pub(crate) fn read(sql: &str, tokens: &[Token]) -> Found {
    read_in(sql, tokens, Frame::new(FrameKind::Query, Expect::QueryBody))
}

/// Finds the relations of what could follow `FROM`.
pub(crate) fn read_relation(sql: &str, tokens: &[Token]) -> Found {
    read_in(sql, tokens, Frame::new(FrameKind::Relations, Expect::Relation))
}

fn read_in(sql: &str, tokens: &[Token], frame: Frame) -> Found {
    let mut reader =
        Reader { sql, tokens, frames: vec![frame], common_tables: HashMap::new(), found: Found::default() };
    let mut at = 0;
    while at < tokens.len() {
        at = reader.step(at).max(at + 1);
    }
    reader.found
}

struct Reader<'a> {
    sql: &'a str,
    tokens: &'a [Token],
    /// Never empty.
    frames: Vec<Frame>,
    /// The common tables in scope, in lower case, and how often each.
    common_tables: HashMap<String, usize>,
    found: Found,
}

impl Reader<'_> {
    fn is_word(&self, at: usize, keyword: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_word(self.sql, keyword))
    }

    fn is_one_of(&self, at: usize, keywords: &[&str]) -> bool {
        keywords.iter().any(|keyword| self.is_word(at, keyword))
    }

    fn is_sign(&self, at: usize, sign: &str) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_sign(self.sql, sign))
    }

    fn is_name(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(Token::is_name)
    }

    /// Whether a query begins here.
    fn is_query(&self, at: usize) -> bool {
        self.is_one_of(at, &["SELECT", "WITH", "FROM", "VALUES"])
            || (self.is_one_of(at, &["MAP", "REDUCE"]) && !self.is_sign(at + 1, "("))
            || (self.is_word(at, "TABLE") && self.is_name(at + 1))
    }

    fn with_top(&mut self, change: impl FnOnce(&mut Frame)) {
        if let Some(top) = self.frames.last_mut() {
            change(top);
        }
    }

    /// Takes one token, or more where they belong together; gives the index to go on at.
    fn step(&mut self, at: usize) -> usize {
        let Some(token) = self.tokens.get(at).copied() else { return at + 1 };
        match token.text(self.sql) {
            "(" if token.kind == TokenKind::Sign => self.open(at),
            ")" if token.kind == TokenKind::Sign => self.close(),
            "," if token.kind == TokenKind::Sign => {
                let before_row = self.is_sign(at + 1, "(");
                self.with_top(|top| {
                    top.expect = match top.commas {
                        Commas::CommonTables => Expect::CommonTableName,
                        Commas::Rows if before_row => Expect::Nothing,
                        Commas::Relations | Commas::Rows => Expect::Relation,
                        Commas::Nothing => top.expect,
                    }
                });
            }
            "|>" if token.kind == TokenKind::Sign => self.with_top(|top| {
                (top.has_pipe, top.commas, top.expect) = (true, Commas::Nothing, Expect::Nothing);
            }),
            _ if token.is_name() => return self.name(at),
            _ => self.with_top(|top| top.expect = Expect::Nothing),
        }
        at + 1
    }

    fn open(&mut self, at: usize) {
        let starts_query = self.is_query(at + 1);
        let (is_after_as, is_nested) = (at > 0 && self.is_word(at - 1, "AS"), self.is_sign(at + 1, "("));
        let Some(top) = self.frames.last_mut() else { return };
        let expect = std::mem::replace(&mut top.expect, Expect::Nothing);
        // Before the body there may be a list of columns.
        let is_body = starts_query || is_after_as || is_nested;
        let body = top.common_table.take_if(|_| is_body);
        let is_recursive = top.is_recursive;
        let mut frame = match expect {
            _ if starts_query || body.is_some() => Frame::new(FrameKind::Query, Expect::QueryBody),
            Expect::Relation => Frame::new(FrameKind::Relations, Expect::Relation),
            Expect::QueryBody => Frame::new(FrameKind::Query, Expect::QueryBody),
            _ => Frame::new(FrameKind::Other, Expect::Nothing),
        };
        if let Some(name) = body {
            // A common table sees itself only if it is recursive.
            if is_recursive {
                *self.common_tables.entry(name.clone()).or_default() += 1;
                frame.scope.push(name.clone());
            }
            frame.defines = Some(name);
        }
        self.frames.push(frame);
    }

    fn close(&mut self) {
        if self.frames.len() < 2 {
            return;
        }
        let Some(closed) = self.frames.pop() else { return };
        for name in closed.scope {
            if let Some(count) = self.common_tables.get_mut(&name) {
                *count = count.saturating_sub(1);
            }
        }
        let Some(top) = self.frames.last_mut() else { return };
        if let Some(name) = closed.defines {
            *self.common_tables.entry(name.clone()).or_default() += 1;
            top.scope.push(name);
            top.expect = Expect::QueryBody;
        }
    }

    fn name(&mut self, at: usize) -> usize {
        let Some(top) = self.frames.last() else { return at + 1 };
        let in_from = matches!(top.commas, Commas::Relations | Commas::Rows);
        let (kind, expect, has_pipe, starts_with_from) = (top.kind, top.expect, top.has_pipe, top.starts_with_from);
        if expect == Expect::CommonTableName {
            return self.common_table(at);
        }
        let is_member = at > 0 && self.is_sign(at - 1, ".");
        if expect == Expect::Relation {
            return self.relation(at);
        }
        if expect == Expect::QueryBody && self.is_word(at, "TABLE") && self.is_name(at + 1) {
            self.found.edits.push((at, Edit::SelectAll));
            return self.relation(at + 1);
        }
        if kind == FrameKind::Other {
            return self.table_argument(at);
        }
        if is_member {
            return at + 1;
        }
        if self.is_word(at, "WITH") && expect == Expect::QueryBody {
            let is_recursive = self.is_word(at + 1, "RECURSIVE") && self.is_name(at + 2);
            self.with_top(|top| {
                (top.expect, top.commas, top.is_recursive) =
                    (Expect::CommonTableName, Commas::CommonTables, is_recursive);
            });
            return at + 1 + usize::from(is_recursive);
        }
        if self.is_word(at, "FROM") && !self.is_distinct_from(at) && !self.is_column(at) {
            if expect == Expect::QueryBody {
                self.with_top(|top| top.starts_with_from = true);
                self.found.edits.push((at, Edit::SelectBefore));
            }
            self.with_top(|top| (top.commas, top.expect) = (Commas::Relations, Expect::Relation));
        } else if self.is_word(at, "JOIN") && (in_from || has_pipe) {
            self.with_top(|top| (top.commas, top.expect) = (Commas::Relations, Expect::Relation));
        } else if self.is_one_of(at, &SET_OPERATORS) {
            self.with_top(|top| (top.commas, top.expect) = (Commas::Nothing, Expect::QueryBody));
        } else if self.is_one_of(at, &CLAUSES) {
            // `FROM a WHERE b` without `SELECT` is no query.
            let is_filter = self.is_one_of(at, &["WHERE", "GROUP", "HAVING", "WINDOW", "QUALIFY"]);
            self.found.is_odd |= is_filter && starts_with_from && !has_pipe;
            self.with_top(|top| (top.commas, top.expect) = (Commas::Nothing, Expect::Nothing));
        } else if !(expect == Expect::QueryBody && self.is_one_of(at, &["ALL", "DISTINCT"])) {
            self.with_top(|top| top.expect = Expect::Nothing);
        }
        at + 1
    }

    /// Observed: in `SELECT FROM a` and `SELECT b, FROM a` Spark takes `FROM` for a column.
    fn is_column(&self, at: usize) -> bool {
        let after_select = at > 0 && self.is_word(at - 1, "SELECT");
        let after_quantifier = at > 1 && self.is_one_of(at - 1, &["DISTINCT", "ALL"]) && self.is_word(at - 2, "SELECT");
        after_select || after_quantifier || (at > 0 && self.is_sign(at - 1, ","))
    }

    /// `a IS [NOT] DISTINCT FROM b` reads nothing.
    fn is_distinct_from(&self, at: usize) -> bool {
        at >= 2 && self.is_word(at - 1, "DISTINCT") && self.is_one_of(at - 2, &["IS", "NOT"])
    }

    /// `name [(columns)] [AS] (query)` after `WITH`; only the name is taken here.
    fn common_table(&mut self, at: usize) -> usize {
        let Some(token) = self.tokens.get(at) else { return at + 1 };
        let name = token.name(self.sql).to_lowercase();
        self.with_top(|top| (top.expect, top.common_table) = (Expect::Nothing, Some(name)));
        at + 1
    }

    /// A table as a function's argument: `f(TABLE(x))`, `f(TABLE x)`.
    fn table_argument(&mut self, at: usize) -> usize {
        let is_argument =
            self.is_word(at, "TABLE") && at > 0 && ["(", ",", "=>"].iter().any(|sign| self.is_sign(at - 1, sign));
        let relation = if is_argument && self.is_name(at + 1) {
            at + 1
        } else if is_argument && self.is_sign(at + 1, "(") && self.is_name(at + 2) && !self.is_query(at + 2) {
            at + 2
        } else {
            return at + 1;
        };
        // The parenthesis of `TABLE(x)`.
        let has_parenthesis = relation > at + 1;
        if has_parenthesis {
            self.frames.push(Frame::new(FrameKind::Other, Expect::Nothing));
        }
        let n_sites = self.found.sites.len();
        let end = self.relation(relation);
        for site in self.found.sites.iter_mut().skip(n_sites) {
            site.is_argument = true;
        }
        end
    }

    /// A relation begins here; gives the index after its name.
    fn relation(&mut self, at: usize) -> usize {
        self.with_top(|top| top.expect = Expect::Nothing);
        if self.is_word(at, "LATERAL") {
            self.with_top(|top| top.expect = Expect::Relation);
            return at + 1;
        }
        if self.is_word(at, "VALUES") && self.is_row(at + 1) {
            self.with_top(|top| top.commas = Commas::Rows);
            return at + 1;
        }
        if self.is_word(at, "STREAM") {
            if self.is_sign(at + 1, "(") && self.is_name(at + 2) {
                let end = self.named(at + 2, true);
                if self.is_sign(end, ")") {
                    self.found.edits.extend([(at, Edit::Drop), (at + 1, Edit::Drop), (end, Edit::Drop)]);
                    return end + 1;
                }
                // `STREAM(f(x))`: the parenthesis is the frame of what is left.
                self.frames.push(Frame::new(FrameKind::Other, Expect::Nothing));
                return end;
            }
            if self.is_name(at + 1) && !self.is_one_of(at + 1, &AFTER_NAME_STREAM) {
                self.found.edits.push((at, Edit::Drop));
                return self.named(at + 1, true);
            }
        }
        self.named(at, false)
    }

    /// Whether rows can follow `VALUES`; else it is a name.
    fn is_row(&self, at: usize) -> bool {
        let Some(token) = self.tokens.get(at) else { return false };
        match token.kind {
            TokenKind::Sign => !matches!(token.text(self.sql), "," | ")" | "|>"),
            TokenKind::Word => !self.is_one_of(at, &CLAUSES) && !self.is_one_of(at, &["AS", "JOIN"]),
            _ => true,
        }
    }

    /// A name of one or more parts, or `IDENTIFIER('name')`; gives the index after it.
    fn named(&mut self, at: usize, is_streaming: bool) -> usize {
        if self.is_word(at, "IDENTIFIER") && self.is_sign(at + 1, "(") {
            return self.identifier(at, is_streaming);
        }
        let mut parts = Vec::new();
        let mut end = at;
        while let Some(token) = self.tokens.get(end).filter(|token| token.is_name()) {
            parts.push(token.name(self.sql));
            end += 1;
            if !(self.is_sign(end, ".") && self.is_name(end + 1)) {
                break;
            }
            end += 1;
        }
        let (Some(first), Some(last)) = (self.tokens.get(at), self.tokens.get(end.saturating_sub(1))) else {
            return at + 1;
        };
        let span = first.start..last.end;
        if self.is_sign(end, "(") {
            self.found.calls.push(Call { name: parts.pop().unwrap_or_default(), span });
        } else {
            self.site(at..end, parts, is_streaming, span);
        }
        end
    }

    fn identifier(&mut self, at: usize, is_streaming: bool) -> usize {
        let constant =
            self.tokens.get(at + 2).filter(|token| matches!(token.kind, TokenKind::Text | TokenKind::RawText));
        if let Some(token) = constant
            && self.is_sign(at + 3, ")")
            && let Some(parts) = multipart(&token.string(self.sql))
        {
            self.site(at..at + 4, parts, is_streaming, token.span());
            return at + 4;
        }
        self.found.has_computed_name = true;
        at + 1
    }

    /// `[FOR] VERSION AS OF 1`, `[FOR] TIMESTAMP AS OF '2024-01-01'`: left out for the parser if the
    /// version is a number or a string.
    fn time_travel(&mut self, end: usize) -> bool {
        let at = end + usize::from(self.is_word(end, "FOR"));
        let is_found = self.is_one_of(at, &["VERSION", "TIMESTAMP", "SYSTEM_VERSION", "SYSTEM_TIME"])
            && self.is_word(at + 1, "AS")
            && self.is_word(at + 2, "OF");
        if is_found && self.is_literal(at + 3) {
            self.found.edits.extend((end..at + 4).map(|index| (index, Edit::Drop)));
        }
        is_found
    }

    fn is_literal(&self, at: usize) -> bool {
        self.tokens.get(at).is_some_and(|token| token.is_string() || token.kind == TokenKind::Number)
    }

    /// Leaves `WATERMARK at DELAY OF INTERVAL 1 MINUTE` out for the parser, if it is of this form.
    fn watermark(&mut self, end: usize) {
        let start = end + usize::from(self.is_sign(end, ")"));
        if !self.is_word(start, "WATERMARK") || !self.is_name(start + 1) {
            return;
        }
        let mut at = start + 2;
        while self.is_sign(at, ".") && self.is_name(at + 1) {
            at += 2;
        }
        let is_form = self.is_word(at, "DELAY") && self.is_word(at + 1, "OF") && self.is_word(at + 2, "INTERVAL");
        if is_form && self.is_literal(at + 3) && self.is_name(at + 4) {
            self.found.edits.extend((start..at + 5).map(|index| (index, Edit::Drop)));
        }
    }

    fn site(&mut self, range: Range<usize>, parts: Vec<String>, is_streaming: bool, span: Range<usize>) {
        let is_common_table = match parts.as_slice() {
            [name] => self.common_tables.get(&name.to_lowercase()).is_some_and(|count| *count > 0),
            _ => false,
        };
        let (at, end) = (range.start, range.end);
        let kind = match is_common_table {
            true => SiteKind::CommonTable,
            false if self.time_travel(end) => SiteKind::TimeTravel,
            false => SiteKind::Named,
        };
        let site = Site { at, end, parts, kind, is_streaming, is_argument: false, span };
        self.found.sites.push(site);
        if is_streaming && !is_common_table {
            self.watermark(end);
        }
    }
}

/// The parts of a name that stands in a string; `None` if it is no name.
pub(crate) fn multipart(name: &str) -> Option<Vec<String>> {
    let tokens = token::tokens(name, 0..name.len());
    let mut parts = Vec::new();
    for (index, token) in tokens.iter().enumerate() {
        match index % 2 {
            0 if token.kind == TokenKind::QuotedName => parts.push(token.name(name)),
            0 if token.kind == TokenKind::Word && token.text(name).is_ascii() => parts.push(token.name(name)),
            1 if token.is_sign(name, ".") => {}
            _ => return None,
        }
    }
    (tokens.len() % 2 == 1).then_some(parts)
}
