//! The pipeline spec, `spark-pipeline.yml`: what it may say, and every complaint about it at once.

use std::collections::BTreeMap;
use std::path::Path;

use crate::code::Code;
use crate::library::{Library, LibraryPattern};
use crate::problem::{Place, Problem};
use crate::scalar::PlainType;
use crate::storage::{Storage, StorageError};
use crate::suggest::nearest;
use crate::text::quoted;
use crate::yaml::{self, Document, NodeId, Value};

/// The largest spec that is read. Real ones have a few hundred bytes.
pub(crate) const MAX_SPEC_BYTES: u64 = 1024 * 1024;

/// The conf that names a server. The reference client takes it from a spec, so knut does, but it
/// is no conf of the server's.
const REMOTE_CONF: &str = "spark.remote";

const FIELDS: [&str; 7] = ["name", "storage", "catalog", "database", "schema", "configuration", "libraries"];

/// Fields that other tools' specs have; open-source Spark's has not.
const FIELDS_ELSEWHERE: [&str; 11] = [
    "clusters",
    "continuous",
    "photon",
    "channel",
    "edition",
    "development",
    "serverless",
    "notifications",
    "environment",
    "permissions",
    "resources",
];

const ENTRY_SHAPE: &str = "write each entry as\n- glob:\n    include: transformations/**";

/// What a spec says.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PipelineSpec {
    /// The pipeline's name. The server is not told it.
    pub name: String,
    /// Where streaming checkpoints are kept.
    pub storage: Storage,
    /// The catalog of names that have none; `None` is the server's current one.
    pub catalog: Option<String>,
    /// The database of names that have none, from `database` or `schema`; `None` is the server's
    /// current one.
    pub database: Option<String>,
    /// Spark confs for the session and the graph, without `spark.remote`.
    pub configuration: BTreeMap<String, String>,
    /// The server that `spark.remote` in `configuration` names; `None` when it names none. A flag or
    /// the environment comes before it.
    pub remote: Option<Remote>,
    /// Which files define the pipeline, in the order written.
    pub libraries: Vec<Library>,
}

/// What could be read of a spec. It makes a [`PipelineSpec`] only when nothing was wrong.
#[derive(Default)]
pub(crate) struct SpecReading {
    pub(crate) spec: Option<PipelineSpec>,
    /// The entries that are right, whatever else is wrong.
    pub(crate) libraries: Vec<Library>,
    /// Where files can be said to be missing: `libraries`, or the spec's first word.
    pub(crate) libraries_place: Option<Place>,
    /// The spec's own `storage`, if it is fit, and where it stands.
    pub(crate) storage: Option<(Storage, Place)>,
    pub(crate) catalog: Option<String>,
    pub(crate) database: Option<String>,
    /// The server that it names.
    pub(crate) remote: Option<Remote>,
    /// The confs that are right, each with the place of its name.
    pub(crate) confs: Vec<(String, Place)>,
    /// Whether the catalog or the database is wrong, so that names may mean other tables.
    pub(crate) names_bad: bool,
    /// Whether a field is wrong that says which datasets there are.
    pub(crate) is_graph_bad: bool,
    /// Whether `libraries` or an entry of it is wrong, so that it may mean more files.
    pub(crate) libraries_bad: bool,
    pub(crate) problems: Vec<Problem>,
}

/// The connection string that a spec names. It may hold a token and is not shown.
#[derive(Clone, PartialEq, Eq)]
pub struct Remote(String);

impl Remote {
    /// The connection string as written.
    pub fn reveal(&self) -> &str {
        &self.0
    }
}

impl std::fmt::Debug for Remote {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("(hidden)")
    }
}

/// Reads a spec. `file` names it in problems; a relative `storage` is resolved against `root`. A
/// `storage` that is given takes the place of the spec's own, which is then not looked at.
pub(crate) fn read_spec(text: &str, file: &str, root: &Path, storage: Option<Storage>) -> SpecReading {
    let (document, problems) = yaml::parse(text, file);
    let is_yaml = problems.is_empty() || document.root.is_some();
    let mut reader = Reader { file, document: &document, reading: SpecReading { problems, ..SpecReading::default() } };
    match document.root {
        Some(top) => reader.top(top, root, storage),
        None if is_yaml => {
            let problem =
                Problem::new(Code::MISSING_FIELD, file, "the spec is empty: it needs at least `name` and `storage`");
            reader.reading.problems.push(problem);
        }
        None => reader.reading.is_graph_bad = true,
    }
    let mut reading = reader.reading;
    reading.problems.sort_by_key(|problem| (problem.line, problem.column));
    if !reading.problems.is_empty() {
        reading.spec = None;
    }
    reading
}

