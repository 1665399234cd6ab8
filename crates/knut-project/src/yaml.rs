//! A YAML document as a tree in which every node knows its place.
//!
//! Nodes lie in one list and aliases point into it, so that an alias bomb costs no more than its
//! text; nothing here recurses. Nothing is ever run for a tag.
//!
//! Scalars mean what they mean to the reference client, which reads YAML 1.1. The syntax is that of
//! YAML 1.2, which differs where nobody writes: the lines of a quoted text or of a `{…}` inside a
//! block must be indented, and U+0085, U+2028 and U+2029 end no line.

use std::collections::{BTreeMap, BTreeSet};

use saphyr_parser::{Event, Parser, ScalarStyle, Span, Tag};

use crate::code::Code;
use crate::problem::{Place, Problem, saturated};
use crate::scalar::PlainType;
use crate::text::quoted;

/// The most entries that merge keys may bring into one document. Far more than anyone writes.
const MAX_MERGED_ENTRIES: usize = 10_000;

/// The place of a node in its document.
pub(crate) type NodeId = usize;

/// What a node holds.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Value {
    /// A string, or a plain scalar that is none.
    Scalar {
        text: String,
        plain_type: PlainType,
    },
    Sequence(Vec<NodeId>),
    Mapping(Vec<(NodeId, NodeId)>),
    /// Something that has been complained of; no further complaint should follow.
    Bad,
}

/// One node.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Node {
    pub(crate) place: Place,
    pub(crate) value: Value,
    /// Whether it is the plain scalar `<<`.
    is_merge: bool,
}

/// A whole document.
#[derive(Clone, Debug, Default)]
pub(crate) struct Document {
    nodes: Vec<Node>,
    /// `None` when the file has no content or cannot be read as YAML.
    pub(crate) root: Option<NodeId>,
}

impl Document {
    pub(crate) fn node(&self, id: NodeId) -> &Node {
        &self.nodes[id]
    }

    /// The text of a string; `None` for anything else.
    pub(crate) fn string(&self, id: NodeId) -> Option<&str> {
        match &self.node(id).value {
            Value::Scalar { text, plain_type: PlainType::Text } => Some(text),
            _ => None,
        }
    }

    /// The type of a node with its article, for messages.
    pub(crate) fn noun(&self, id: NodeId) -> &'static str {
        match &self.node(id).value {
            Value::Scalar { plain_type, .. } => plain_type.noun(),
            Value::Sequence(_) => "a list",
            Value::Mapping(_) => "a mapping",
            Value::Bad => "unreadable",
        }
    }

    pub(crate) fn is_null(&self, id: NodeId) -> bool {
        matches!(&self.node(id).value, Value::Scalar { plain_type: PlainType::Null, .. })
    }

    pub(crate) fn is_bad(&self, id: NodeId) -> bool {
        self.node(id).value == Value::Bad
    }
}

/// Reads a document; `file` names it in problems.
pub(crate) fn parse(text: &str, file: &str) -> (Document, Vec<Problem>) {
    let mut composer = Composer { file, ..Composer::default() };
    let mut parser = Parser::new_from_str(text);
    while let Some(event) = parser.next_event() {
        match event {
            Ok((event, span)) => {
                if !composer.take(event, place(span)) {
                    break;
                }
            }
            Err(error) => {
                composer.problems.push(syntax_problem(
                    text,
                    file,
                    error.info(),
                    place(Span::new(*error.marker(), *error.marker())),
                ));
                // What was read so far may lack anything, so that complaints about it would mislead.
                composer.document.root = None;
                break;
            }
        }
    }
    (composer.document, composer.problems)
}

/// The parser's error. It places a tab in the indentation where the value before it began.
fn syntax_problem(text: &str, file: &str, info: &str, place: Place) -> Problem {
    let is_indented_by_tab = |line: &str| line[..line.len() - line.trim_start().len()].contains('\t');
    let tab_line = || {
        let from = usize::try_from(place.line).unwrap_or(usize::MAX).saturating_sub(1);
        text.lines().enumerate().skip(from).find(|(_, line)| is_indented_by_tab(line))
    };
    match tab_line().filter(|_| info.contains("tab")) {
        Some((index, line)) => {
            let column = line.chars().position(|c| c == '\t').unwrap_or_default() + 1;
            let place = Place::new(saturated(index + 1), saturated(column), 1);
            let problem = Problem::new(Code::SPEC_SYNTAX, file, "not valid YAML: a tab stands in the indentation");
            problem.at(place).help("indent with spaces")
        }
        None => Problem::new(Code::SPEC_SYNTAX, file, format!("not valid YAML: {info}")).at(place),
    }
}

