//! Names of datasets and flows: one to three parts, quoted with backticks as in Spark SQL.

use std::fmt;
use std::str::FromStr;

/// The most parts a name may have: catalog, database, name. Source: Spark 4.3 refuses the fourth
/// ("4+ part table identifier … is not supported").
const MAX_PARTS: usize = 3;

/// A name as its author wrote it: `orders`, `sales.orders` or ``spark_catalog.sales.`daily orders` ``.
///
/// Parts are kept without their quotes; [`Display`](fmt::Display) quotes again where Spark needs it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Identifier {
    parts: Vec<String>,
}

impl Identifier {
    /// Reads a name in Spark SQL's spelling.
    ///
    /// # Errors
    /// When the text is empty, has an empty part, an unclosed backtick, a character that must be
    /// quoted, or more than three parts.
    pub fn parse(text: &str) -> Result<Self, IdentifierError> {
        let fail = |reason| IdentifierError { text: text.to_owned(), reason };
        let mut parts = Vec::new();
        let mut rest = text.trim();
        if rest.is_empty() {
            return Err(fail(Reason::Empty));
        }
        loop {
            let (part, after) = match rest.strip_prefix('`') {
                Some(quoted) => quoted_part(quoted).map_err(fail)?,
                None => bare_part(rest).map_err(fail)?,
            };
            parts.push(part);
            if after.is_empty() {
                break;
            }
            rest = after.strip_prefix('.').ok_or_else(|| fail(Reason::AfterQuote))?;
        }
        Self::from_parts(parts).map_err(|error| fail(error.reason))
    }

    /// Makes a name from its unquoted parts.
    ///
    /// # Errors
    /// When there is no part, an empty one, or more than three.
    pub fn from_parts<S: Into<String>>(parts: impl IntoIterator<Item = S>) -> Result<Self, IdentifierError> {
        let identifier = Self { parts: parts.into_iter().map(Into::into).collect() };
        let reason = match identifier.parts.len() {
            0 => Reason::Empty,
            n if n > MAX_PARTS => Reason::TooManyParts,
            _ if identifier.parts.iter().any(String::is_empty) => Reason::EmptyPart,
            _ => return Ok(identifier),
        };
        Err(IdentifierError { text: identifier.to_string(), reason })
    }

    /// The parts without quotes, outermost first; one to three.
    pub fn parts(&self) -> &[String] {
        &self.parts
    }

    /// The last part: the dataset's or flow's own name.
    pub fn name(&self) -> &str {
        self.parts.last().map_or("", String::as_str)
    }

    /// Whether the name has one part only.
    pub fn is_single_part(&self) -> bool {
        self.parts.len() == 1
    }

    /// What names of one dataset have in common: the name with missing parts filled in, without
    /// regard to case, as Spark compares names unless `spark.sql.caseSensitive` is set.
    pub fn key(&self, default_catalog: Option<&str>, default_database: Option<&str>) -> IdentifierKey {
        let defaults = [default_catalog, default_database];
        let missing = MAX_PARTS - self.parts.len();
        let given = self.parts.iter().map(|part| Some(part.as_str()));
        let all = defaults.into_iter().take(missing).chain(given);
        IdentifierKey(all.map(|part| part.map(str::to_lowercase)).collect())
    }
}

/// What names of one dataset have in common; see [`Identifier::key`]. Two keys are equal only when
/// both names surely mean the same.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct IdentifierKey(Vec<Option<String>>);

impl IdentifierKey {
    /// Whether both may mean the same dataset: parts that are unknown may be anything.
    pub fn may_be(&self, other: &Self) -> bool {
        let fits = |(a, b): (&Option<String>, &Option<String>)| a.is_none() || b.is_none() || a == b;
        self.0.iter().zip(&other.0).all(fits)
    }

    /// The dataset's own name, folded.
    pub(crate) fn name(&self) -> &str {
        self.0.last().and_then(Option::as_deref).unwrap_or("")
    }
}

fn quoted_part(after_quote: &str) -> Result<(String, &str), Reason> {
    let mut part = String::new();
    let mut rest = after_quote;
    loop {
        let (head, tail) = rest.split_once('`').ok_or(Reason::UnclosedQuote)?;
        part.push_str(head);
        match tail.strip_prefix('`') {
            // A doubled backtick stands for one.
            Some(more) => {
                part.push('`');
                rest = more;
            }
            None if part.is_empty() => return Err(Reason::EmptyPart),
            None => return Ok((part, tail)),
        }
    }
}

fn bare_part(text: &str) -> Result<(String, &str), Reason> {
    let (part, rest) = text.split_at(text.find('.').unwrap_or(text.len()));
    if part.is_empty() {
        return Err(Reason::EmptyPart);
    }
    if is_bare(part) { Ok((part.to_owned(), rest)) } else { Err(Reason::NeedsQuotes) }
}

