//! knut's own `knut.toml`: data sources that become temporary views, so that SQL can stream from
//! files, which open-source Spark's pipeline SQL cannot.
//!
//! ```toml
//! [sources.raw_orders]
//! format = "csv"                  # any data source the server has; required
//! path = "data/orders"            # or a list; relative to the project, or a URI
//! schema = "id INT, amount DECIMAL(10, 2)"
//! streaming = true                # false when left out
//! options.header = true           # a dotted key is a dotted option
//! ```

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::ops::Range;
use std::path::Path;

use knut_model::{Identifier, SourceRead};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::code::Code;
use crate::problem::{Lines, Place, Problem};
use crate::source_path::server_path;
use crate::suggest::nearest;
use crate::text::quoted;

/// The largest `knut.toml` that is read.
pub(crate) const MAX_TOML_BYTES: u64 = 256 * 1024;

/// How many errors of syntax are told; the parser goes on after each, if need be byte by byte.
const MAX_SYNTAX_ERRORS: usize = 20;

const KEYS: [&str; 5] = ["format", "path", "schema", "streaming", "options"];

/// One `[sources.NAME]`, read as the temporary view `NAME`.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Source {
    /// The view's name; one part.
    pub name: Identifier,
    /// What it reads. Paths are as the server takes them.
    pub read: SourceRead,
    /// The line of its header in `knut.toml`, counted from 1.
    pub line: u32,
    /// Where its name stands.
    pub(crate) place: Place,
}

/// Reads `knut.toml`; `file` names it in problems, relative paths are resolved against `root`.
///
/// Sources come in the order in which they are written.
pub(crate) fn read_sources(text: &str, file: &str, root: &Path, must_exist: bool) -> (Vec<Source>, Vec<Problem>) {
    let (table, errors) = DeTable::parse_recoverable(text);
    let mut reader = Reader { lines: Lines::new(text), file, root, must_exist, problems: Vec::new() };
    for error in errors.iter().take(MAX_SYNTAX_ERRORS) {
        let message = format!("not valid TOML: {}", error.message().trim_end().replace('\n', ", "));
        let problem = Problem::new(Code::TOML_SYNTAX, file, message);
        reader.problems.push(match error.span() {
            Some(span) => problem.at(reader.lines.span(span)),
            None => problem,
        });
    }
    // What a broken file lacks may only be unreadable.
    let sources = if reader.problems.is_empty() { reader.top(table.get_ref()) } else { Vec::new() };
    reader.problems.sort_by_key(|problem| (problem.line, problem.column));
    (sources, reader.problems)
}

type KeyAndValue<'t, 'i> = (&'t Spanned<std::borrow::Cow<'i, str>>, &'t Spanned<DeValue<'i>>);

/// A table's entries in the order in which they are written.
fn written_order<'t, 'i>(table: &'t DeTable<'i>) -> Vec<KeyAndValue<'t, 'i>> {
    let mut entries: Vec<KeyAndValue<'t, 'i>> = table.iter().collect();
    entries.sort_by_key(|(key, _)| key.span().start);
    entries
}

struct Reader<'a> {
    lines: Lines<'a>,
    file: &'a str,
    root: &'a Path,
    /// Whether a path on this machine that leads nowhere is a problem.
    must_exist: bool,
    problems: Vec<Problem>,
}