/// The place of a node. The width of one of several lines is not known: one column.
fn place(span: Span) -> Place {
    let width = if span.start.line() == span.end.line() { span.end.col().saturating_sub(span.start.col()) } else { 1 };
    Place::new(saturated(span.start.line().max(1)), saturated(span.start.col() + 1), saturated(width))
}

/// A collection whose end has not come yet.
enum Open {
    Sequence { id: NodeId, items: Vec<NodeId> },
    Mapping { id: NodeId, entries: Vec<(NodeId, NodeId)>, key: Option<NodeId> },
}

#[derive(Default)]
struct Composer<'a> {
    file: &'a str,
    document: Document,
    anchors: BTreeMap<usize, NodeId>,
    open: Vec<Open>,
    n_documents: usize,
    n_merged: usize,
    problems: Vec<Problem>,
}

impl Composer<'_> {
    /// Takes one event; false when reading on makes no sense.
    fn take(&mut self, event: Event<'_>, place: Place) -> bool {
        match event {
            Event::DocumentStart(_) => {
                self.n_documents += 1;
                if self.n_documents > 1 {
                    self.complain(place, "a second document begins here: the spec must be one document");
                    return false;
                }
            }
            Event::Scalar(text, style, anchor, tag) => {
                let is_plain = style == ScalarStyle::Plain;
                let is_merge = is_plain && tag.is_none() && text == "<<";
                let value = self.scalar(text.into_owned(), is_plain, tag.as_deref(), place);
                self.add(Node { place, value, is_merge }, anchor);
            }
            Event::Alias(anchor) => {
                if let Some(id) = self.anchors.get(&anchor) {
                    self.attach(*id);
                } else {
                    self.complain(place, "an alias without its anchor");
                    self.add(Node { place, value: Value::Bad, is_merge: false }, 0);
                }
            }
            Event::SequenceStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), &["seq"], place);
                // Until it is complete it reads as bad: an alias to it from inside is a mistake.
                let id = self.push(Node { place, value: Value::Bad, is_merge: false }, anchor);
                self.open.push(Open::Sequence { id, items: Vec::new() });
            }
            Event::MappingStart(anchor, tag) => {
                self.check_tag(tag.as_deref(), &["map"], place);
                let id = self.push(Node { place, value: Value::Bad, is_merge: false }, anchor);
                self.open.push(Open::Mapping { id, entries: Vec::new(), key: None });
            }
            Event::SequenceEnd | Event::MappingEnd => self.close(),
            Event::Nothing | Event::StreamStart | Event::StreamEnd | Event::DocumentEnd => {}
        }
        true
    }

    fn complain(&mut self, place: Place, message: impl Into<String>) {
        self.problems.push(Problem::new(Code::SPEC_SYNTAX, self.file, message).at(place));
    }

    /// What a scalar means, by its style and its tag.
    fn scalar(&mut self, text: String, is_plain: bool, tag: Option<&Tag>, place: Place) -> Value {
        let plain_type = match tag {
            None if is_plain => PlainType::of(&text),
            None => PlainType::Text,
            Some(tag) => match core_name(tag) {
                // The tag `!` says nothing to YAML 1.1: the text decides, as without it.
                Some("") if is_plain => PlainType::of(&text),
                Some("str" | "") => PlainType::Text,
                Some("null") => PlainType::Null,
                Some("bool") => PlainType::Boolean,
                Some("int" | "float") => PlainType::Number,
                Some("timestamp") => PlainType::Date,
                _ => {
                    self.refuse_tag(tag, place);
                    return Value::Bad;
                }
            },
        };
        Value::Scalar { text, plain_type }
    }

    fn check_tag(&mut self, tag: Option<&Tag>, allowed: &[&str], place: Place) {
        if let Some(tag) = tag
            && !core_name(tag).is_some_and(|name| name.is_empty() || allowed.contains(&name))
        {
            self.refuse_tag(tag, place);
        }
    }

    fn refuse_tag(&mut self, tag: &Tag, place: Place) {
        let written = match core_name(tag) {
            Some(name) => format!("!!{name}"),
            None => format!("{}{}", tag.handle, tag.suffix),
        };
        let problem = Problem::new(
            Code::SPEC_SYNTAX,
            self.file,
            format!("the tag {} is not allowed in a spec", quoted(&written)),
        );
        self.problems.push(problem.at(place).help("a spec holds only strings, lists and mappings"));
    }

    fn push(&mut self, node: Node, anchor: usize) -> NodeId {
        let id = self.document.nodes.len();
        self.document.nodes.push(node);
        // The parser counts anchors from 1; 0 means none.
        if anchor > 0 {
            self.anchors.insert(anchor, id);
        }
        id
    }

    fn add(&mut self, node: Node, anchor: usize) {
        let id = self.push(node, anchor);
        self.attach(id);
    }

    /// Puts a complete node where it belongs.
    fn attach(&mut self, id: NodeId) {
        match self.open.last_mut() {
            None => self.document.root = Some(id),
            Some(Open::Sequence { items, .. }) => items.push(id),
            Some(Open::Mapping { entries, key, .. }) => match key.take() {
                None => *key = Some(id),
                Some(key) => entries.push((key, id)),
            },
        }
    }

    fn close(&mut self) {
        let id = match self.open.pop() {
            None => return,
            Some(Open::Sequence { id, items }) => {
                self.document.nodes[id].value = Value::Sequence(items);
                id
            }
            Some(Open::Mapping { id, entries, .. }) => {
                let entries = self.checked(entries);
                self.document.nodes[id].value = Value::Mapping(entries);
                id
            }
        };
        self.attach(id);
    }

    /// A mapping's entries: own ones first, then merged ones; keys that repeat are told.
    fn checked(&mut self, entries: Vec<(NodeId, NodeId)>) -> Vec<(NodeId, NodeId)> {
        let mut own = Vec::new();
        let mut merged = Vec::new();
        let mut seen: BTreeMap<String, u32> = BTreeMap::new();
        for (key, value) in entries {
            let node = self.document.node(key);
            let place = node.place;
            match &node.value {
                Value::Scalar { .. } if node.is_merge => merged.push(value),
                Value::Scalar { text, .. } => {
                    if let Some(line) = seen.get(text) {
                        let message = format!("the key {} stands twice, first on line {line}", quoted(text));
                        self.complain(place, message);
                    } else {
                        seen.insert(text.clone(), place.line);
                        own.push((key, value));
                    }
                }
                Value::Sequence(_) | Value::Mapping(_) => self.complain(place, "a key must be a string"),
                Value::Bad => {}
            }
        }
        let mut known: BTreeSet<String> = seen.into_keys().collect();
        for id in merged {
            let place = self.document.node(id).place;
            if let Err(message) = self.merge(id, &mut known, &mut own) {
                self.complain(place, message);
            }
        }
        own
    }

    /// Brings in what the value of a merge key holds. Source: YAML 1.1, the merge key type.
    fn merge(
        &mut self,
        id: NodeId,
        known: &mut BTreeSet<String>,
        own: &mut Vec<(NodeId, NodeId)>,
    ) -> Result<(), &'static str> {
        let parts = match &self.document.node(id).value {
            Value::Sequence(items) => &items[..],
            _ => &[id],
        };
        for part in parts {
            let Value::Mapping(entries) = &self.document.node(*part).value else {
                return Err("the merge key `<<` takes a mapping or a list of mappings");
            };
            for (key, value) in entries {
                self.n_merged += 1;
                if self.n_merged > MAX_MERGED_ENTRIES {
                    return Err("merge keys bring in more entries than a spec may have");
                }
                if let Value::Scalar { text, .. } = &self.document.node(*key).value
                    && known.insert(text.clone())
                {
                    own.push((*key, *value));
                }
            }
        }
        Ok(())
    }
}

