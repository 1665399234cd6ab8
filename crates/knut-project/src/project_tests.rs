//! Whole projects, from the folder to the graph.

use std::fs;
use std::path::Path;

use knut_model::{DatasetKind, Query};
use tempfile::TempDir;

use crate::{EdgeSource, Problems, Project, find_spec, init};

const SPEC: &str = "name: n\nstorage: file:///s\nlibraries:\n  - glob:\n      include: t/**\n";

fn folder(files: &[(&str, &str)]) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (path, text) in files {
        let path = folder.path().join(path);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, text).unwrap();
    }
    folder
}

fn load(root: &Path) -> Result<Project, Problems> {
    Project::load(&root.join("spark-pipeline.yml"))
}

fn problems(root: &Path) -> Vec<String> {
    load(root).unwrap_err().problems().iter().map(ToString::to_string).collect()
}

#[test]
fn a_project_becomes_a_graph() {
    let folder = folder(&[
        (
            "spark-pipeline.yml",
            "name: n\nstorage: st\ncatalog: c\ndatabase: d\nconfiguration: {spark.x: '1', spark.remote: 'sc://h'}\n\
             libraries:\n- glob: {include: t/**}\n",
        ),
        ("knut.toml", "[sources.z]\nformat = 'csv'\npath = 'data'\n[sources.a]\nformat = 'rate'\nstreaming = true\n"),
        ("data/x.csv", "1\n"),
        ("t/b.sql", "B"),
        ("t/a.sql", "\u{feff}A"),
    ]);
    let project = load(folder.path()).unwrap();
    let root = folder.path().canonicalize().unwrap();
    assert_eq!(project.root, root);
    assert_eq!(project.spec.storage.uri, format!("file://{}/st", root.display()));
    // C054: the server that the spec names is not sent to it as a conf.
    assert_eq!(project.spec.remote.as_ref().map(crate::Remote::reveal), Some("sc://h"));
    let graph = project.graph().unwrap();
    assert_eq!((graph.default_catalog(), graph.default_database()), (Some("c"), Some("d")));
    assert_eq!(graph.sql_conf().iter().collect::<Vec<_>>(), [(&"spark.x".to_owned(), &"1".to_owned())]);
    let views: Vec<_> = graph.datasets().iter().map(|d| (d.name.to_string(), d.kind)).collect();
    assert_eq!(views, [("z".into(), DatasetKind::TemporaryView), ("a".into(), DatasetKind::TemporaryView)]);
    assert_eq!(graph.datasets()[1].source_location.as_ref().unwrap().to_string(), "knut.toml:4");
    let Query::Source(read) = &graph.flows()[0].query else { panic!("{:?}", graph.flows()[0]) };
    assert_eq!(read.paths, [format!("file://{}/data", root.display())]);
    let files: Vec<_> = graph.sql_files().iter().map(|file| (&*file.path, &*file.text)).collect();
    assert_eq!(files, [("t/a.sql", "A"), ("t/b.sql", "B")]);
}

/// C005, C019: one run tells the spec's, the sources' and the files' problems.
#[test]
fn all_problems_come_in_one_run() {
    let folder = folder(&[
        ("spark-pipeline.yml", "name: n\ntarget: x\nlibraries:\n- glob: {include: t/**}\n- glob: {include: '*'}\n"),
        ("knut.toml", "[sources.a]\nfromat = 'csv'\n"),
        ("t/x.java", ""),
        ("t/y.py", ""),
        ("t/z.sql", "\0"),
    ]);
    let expected = [
        "spark-pipeline.yml:1:1: the field `storage` is missing",
        "spark-pipeline.yml:2:1: unexpected field `target`",
        "spark-pipeline.yml:5:18: `*` is not an allowed glob pattern, in entry 2 of `libraries`",
        "knut.toml:1:10: the source `a` has no `format`",
        "knut.toml:2:1: the source `a` has the unexpected key `fromat`",
        "spark-pipeline.yml:4:19: knut does not run Python definitions yet, and the globs take `t/y.py`",
        "t/x.java: not a definition file: only files that end in `.sql` are read",
        "t/z.sql:1:1: a NUL byte stands at byte offset 0: the file looks like UTF-16",
    ];
    let told = problems(folder.path());
    assert_eq!(told.len(), expected.len(), "{told:#?}");
    for (told, expected) in told.iter().zip(expected) {
        let (place, message) = expected.split_once(": ").unwrap();
        let line = place.rsplit_once(':').map_or(place, |(line, _)| line);
        assert!(told.starts_with(line) && told.ends_with(message), "{told}\n{expected}");
    }
    assert_eq!(problems(folder.path()), told, "the order is the same every time");
}