impl Reader<'_> {
    fn complain(&mut self, code: Code, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) {
        let place = self.lines.span(span);
        self.problems.push(Problem::new(code, self.file, message).at(place).help(help));
    }

    fn top(&mut self, table: &DeTable<'_>) -> Vec<Source> {
        let mut sources = Vec::new();
        let mut lines = BTreeMap::new();
        for (key, value) in written_order(table) {
            if key.get_ref() != "sources" {
                let message = format!("unexpected key {}", quoted(key.get_ref()));
                let help = match nearest(key.get_ref(), ["sources"]) {
                    Some(known) => format!("did you mean `{known}`?"),
                    None => "knut.toml holds tables named `[sources.NAME]`".to_owned(),
                };
                self.complain(Code::UNEXPECTED_KEY, key.span(), message, help);
                continue;
            }
            let DeValue::Table(tables) = value.get_ref() else {
                let message = format!("`sources` must be a table, not {}", noun(value.get_ref()));
                self.complain(Code::BAD_VALUE, value.span(), message, "write each source as a table `[sources.NAME]`");
                continue;
            };
            for (name, value) in written_order(tables) {
                let Some(source) = self.source(name, value) else { continue };
                // Spark does not tell names apart by case.
                match lines.entry(source.name.key(None, None)) {
                    Entry::Occupied(first) => {
                        let message = format!("the source {} is also defined on line {}", source.name, first.get());
                        self.complain(
                            Code::NAME_OF_SOURCE,
                            name.span(),
                            message,
                            "Spark does not tell names apart by upper and lower case",
                        );
                    }
                    Entry::Vacant(free) => {
                        free.insert(source.line);
                        sources.push(source);
                    }
                }
            }
        }
        sources
    }

    fn source(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>, value: &Spanned<DeValue<'_>>) -> Option<Source> {
        let shown = quoted(key.get_ref());
        let name = self.name(key);
        let DeValue::Table(table) = value.get_ref() else {
            let message = format!("the source {shown} must be a table, not {}", noun(value.get_ref()));
            self.complain(
                Code::BAD_VALUE,
                value.span(),
                message,
                "write it as a table `[sources.NAME]` with at least `format`",
            );
            return None;
        };
        let n_before = self.problems.len();
        let mut read = SourceRead::default();
        for (key, value) in written_order(table) {
            match (&**key.get_ref(), value.get_ref()) {
                ("format", DeValue::String(format)) if format.trim().is_empty() => {
                    self.complain(
                        Code::BAD_VALUE,
                        value.span(),
                        "`format` is empty",
                        "name a data source, such as `csv` or `json`",
                    );
                }
                ("format", DeValue::String(format)) => read.format = Some(format.to_string()),
                ("schema", DeValue::String(schema)) => read.schema = Some(schema.to_string()),
                ("streaming", DeValue::Boolean(streaming)) => read.streaming = *streaming,
                ("path", DeValue::String(path)) => read.paths.extend(self.path(path, value.span())),
                ("path", DeValue::Array(paths)) => {
                    for path in paths {
                        match path.get_ref() {
                            DeValue::String(text) => read.paths.extend(self.path(text, path.span())),
                            other => {
                                let message = format!("a path must be a string, not {}", noun(other));
                                self.complain(Code::BAD_VALUE, path.span(), message, "put it in quotes");
                            }
                        }
                    }
                }
                ("options", DeValue::Table(options)) => self.options(options, &mut read.options),
                (known, other) if KEYS.contains(&known) => {
                    let wanted = match known {
                        "streaming" => "`true` or `false`",
                        "options" => "a table",
                        "path" => "a string or a list of strings",
                        _ => "a string",
                    };
                    let message = format!("`{known}` must be {wanted}, not {}", noun(other));
                    self.complain(Code::BAD_VALUE, value.span(), message, example(known));
                }
                (unknown, other) => self.unexpected(unknown, key.span(), &shown, other),
            }
        }
        if read.format.is_none() && !table.contains_key("format") {
            let message = format!("the source {shown} has no `format`");
            self.complain(Code::BAD_VALUE, key.span(), message, "name its data source: `format = \"csv\"`");
        }
        if read.streaming && read.paths.len() > 1 {
            let message =
                format!("the streaming source {shown} has {} paths: Spark streams from one", read.paths.len());
            self.complain(
                Code::BAD_VALUE,
                key.span(),
                message,
                "use one folder or a pattern such as `data/{a,b}/*.csv`",
            );
        }
        let is_good = self.problems.len() == n_before;
        let place = self.lines.span(key.span());
        name.filter(|_| is_good).map(|name| Source { name, read, line: place.line, place })
    }

    fn name(&mut self, key: &Spanned<std::borrow::Cow<'_, str>>) -> Option<Identifier> {
        let help = "a source is read in SQL by its name: letters, digits and _, such as `raw_orders`";
        match Identifier::parse(key.get_ref()) {
            Ok(name) if name.is_single_part() => return Some(name),
            Ok(name) => {
                self.complain(
                    Code::NAME_OF_SOURCE,
                    key.span(),
                    format!("the source's name {name} has more than one part"),
                    help,
                );
            }
            Err(error) => {
                self.complain(Code::NAME_OF_SOURCE, key.span(), format!("bad name of a source: {error}"), help);
            }
        }
        None
    }

    fn unexpected(&mut self, unknown: &str, span: Range<usize>, source: &str, value: &DeValue<'_>) {
        let help = match (unknown, value) {
            ("paths", _) => "did you mean `path`? It takes a list too".to_owned(),
            ("option", _) => "did you mean `options`?".to_owned(),
            // `[sources.a.b]` makes this table.
            (_, DeValue::Table(table)) if table.contains_key("format") => {
                "a source's name has one part: `[sources.NAME]`".to_owned()
            }
            _ => match nearest(unknown, KEYS) {
                Some(known) => format!("did you mean `{known}`?"),
                None => format!("a source has {}; what its data source takes stands in `options`", KEYS.join(", ")),
            },
        };
        self.complain(
            Code::UNEXPECTED_KEY,
            span,
            format!("the source {source} has the unexpected key {}", quoted(unknown)),
            help,
        );
    }

    fn path(&mut self, written: &str, span: Range<usize>) -> Option<String> {
        match server_path(self.root, written, self.must_exist) {
            Ok(path) => Some(path),
            Err(bad) => {
                self.complain(Code::PATH_OF_SOURCE, span, bad.message, bad.help);
                None
            }
        }
    }

    /// Options as strings; `kafka.topic` may be written as one quoted key or as nested tables.
    fn options(&mut self, table: &DeTable<'_>, options: &mut BTreeMap<String, String>) {
        // A list instead of recursion, as everywhere where somebody's file sets the depth.
        let mut open = vec![(String::new(), table)];
        while let Some((prefix, table)) = open.pop() {
            for (key, value) in written_order(table) {
                let name = format!("{prefix}{}", key.get_ref());
                let text = match value.get_ref() {
                    DeValue::String(text) => text.to_string(),
                    DeValue::Boolean(flag) => flag.to_string(),
                    DeValue::Integer(number) => match i64::from_str_radix(number.as_str(), number.radix()) {
                        Ok(number) => number.to_string(),
                        Err(_) => number.as_str().to_owned(),
                    },
                    DeValue::Float(number) => number.as_str().to_owned(),
                    DeValue::Table(inner) => {
                        open.push((format!("{name}."), inner));
                        continue;
                    }
                    other => {
                        let message = format!("the option {} must be a string, not {}", quoted(&name), noun(other));
                        self.complain(Code::BAD_VALUE, value.span(), message, "put its value in quotes");
                        continue;
                    }
                };
                if options.insert(name.clone(), text).is_some() {
                    let message = format!("the option {} is given twice", quoted(&name));
                    self.complain(Code::BAD_VALUE, key.span(), message, "keep one of them");
                }
            }
        }
    }
}