struct Reader<'a> {
    file: &'a str,
    document: &'a Document,
    reading: SpecReading,
}

impl<'a> Reader<'a> {
    fn place(&self, id: NodeId) -> Place {
        self.document.node(id).place
    }

    fn complain(&mut self, code: Code, id: NodeId, message: impl Into<String>, help: impl Into<String>) {
        let problem = Problem::new(code, self.file, message).at(self.place(id)).help(help);
        self.reading.problems.push(problem);
    }

    fn top(&mut self, top: NodeId, root: &Path, storage: Option<Storage>) {
        // What stood in a broken place may have been any field.
        self.reading.names_bad = !self.reading.problems.is_empty();
        let Value::Mapping(entries) = &self.document.node(top).value else {
            if !self.document.is_bad(top) {
                let message = format!("the spec is {}, not a mapping of fields", self.document.noun(top));
                self.complain(Code::WRONG_TYPE, top, message, "it needs at least `name: …` and `storage: …`");
            }
            self.reading.is_graph_bad = true;
            return;
        };
        let mut fields: BTreeMap<&str, (NodeId, NodeId)> = BTreeMap::new();
        for (key, value) in entries {
            match self.document.string(*key) {
                Some(name) if FIELDS.contains(&name) => {
                    fields.insert(name, (*key, *value));
                }
                _ => self.unexpected(*key),
            }
        }
        self.reading.libraries_place = Some(self.place(fields.get("libraries").map_or(top, |(key, _)| *key)));
        // An unexpected field may be a misspelt one.
        self.reading.is_graph_bad |= !self.reading.problems.is_empty();

        let name = self.required(top, &fields, "name", "name: my_pipeline");
        let storage = storage.or_else(|| self.storage(top, &fields, root));
        let n_before = self.reading.problems.len();
        let catalog = self.optional(&fields, "catalog");
        let database = self.database(&fields);
        self.reading.names_bad |= self.reading.problems.len() > n_before;
        self.reading.is_graph_bad |= self.reading.names_bad;
        (self.reading.catalog, self.reading.database) = (catalog.map(str::to_owned), database.map(str::to_owned));
        let mut configuration = self.configuration(&fields);
        let remote = configuration.remove(REMOTE_CONF).map(Remote);
        self.reading.remote.clone_from(&remote);
        let libraries = self.libraries(&fields);
        self.reading.libraries.clone_from(&libraries);
        self.reading.spec = name.zip(storage).map(|(name, storage)| PipelineSpec {
            name: name.to_owned(),
            storage,
            catalog: catalog.map(str::to_owned),
            database: database.map(str::to_owned),
            configuration,
            remote,
            libraries,
        });
    }

    fn storage(&mut self, top: NodeId, fields: &BTreeMap<&str, (NodeId, NodeId)>, root: &Path) -> Option<Storage> {
        let written = self.required(top, fields, "storage", "storage: .knut/storage")?;
        let place = fields.get("storage").map_or(Place::new(1, 1, 0), |(_, value)| self.place(*value));
        match Storage::resolve(written, root) {
            Ok(storage) => {
                self.reading.storage = Some((storage.clone(), place));
                Some(storage)
            }
            Err(error) => {
                let problem = Problem::new(Code::UNFIT_STORAGE, self.file, error.to_string())
                    .at(place)
                    .help(storage_help(&error));
                self.reading.problems.push(problem);
                None
            }
        }
    }

    fn unexpected(&mut self, key: NodeId) {
        let Value::Scalar { text, .. } = &self.document.node(key).value else { return };
        let help = match &**text {
            "target" => "the database is named with `database` or `schema`".to_owned(),
            "configurations" | "conf" | "config" | "spark_conf" => "Spark confs stand under `configuration`".to_owned(),
            "glob" | "globs" | "library" | "files" | "sources" => "globs stand in the list `libraries`".to_owned(),
            name if FIELDS_ELSEWHERE.contains(&name) => {
                format!("it is no field of open-source Spark's spec; the fields are {}", FIELDS.join(", "))
            }
            name => match nearest(name, FIELDS) {
                Some(field) => format!("did you mean `{field}`?"),
                None => format!("the fields are {}", FIELDS.join(", ")),
            },
        };
        self.complain(Code::UNEXPECTED_FIELD, key, format!("unexpected field {}", quoted(text)), help);
    }