#[test]
fn a_project_without_sql_has_nothing_to_run() {
    let without =
        folder(&[("spark-pipeline.yml", "name: n\nstorage: s\n"), ("knut.toml", "[sources.a]\nformat = 'rate'\n")]);
    assert_eq!(
        problems(without.path()),
        ["spark-pipeline.yml:1:1: the project has no SQL files, so there is nothing to run"]
    );
    let empty = folder(&[("spark-pipeline.yml", "name: n\nstorage: s\nlibraries: []\n")]);
    assert_eq!(
        problems(empty.path()),
        ["spark-pipeline.yml:3:1: the project has no SQL files, so there is nothing to run"]
    );
}

/// C002: a spec that is not UTF-8, not there, too large, or starts with a byte order mark.
#[test]
fn a_spec_that_cannot_be_read_is_told() {
    let folder = folder(&[("t/a.sql", "")]);
    let spec = folder.path().join("spark-pipeline.yml");
    let name = "spark-pipeline.yml";
    assert_eq!(problems(folder.path()), [format!("{name}: the file cannot be read: there is no such file")]);
    fs::write(&spec, b"\xFF\xFEn\0").unwrap();
    let utf16 = "the file is UTF-16, not UTF-8: a UTF-16 byte order mark stands at byte offset 0";
    assert_eq!(problems(folder.path()), [format!("{name}: {utf16}")]);
    fs::write(&spec, "#".repeat(1024 * 1024 + 1)).unwrap();
    assert_eq!(problems(folder.path()), [format!("{name}: the file is larger than 1048576 bytes")]);
    for text in [format!("\u{feff}{SPEC}"), format!("\u{feff}---\n{SPEC}")] {
        fs::write(&spec, text).unwrap();
        assert_eq!(load(folder.path()).unwrap().spec.name, "n");
    }
}

/// C018: the project that `init` writes loads, whatever its name and its folder's.
#[test]
fn a_new_project_loads() {
    for name in ["shop", "my proj", "yes", "4", "it's \"x\": #1", "é 漢", "-", "a\u{a0}b", "null", "{x}", "[1]*"] {
        let top = tempfile::tempdir().unwrap();
        let root = top.path().join(name);
        let written = init(&root, name).unwrap();
        assert!(written.iter().all(|path| root.join(path).is_file()), "{written:?}");
        let project = Project::load(&find_spec(&root.join("transformations")).unwrap()).unwrap();
        assert_eq!(project.spec.name, name);
        assert_eq!(project.sources.len(), 1);
        let graph = project.graph().unwrap();
        assert_eq!(graph.sql_files().len(), 2);
        assert_eq!(fs::read_to_string(root.join(".gitignore")).unwrap().lines().last(), Some(".knut/"));
    }
}

#[test]
fn init_overwrites_nothing_and_names_what_is_in_the_way() {
    let folder = folder(&[("knut.toml", "mine"), (".gitignore", "mine")]);
    let error = init(folder.path(), "n").unwrap_err();
    let at = |name: &str| format!("{}: the file exists and is not overwritten", folder.path().join(name).display());
    let told: Vec<String> = error.problems().iter().map(ToString::to_string).collect();
    assert_eq!(told, [at("knut.toml"), at(".gitignore")]);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2, "nothing was written");
    for (name, reason) in [
        ("", "it is empty"),
        ("a/b", "it is a path"),
        ("..", "it is a path"),
        ("a\nb", "it has a control character"),
        (&*"x".repeat(256), "it is longer than 255 bytes"),
    ] {
        let error = init(folder.path(), name).unwrap_err();
        assert!(error.to_string().ends_with(&format!("not a fit name for a project: {reason}")), "{error}");
    }
}

/// SQL files read the sources of `knut.toml`, in the catalog and database of the spec.
#[test]
fn a_project_tells_what_its_sql_defines() {
    let folder = folder(&[
        ("spark-pipeline.yml", &format!("{SPEC}catalog: c\ndatabase: d\n")),
        ("knut.toml", "[sources.raw]\nformat = 'rate'\nstreaming = true\n"),
        ("t/a.sql", "CREATE MATERIALIZED VIEW n AS SELECT count(*) AS n FROM d.events"),
        ("t/b.sql", "CREATE STREAMING TABLE events AS\nSELECT * FROM STREAM raw"),
    ]);
    let definitions = load(folder.path()).unwrap().sql_definitions();
    let shown: Vec<_> = definitions
        .edges
        .iter()
        .map(|edge| {
            let EdgeSource::Dataset(from) = edge.from else { panic!("{edge:?}") };
            let (from, flow) = (&definitions.datasets[from], &definitions.flows[edge.flow]);
            format!(
                "{} ({}) -> {} at {}:{}",
                from.name, from.place.file, flow.name, edge.place.file, edge.place.place.line
            )
        })
        .collect();
    assert_eq!(shown, ["c.d.events (t/b.sql) -> c.d.n at t/a.sql:1", "raw (knut.toml) -> c.d.events at t/b.sql:2"]);
}