/// The short name of a standard tag: `str` for `!!str`; empty for the tag `!`. `None` for any other.
fn core_name(tag: &Tag) -> Option<&str> {
    if tag.is_yaml_core_schema() {
        return Some(&tag.suffix);
    }
    let written = format!("{}{}", tag.handle, tag.suffix);
    (written == "!").then_some("")
}

#[cfg(test)]
mod tests {
    use std::fmt::Write as _;

    use super::*;

    /// The tree in one line, places left out.
    fn show(document: &Document, id: NodeId) -> String {
        match &document.node(id).value {
            Value::Scalar { text, plain_type: PlainType::Text } => format!("{text:?}"),
            Value::Scalar { text, plain_type } => format!("{plain_type:?}({text})"),
            Value::Sequence(items) => {
                format!("[{}]", items.iter().map(|item| show(document, *item)).collect::<Vec<_>>().join(", "))
            }
            Value::Mapping(entries) => {
                let entries = entries.iter().map(|(k, v)| format!("{}: {}", show(document, *k), show(document, *v)));
                format!("{{{}}}", entries.collect::<Vec<_>>().join(", "))
            }
            Value::Bad => "bad".to_owned(),
        }
    }

    fn check(text: &str, expected: &str) {
        let (document, problems) = parse(text, "f");
        let tree = document.root.map(|root| show(&document, root)).unwrap_or_default();
        let told =
            std::iter::once(tree).filter(|tree| !tree.is_empty()).chain(problems.iter().map(ToString::to_string));
        assert_eq!(told.collect::<Vec<_>>().join("\n"), expected, "{text:?}");
    }