    fn required(
        &mut self,
        top: NodeId,
        fields: &BTreeMap<&str, (NodeId, NodeId)>,
        name: &str,
        example: &str,
    ) -> Option<&'a str> {
        let Some((key, value)) = fields.get(name).copied() else {
            self.complain(
                Code::MISSING_FIELD,
                top,
                format!("the field `{name}` is missing"),
                format!("add a line such as `{example}`"),
            );
            return None;
        };
        let is_blank = self.document.string(value).is_some_and(|text| text.trim().is_empty());
        if self.document.is_null(value) || is_blank {
            self.complain(Code::MISSING_FIELD, key, format!("`{name}` is empty"), format!("write it as `{example}`"));
            return None;
        }
        self.text(name, value)
    }

    /// A field that may be left out; an empty one counts as left out, as in the reference.
    fn optional(&mut self, fields: &BTreeMap<&str, (NodeId, NodeId)>, name: &str) -> Option<&'a str> {
        let (_, value) = fields.get(name).copied()?;
        if self.document.is_null(value) {
            return None;
        }
        let text = self.text(name, value)?;
        if text.trim().is_empty() {
            self.complain(
                Code::MISSING_FIELD,
                value,
                format!("`{name}` is empty"),
                "give it a value or remove the line",
            );
            return None;
        }
        Some(text)
    }

    /// A string; anything else is told.
    fn text(&mut self, name: &str, value: NodeId) -> Option<&'a str> {
        if let Some(text) = self.document.string(value) {
            return Some(text);
        }
        match &self.document.node(value).value {
            Value::Scalar { text, plain_type } => {
                let message = format!(
                    "{} must be a string, but YAML reads {} as {}",
                    quoted(name),
                    quoted(text),
                    plain_type.noun()
                );
                self.complain(Code::WRONG_TYPE, value, message, format!("put it in quotes: `{name}: \"{text}\"`"));
            }
            Value::Bad => {}
            _ => {
                let message = format!("{} must be a string, not {}", quoted(name), self.document.noun(value));
                self.complain(Code::WRONG_TYPE, value, message, format!("write it as `{name}: …` on one line"));
            }
        }
        None
    }

    fn database(&mut self, fields: &BTreeMap<&str, (NodeId, NodeId)>) -> Option<&'a str> {
        let database = self.optional(fields, "database");
        let schema = self.optional(fields, "schema");
        if let (Some(database), Some(schema)) = (database, schema)
            && database != schema
            && let Some((key, _)) = fields.get("schema")
        {
            let message = format!("`schema` is {} but `database` is {}", quoted(schema), quoted(database));
            self.complain(Code::SCHEMA_AND_DATABASE, *key, message, "the two fields mean the same: keep one");
        }
        database.or(schema)
    }

    fn configuration(&mut self, fields: &BTreeMap<&str, (NodeId, NodeId)>) -> BTreeMap<String, String> {
        let mut confs = BTreeMap::new();
        let Some((key, value)) = fields.get("configuration").copied() else { return confs };
        let Value::Mapping(entries) = &self.document.node(value).value else {
            if self.document.is_null(value) {
                let help = "put confs under it, remove it, or write `configuration: {}`";
                self.complain(Code::MISSING_FIELD, key, "`configuration` is empty", help);
            } else if !self.document.is_bad(value) {
                let message = format!("`configuration` must be a mapping, not {}", self.document.noun(value));
                self.complain(
                    Code::WRONG_TYPE,
                    value,
                    message,
                    "write it as\nconfiguration:\n  spark.sql.shuffle.partitions: \"4\"",
                );
            }
            return confs;
        };
        for (key, value) in entries {
            let Some(name) = self.document.string(*key) else {
                if let Value::Scalar { text, plain_type } = &self.document.node(*key).value {
                    let noun = plain_type.noun();
                    let message = format!("a conf's name must be a string, but YAML reads {} as {noun}", quoted(text));
                    self.complain(Code::WRONG_TYPE, *key, message, "put it in quotes");
                }
                continue;
            };
            if self.document.is_null(*value) {
                let message = format!("the conf {} has no value", quoted(name));
                self.complain(Code::MISSING_FIELD, *key, message, format!("write `{name}: \"\"` for an empty one"));
            } else if let Some(text) = self.text(name, *value) {
                confs.insert(name.to_owned(), text.to_owned());
                let place = self.place(*key);
                self.reading.confs.push((name.to_owned(), place));
            }
        }
        confs
    }

    fn libraries(&mut self, fields: &BTreeMap<&str, (NodeId, NodeId)>) -> Vec<Library> {
        let Some((key, value)) = fields.get("libraries").copied() else { return Vec::new() };
        let n_before = self.reading.problems.len();
        let mut libraries = Vec::new();
        match &self.document.node(value).value {
            Value::Sequence(items) => {
                for (index, item) in items.iter().enumerate() {
                    libraries.extend(self.library(index + 1, *item));
                }
            }
            Value::Bad => {}
            Value::Scalar { plain_type: PlainType::Null, .. } => {
                self.complain(Code::MALFORMED_LIBRARY, key, "`libraries` is empty", ENTRY_SHAPE);
            }
            _ => {
                let message = format!("`libraries` must be a list, not {}", self.document.noun(value));
                self.complain(Code::MALFORMED_LIBRARY, value, message, ENTRY_SHAPE);
            }
        }
        self.reading.libraries_bad = self.reading.problems.len() > n_before || self.document.is_bad(value);
        libraries
    }

    /// Reads one entry, `- glob: {include: …}`; the number counts from 1.
    fn library(&mut self, number: usize, item: NodeId) -> Option<Library> {
        let what = format!("entry {number} of `libraries`");
        let glob = self.only_key(item, "glob", &what)?;
        let include = self.only_key(glob, "include", &format!("`glob` in {what}"))?;
        let Some(text) = self.document.string(include) else {
            if !self.document.is_bad(include) {
                let noun = self.document.noun(include);
                let one_each = "write one entry for each\n- glob:\n    include: transformations/**";
                self.complain(
                    Code::MALFORMED_LIBRARY,
                    include,
                    format!("`include` in {what} must be a string, not {noun}"),
                    one_each,
                );
            }
            return None;
        };
        match LibraryPattern::parse(text) {
            Ok(pattern) => {
                let Place { line, column, end_column } = self.place(include);
                Some(Library { include: text.to_owned(), pattern, line, column, end_column })
            }
            Err(bad) => {
                self.complain(Code::REFUSED_GLOB, include, format!("{}, in {what}", bad.message), bad.help);
                None
            }
        }
    }

    /// The value of the one key that a mapping may have.
    fn only_key(&mut self, id: NodeId, wanted: &str, what: &str) -> Option<NodeId> {
        let document = self.document;
        let Value::Mapping(entries) = &document.node(id).value else {
            match &document.node(id).value {
                Value::Bad => {}
                Value::Scalar { text, plain_type: PlainType::Text } if LibraryPattern::parse(text).is_ok() => {
                    let message = format!("{what} is a string, not a mapping with `{wanted}`");
                    self.complain(
                        Code::MALFORMED_LIBRARY,
                        id,
                        message,
                        format!("write it as\n- glob:\n    include: {text}"),
                    );
                }
                _ => {
                    let message = format!("{what} is {}, not a mapping with `{wanted}`", document.noun(id));
                    self.complain(Code::MALFORMED_LIBRARY, id, message, ENTRY_SHAPE);
                }
            }
            return None;
        };
        let mut found = None;
        let mut is_other = false;
        for (key, value) in entries {
            match document.string(*key) {
                Some(name) if name == wanted => found = Some(*value),
                _ => {
                    is_other = true;
                    let Value::Scalar { text, .. } = &document.node(*key).value else { continue };
                    let message = format!("{what} has the unexpected key {}: only `{wanted}` is allowed", quoted(text));
                    let help = match document.string(*value) {
                        Some(path) if text == "file" || text == "notebook" => {
                            format!("write it as\n- glob:\n    include: {path}")
                        }
                        _ => ENTRY_SHAPE.to_owned(),
                    };
                    self.complain(Code::MALFORMED_LIBRARY, *key, message, help);
                }
            }
        }
        if found.is_none() && !is_other {
            self.complain(Code::MALFORMED_LIBRARY, id, format!("{what} has no `{wanted}`"), ENTRY_SHAPE);
        }
        found
    }
}

fn storage_help(error: &StorageError) -> &'static str {
    match error {
        StorageError::Placeholder(_) => "fill it in, or give the place on the command line with `--storage`",
        StorageError::Home => "write the whole path, or one relative to the spec's folder",
        _ => "write a URI such as `file:///data/storage`, or a folder relative to the spec's",
    }
}

#[cfg(test)]
#[path = "spec_tests.rs"]
mod tests;