fn example(key: &str) -> &'static str {
    match key {
        "streaming" => "write `streaming = true`",
        "options" => "write `options.header = true`, or a table `[sources.NAME.options]`",
        "path" => "write `path = \"data/orders\"`",
        "schema" => "write `schema = \"id INT, name STRING\"`",
        _ => "write `format = \"csv\"`",
    }
}

fn noun(value: &DeValue<'_>) -> &'static str {
    match value {
        DeValue::String(_) => "a string",
        DeValue::Integer(_) => "an integer",
        DeValue::Float(_) => "a float",
        DeValue::Boolean(_) => "a boolean",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &str) -> (Vec<Source>, Vec<String>) {
        let (sources, problems) = read_sources(text, "knut.toml", Path::new("/p"), true);
        let told = problems.iter().map(|problem| match &problem.help {
            Some(help) => format!("{problem} | {help}"),
            None => problem.to_string(),
        });
        (sources, told.collect())
    }

    fn check_problems(text: &str, expected: &[&str]) {
        assert_eq!(read(text).1, expected, "{text}");
    }

    #[test]
    fn sources_become_reads_in_the_order_written() {
        let text = r#"
[sources.raw_orders]
format = "csv"
path = "orders/*.csv"
schema = "id INT"
streaming = true
options.header = true
options.maxFilesPerTrigger = 0x10

[sources."`daily files`"]
format = "json"
path = ["a/*", "s3a://b/c"]

[sources.events]
format = "kafka"
streaming = true
[sources.events.options]
kafka.bootstrap.servers = "h:9092"
"subscribe" = "t"
rate = 1.5
"#;
        let (sources, problems) = read(text);
        assert_eq!(problems, Vec::<String>::new());
        let expected = [
            SourceRead::csv(["file:///p/orders/*.csv"])
                .schema("id INT")
                .option("header", "true")
                .option("maxFilesPerTrigger", "16")
                .streaming(),
            SourceRead::json(["file:///p/a/*", "s3a://b/c"]),
            SourceRead::new("kafka")
                .option("kafka.bootstrap.servers", "h:9092")
                .option("subscribe", "t")
                .option("rate", "1.5")
                .streaming(),
        ];
        assert_eq!(sources.iter().map(|source| source.read.clone()).collect::<Vec<_>>(), expected);
        let places: Vec<_> = sources.iter().map(|source| (source.name.to_string(), source.line)).collect();
        assert_eq!(places, [("raw_orders".into(), 2), ("`daily files`".into(), 10), ("events".into(), 14)]);
    }

    #[test]
    fn every_problem_is_told_with_its_place() {
        check_problems("", &[]);
        check_problems("[sources]\n", &[]);
        check_problems(
            "[source.a]\nformat = \"x\"\n",
            &["knut.toml:1:2: unexpected key `source` | did you mean `sources`?"],
        );
        check_problems(
            "x = 1\n",
            &["knut.toml:1:1: unexpected key `x` | knut.toml holds tables named `[sources.NAME]`"],
        );
        check_problems(
            "sources = 1\n",
            &[
                "knut.toml:1:11: `sources` must be a table, not an integer | write each source as a table `[sources.NAME]`",
            ],
        );
        check_problems(
            "[sources.a]\npath = \"x*\"\n",
            &["knut.toml:1:10: the source `a` has no `format` | name its data source: `format = \"csv\"`"],
        );
        check_problems(
            "[sources.a]\nformat = 1\nstreaming = \"yes\"\nfromat = \"x\"\npaths = []\npath = [1]\n",
            &[
                "knut.toml:2:10: `format` must be a string, not an integer | write `format = \"csv\"`",
                "knut.toml:3:13: `streaming` must be `true` or `false`, not a string | write `streaming = true`",
                "knut.toml:4:1: the source `a` has the unexpected key `fromat` | did you mean `format`?",
                "knut.toml:5:1: the source `a` has the unexpected key `paths` | did you mean `path`? It takes a list too",
                "knut.toml:6:9: a path must be a string, not an integer | put it in quotes",
            ],
        );
        check_problems(
            "[sources.a]\nformat = \"csv\"\npath = \"no/such\"\n",
            &["knut.toml:3:8: the path `/p/no/such` does not exist | it is relative to the project's folder"],
        );
        check_problems(
            "[sources.a]\nformat = \"csv\"\nstreaming = true\npath = [\"x*\", \"y*\"]\n",
            &[
                "knut.toml:1:10: the streaming source `a` has 2 paths: Spark streams from one | use one folder or a pattern \
               such as `data/{a,b}/*.csv`",
            ],
        );
        check_problems(
            "[sources.a]\nformat = \"x\"\noptions.k = [1]\noptions.\"a.b\" = 1\noptions.a.b = 2\n",
            &[
                "knut.toml:3:13: the option `k` must be a string, not a list | put its value in quotes",
                "knut.toml:5:11: the option `a.b` is given twice | keep one of them",
            ],
        );
        check_problems(
            "[sources.a]\nformat = \"x\"\n[sources.A]\nformat = \"x\"\n",
            &["knut.toml:3:10: the source A is also defined on line 1 | Spark does not tell names apart by upper and \
               lower case"],
        );
    }

    #[test]
    fn a_sources_name_is_an_identifier_of_one_part() {
        let help = "a source is read in SQL by its name: letters, digits and _, such as `raw_orders`";
        for (name, message) in [
            (
                "hy-phen",
                "bad name of a source: `hy-phen` is not a valid name: a part with characters other than letters, \
                         digits and _ must stand in backticks",
            ),
            ("'a.b'", "the source's name a.b has more than one part"),
            ("''", "bad name of a source: `` is not a valid name: it is empty"),
        ] {
            check_problems(
                &format!("[sources.{name}]\nformat = 'x'\n"),
                &[&format!("knut.toml:1:10: {message} | {help}")],
            );
        }
        check_problems(
            "[sources.a.b]\nformat = 'x'\n",
            &[
                "knut.toml:1:10: the source `a` has no `format` | name its data source: `format = \"csv\"`",
                "knut.toml:1:12: the source `a` has the unexpected key `b` | a source's name has one part: `[sources.NAME]`",
            ],
        );
    }

    #[test]
    fn broken_toml_tells_all_its_errors() {
        let (sources, problems) = read("[sources.a]\nformat = \nx == 1\n[sources.b\n");
        assert_eq!(sources, []);
        assert!(problems.len() >= 3, "{problems:?}");
        assert!(problems[0].starts_with("knut.toml:2:10: not valid TOML: "), "{problems:?}");
    }
}