    /// C004: anchors, merge keys, one-line JSON, scalar styles, tags.
    #[test]
    fn yaml_becomes_a_tree() {
        check("", "");
        check("# only a comment\n", "");
        check("a: 1\nb: '1'\nc:\n", r#"{"a": Number(1), "b": "1", "c": Null()}"#);
        check(r#"{"a": ["x", true,], "b": {},}"#, r#"{"a": ["x", Boolean(true)], "b": {}}"#);
        check("a: >-\n  x\n  y\nb: |\n  z\n", r#"{"a": "x y", "b": "z\n"}"#);
        check("a: n # note\n", r#"{"a": "n"}"#);
        check("a: &x v\nb: *x\nc: &y [*x]\nd: *y\n", r#"{"a": "v", "b": "v", "c": ["v"], "d": ["v"]}"#);
        check(
            "a: &x {p: q, r: s}\nb:\n  <<: *x\n  p: own\n",
            r#"{"a": {"p": "q", "r": "s"}, "b": {"p": "own", "r": "s"}}"#,
        );
        check("b:\n  <<: [{p: one}, {p: two, q: three}]\n", r#"{"b": {"p": "one", "q": "three"}}"#);
        check("'<<': x\n", r#"{"<<": "x"}"#);
        check("a: !!str 4\nb: ! x\nc: !!int '4'\n", r#"{"a": "4", "b": "x", "c": Number(4)}"#);
    }

    /// C004: what is refused, and that nothing runs for a tag.
    #[test]
    fn bad_yaml_is_told_with_its_place() {
        check("name: my: pipeline\n", "f:1:9: not valid YAML: mapping values are not allowed in this context");
        check(
            "a: !!python/object/apply:os.getcwd []\n",
            "{\"a\": []}\nf:1:4: the tag `!!python/object/apply:os.getcwd` is not allowed in a spec",
        );
        check("a: !custom x\n", "{\"a\": bad}\nf:1:4: the tag `!custom` is not allowed in a spec");
        check(
            "a: 1\nb: 2\na: 3\n",
            "{\"a\": Number(1), \"b\": Number(2)}\nf:3:1: the key `a` stands twice, first on line 1",
        );
        check("? [x]\n: 1\n", "{}\nf:1:3: a key must be a string");
        check(
            "a: 1\n---\nb: 2\n",
            "{\"a\": Number(1)}\nf:2:1: a second document begins here: the spec must be one document",
        );
        check("<<: x\n", "{}\nf:1:5: the merge key `<<` takes a mapping or a list of mappings");
        check("&a\n<<: *a\n", "{}\nf:1:1: the merge key `<<` takes a mapping or a list of mappings");
        check("a: *nobody\n", "f:1:4: not valid YAML: while parsing node, found unknown anchor");
    }

    /// C004: an alias bomb stays as small as its text, and merging it stops.
    #[test]
    fn alias_bombs_stay_small() {
        let mut bomb = String::from("l0: &l0 [x]\n");
        let mut merges = String::from("m0: &m0 {a: 1, b: 2}\n");
        for level in 1..=40 {
            let before = format!("*l{}", level - 1);
            writeln!(bomb, "l{level}: &l{level} [{}]", vec![before; 10].join(", ")).unwrap();
            let before = format!("*m{}", level - 1);
            writeln!(merges, "m{level}: &m{level} {{<<: [{}]}}", vec![before; 10].join(", ")).unwrap();
        }
        let (document, problems) = parse(&bomb, "f");
        assert_eq!(problems, []);
        assert!(document.nodes.len() < 200);
        let (_, problems) = parse(&merges, "f");
        assert_eq!(problems, []);
        let many = format!("a: &a {{{}}}\nb: {{<<: [{}]}}\n", "k: v, x: y", vec!["*a"; 6_000].join(", "));
        let (_, problems) = parse(&many, "f");
        assert_eq!(problems[0].to_string(), "f:2:9: merge keys bring in more entries than a spec may have");
    }
}