/// Whether a part may stand without backticks. A part of digits only would be read as a number.
fn is_bare(part: &str) -> bool {
    part.chars().all(|c| c.is_alphanumeric() || c == '_') && !part.chars().all(|c| c.is_ascii_digit())
}

/// Whether every Spark reads a part the same without backticks: `1e10` or `3d` would be a number,
/// and letters beyond ASCII stand bare only in newer ones.
fn is_plain(part: &str) -> bool {
    let mut chars = part.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

impl fmt::Display for Identifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, part) in self.parts.iter().enumerate() {
            if index > 0 {
                f.write_str(".")?;
            }
            if is_plain(part) {
                f.write_str(part)?;
            } else {
                write!(f, "`{}`", part.replace('`', "``"))?;
            }
        }
        Ok(())
    }
}

impl FromStr for Identifier {
    type Err = IdentifierError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        Self::parse(text)
    }
}

/// Why a text is not a name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct IdentifierError {
    text: String,
    reason: Reason,
}

impl fmt::Display for IdentifierError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { text, reason } = self;
        write!(f, "`{text}` is not a valid name: {reason}")
    }
}

impl std::error::Error for IdentifierError {}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Reason {
    Empty,
    EmptyPart,
    UnclosedQuote,
    AfterQuote,
    NeedsQuotes,
    TooManyParts,
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Empty => f.write_str("it is empty"),
            Self::EmptyPart => f.write_str("a part of it is empty"),
            Self::UnclosedQuote => f.write_str("a backtick is not closed"),
            Self::AfterQuote => f.write_str("text follows a closing backtick without a dot"),
            Self::NeedsQuotes => {
                f.write_str("a part with characters other than letters, digits and _ must stand in backticks")
            }
            Self::TooManyParts => f.write_str("a name has at most three parts: catalog, database, name"),
        }
    }
}

/// The name the server gave a dataset or flow when it was defined; events use it.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResolvedIdentifier {
    /// The catalog; `None` for temporary views and for flows into views and sinks.
    pub catalog: Option<String>,
    /// The database, outermost part first; empty for temporary views.
    pub namespace: Vec<String>,
    /// The dataset's or flow's own name.
    pub name: String,
}

impl ResolvedIdentifier {
    /// The name as pipeline events spell it: parts joined by dots, never quoted.
    ///
    /// It cannot be split again (a part may hold a dot): compare it, do not parse it.
    /// Source: Spark 4.3, `TableIdentifier.unquotedString`.
    pub fn event_name(&self) -> String {
        let outer = self.catalog.iter().chain(&self.namespace);
        outer.chain([&self.name]).map(String::as_str).collect::<Vec<_>>().join(".")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_read_and_print_as_spark_spells_them() {
        for (text, parts, printed) in [
            ("orders", vec!["orders"], "orders"),
            (" sales.orders ", vec!["sales", "orders"], "sales.orders"),
            ("c.sales.`daily orders`", vec!["c", "sales", "daily orders"], "c.sales.`daily orders`"),
            ("`a.b`", vec!["a.b"], "`a.b`"),
            ("`tick``ed`", vec!["tick`ed"], "`tick``ed`"),
            ("`plain`", vec!["plain"], "plain"),
            ("2024_orders", vec!["2024_orders"], "`2024_orders`"),
            ("`3d`", vec!["3d"], "`3d`"),
            ("größe", vec!["größe"], "`größe`"),
        ] {
            let identifier = Identifier::parse(text).unwrap();
            assert_eq!(identifier.parts(), parts, "{text}");
            assert_eq!(identifier.to_string(), printed, "{text}");
            assert_eq!(Identifier::parse(printed).unwrap(), identifier, "{text}");
        }
    }

    #[test]
    fn a_bad_name_says_why() {
        for (text, reason) in [
            ("", Reason::Empty),
            ("  ", Reason::Empty),
            ("a..b", Reason::EmptyPart),
            ("a.", Reason::EmptyPart),
            ("``", Reason::EmptyPart),
            ("`a", Reason::UnclosedQuote),
            ("`a`b", Reason::AfterQuote),
            ("hy-phen", Reason::NeedsQuotes),
            ("2024", Reason::NeedsQuotes),
            ("a.b.c.d", Reason::TooManyParts),
        ] {
            assert_eq!(Identifier::parse(text).unwrap_err().reason, reason, "{text}");
        }
    }

    #[test]
    fn keys_fold_case_and_fill_in_defaults() {
        let key = |text: &str| Identifier::parse(text).unwrap().key(Some("spark_catalog"), Some("default"));
        assert_eq!(key("Orders"), key("default.orders"));
        assert_eq!(key("spark_catalog.default.ORDERS"), key("`orders`"));
        assert_ne!(key("a.b"), key("`a.b`"));
        let bare = |text: &str| Identifier::parse(text).unwrap().key(None, None);
        assert_ne!(bare("orders"), bare("default.orders"));
        assert!(bare("orders").may_be(&bare("default.orders")));
        assert!(!bare("sales.orders").may_be(&bare("default.orders")));
    }
}
