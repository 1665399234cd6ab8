//! What a spec may say, case by case.

use std::fmt::Write as _;
use std::path::Path;

use super::*;

const GOOD: &str = "name: n\nstorage: file:///s\n";

fn read(text: &str) -> Result<PipelineSpec, Vec<String>> {
    let reading = read_spec(text, "s.yml", Path::new("/p"), None);
    let told = reading.problems.iter().map(|problem| match &problem.help {
        Some(help) => format!("{problem} | {}", help.replace('\n', "⏎")),
        None => problem.to_string(),
    });
    reading.spec.ok_or_else(|| told.collect())
}

/// The problems without their help.
fn check(text: &str, expected: &[&str]) {
    let told = read(text).map(|_| ()).err().unwrap_or_default();
    let told: Vec<&str> = told.iter().map(|line| line.split(" | ").next().unwrap_or(line)).collect();
    assert_eq!(told, expected, "{text}");
}

/// `GOOD` and more lines, whose problems come with their help.
fn check_more(more: &str, expected: &[&str]) {
    assert_eq!(read(&format!("{GOOD}{more}")).map(|_| ()).err().unwrap_or_default(), expected, "{more}");
}

#[test]
fn every_field_is_read() {
    let spec = read(
        "name: shop\nstorage: s3a://b/p\ncatalog: c\nschema: d\nconfiguration:\n  spark.x: \"4\"\n  app.key: \
         'true'\n  spark.remote: sc://h\nlibraries:\n  - glob:\n      include: t/**\n  - glob: {include: a.sql}\n",
    )
    .unwrap();
    assert_eq!((&*spec.name, &*spec.storage.uri), ("shop", "s3a://b/p"));
    assert_eq!((spec.catalog.as_deref(), spec.database.as_deref()), (Some("c"), Some("d")));
    // C054: the server's address is no conf.
    assert_eq!(spec.remote.as_ref().map(crate::Remote::reveal), Some("sc://h"));
    let confs: Vec<_> = spec.configuration.iter().map(|(k, v)| (&**k, &**v)).collect();
    assert_eq!(confs, [("app.key", "true"), ("spark.x", "4")]);
    let libraries: Vec<_> = spec.libraries.iter().map(|l| (&*l.include, l.line, l.column)).collect();
    assert_eq!(libraries, [("t/**", 11, 16), ("a.sql", 12, 21)]);
}

/// C002: how a spec may be saved. The byte order mark is taken off before.
#[test]
fn line_ends_and_blanks_make_no_difference() {
    let plain = read(GOOD).unwrap();
    for text in [
        "---\nname: n\nstorage: file:///s\n",
        "name: n\r\nstorage: file:///s\r\n",
        "name: n\rstorage: file:///s\r",
        "name: n  \nstorage: file:///s   ",
        "\n\n# a comment\n#\n\nname: n\nstorage: file:///s\n",
    ] {
        assert_eq!(read(text).unwrap(), plain, "{text:?}");
    }
    let told = read("name: n\n\tstorage: x\n").unwrap_err();
    assert_eq!(told, ["s.yml:2:1: not valid YAML: a tab stands in the indentation | indent with spaces"]);
}

/// C004: YAML features inside the allowed fields.
#[test]
fn yaml_features_work_in_a_spec() {
    let plain = read(GOOD).unwrap();
    for text in [
        "{\"name\": \"n\", \"storage\": \"file:///s\",}",
        "name: n # note\nstorage: >-\n  file:///s\n",
        "name: &x n\nstorage: 'file:///s'\n",
        "<<: {storage: file:///s}\nname: n\n",
    ] {
        assert_eq!(read(text).unwrap(), plain, "{text:?}");
    }
    let aliased = read("name: &x n\nstorage: file:///s\ncatalog: *x\n").unwrap();
    assert_eq!(aliased.catalog.as_deref(), Some("n"));
    check("x-base: &b {name: n}\n<<: *b\nstorage: file:///s\n", &["s.yml:1:1: unexpected field `x-base`"]);
    check("name: my: pipeline\n", &["s.yml:1:9: not valid YAML: mapping values are not allowed in this context"]);
    check(
        "name: !!python/object/apply:os.getcwd []\nstorage: file:///s\n",
        &[
            "s.yml:1:7: the tag `!!python/object/apply:os.getcwd` is not allowed in a spec",
            "s.yml:1:7: `name` must be a string, not a list",
        ],
    );
}

/// C005: all unexpected and all missing fields, in one run and in one order.
#[test]
fn fields_are_told_all_at_once() {
    check_more(
        "target: x\n",
        &["s.yml:3:1: unexpected field `target` | the database is named with `database` or `schema`"],
    );
    let elsewhere = "it is no field of open-source Spark's spec; the fields are name, storage, catalog, database, schema, \
                     configuration, libraries";
    check_more(
        "clusters: []\ncontinuous: false\nlibrarys: []\n1: x\n",
        &[
            &format!("s.yml:3:1: unexpected field `clusters` | {elsewhere}"),
            &format!("s.yml:4:1: unexpected field `continuous` | {elsewhere}"),
            "s.yml:5:1: unexpected field `librarys` | did you mean `libraries`?",
            "s.yml:6:1: unexpected field `1` | the fields are name, storage, catalog, database, schema, configuration, libraries",
        ],
    );
    check("storage: file:///s\n", &["s.yml:1:1: the field `name` is missing"]);
    check("\n\nname: n\n", &["s.yml:3:1: the field `storage` is missing"]);
    check(
        "catalog: x\nstorge: y\n",
        &[
            "s.yml:1:1: the field `name` is missing",
            "s.yml:1:1: the field `storage` is missing",
            "s.yml:2:1: unexpected field `storge`",
        ],
    );
    check("name:\nstorage: ''\n", &["s.yml:1:1: `name` is empty", "s.yml:2:1: `storage` is empty"]);
    check("", &["s.yml: the spec is empty: it needs at least `name` and `storage`"]);
    check("- name\n", &["s.yml:1:1: the spec is a list, not a mapping of fields"]);
    check("just text\n", &["s.yml:1:1: the spec is a string, not a mapping of fields"]);
}

#[test]
fn values_must_be_strings() {
    check_more(
        "catalog: 2024\n",
        &[
            "s.yml:3:10: `catalog` must be a string, but YAML reads `2024` as a number | put it in quotes: `catalog: \"2024\"`",
        ],
    );
    check_more(
        "catalog: [a]\n",
        &["s.yml:3:10: `catalog` must be a string, not a list | write it as `catalog: …` on one line"],
    );
    check_more(
        "configuration:\n  spark.x: 4\n  spark.y: yes\n  spark.z:\n  on: x\n",
        &[
            "s.yml:4:12: `spark.x` must be a string, but YAML reads `4` as a number | put it in quotes: `spark.x: \"4\"`",
            "s.yml:5:12: `spark.y` must be a string, but YAML reads `yes` as a boolean | put it in quotes: `spark.y: \"yes\"`",
            "s.yml:6:3: the conf `spark.z` has no value | write `spark.z: \"\"` for an empty one",
            "s.yml:7:3: a conf's name must be a string, but YAML reads `on` as a boolean | put it in quotes",
        ],
    );
    check_more(
        "configuration:\n",
        &["s.yml:3:1: `configuration` is empty | put confs under it, remove it, or write `configuration: {}`"],
    );
    check_more(
        "configuration: [a]\n",
        &["s.yml:3:16: `configuration` must be a mapping, not a list | write it as⏎configuration:⏎  \
           spark.sql.shuffle.partitions: \"4\""],
    );
    check_more("catalog:\nconfiguration: {}\nlibraries: []\n", &[]);
}

/// C012 (c).
#[test]
fn an_unrendered_placeholder_is_told_where_it_stands() {
    check(
        "name: n\nstorage: ${STORAGE_ROOT}/x\n",
        &["s.yml:2:10: `storage` holds `${STORAGE_ROOT}`, a placeholder that nobody filled in"],
    );
    check(
        "name: n\nstorage: \"{{ storage }}\"\n",
        &["s.yml:2:10: `storage` holds `{{ storage }`, a placeholder that nobody filled in"],
    );
}

/// C014: a refused glob, among good ones.
#[test]
fn a_refused_glob_names_its_entry() {
    check_more(
        "libraries:\n- glob: {include: a.sql}\n- glob: {include: t/*.sql}\n",
        &[
            "s.yml:5:19: `t/*.sql` is not an allowed glob pattern, in entry 2 of `libraries` | an include is the path of one \
           file, or a folder followed by `/**`: write `t/**`",
        ],
    );
}

/// C021: malformed entries name their number and the right shape.
#[test]
fn malformed_library_entries_are_told() {
    let shape = "write each entry as⏎- glob:⏎    include: transformations/**";
    let this = |path: &str| format!("write it as⏎- glob:⏎    include: {path}");
    for (libraries, message, help) in [
        (
            "\n- file: x.sql",
            "4:3: entry 1 of `libraries` has the unexpected key `file`: only `glob` is allowed",
            &*this("x.sql"),
        ),
        (
            "\n- transformations/**",
            "4:3: entry 1 of `libraries` is a string, not a mapping with `glob`",
            &this("transformations/**"),
        ),
        ("", "3:1: `libraries` is empty", shape),
        (" {glob: {include: x}}", "3:12: `libraries` must be a list, not a mapping", shape),
        ("\n- glob: x", "4:9: `glob` in entry 1 of `libraries` is a string, not a mapping with `include`", &this("x")),
        (
            "\n- glob: {include: [a, b]}",
            "4:19: `include` in entry 1 of `libraries` must be a string, not a list",
            "write one entry for each⏎- glob:⏎    include: transformations/**",
        ),
        (
            "\n- glob: {include: x, exclude: y}",
            "4:22: `glob` in entry 1 of `libraries` has the unexpected key `exclude`: only `include` is allowed",
            shape,
        ),
        (
            "\n- glob: {include: ''}",
            "4:19: the include is empty, in entry 1 of `libraries`",
            "an include is the path of one file, or a folder followed by `/**`, such as `transformations/**`",
        ),
        ("\n- glob: {}", "4:9: `glob` in entry 1 of `libraries` has no `include`", shape),
        ("\n- glob:", "4:7: `glob` in entry 1 of `libraries` is empty, not a mapping with `include`", shape),
        ("\n- 4", "4:3: entry 1 of `libraries` is a number, not a mapping with `glob`", shape),
    ] {
        check_more(&format!("libraries:{libraries}\n"), &[&format!("s.yml:{message} | {help}")]);
    }
}

/// C022: `schema` and `database`.
#[test]
fn schema_and_database_must_agree() {
    let database = |more: &str| read(&format!("{GOOD}{more}")).unwrap().database;
    assert_eq!(database("schema: a\n").as_deref(), Some("a"));
    assert_eq!(database("database: b\n").as_deref(), Some("b"));
    assert_eq!(database("schema: a\ndatabase: a\n").as_deref(), Some("a"));
    assert_eq!(database("catalog: c\n"), None);
    check_more(
        "schema: a\ndatabase: b\n",
        &["s.yml:3:1: `schema` is `a` but `database` is `b` | the two fields mean the same: keep one"],
    );
}

/// C004 (g): a bomb of aliases in a field that is read.
#[test]
fn an_alias_bomb_is_read_at_once() {
    let mut text = format!("{GOOD}libraries:\n- &l0 {{glob: {{include: a.sql}}}}\n");
    for level in 1..=30 {
        let before = format!("*l{}", level - 1);
        writeln!(text, "- &l{level} [{}]", vec![before; 10].join(", ")).unwrap();
    }
    let told = read(&text).unwrap_err();
    assert_eq!(told.len(), 30, "one for each list that stands where an entry should");
}

/// The command line's storage makes up for one that nobody filled in or that is missing.
#[test]
fn a_given_storage_takes_the_place_of_the_specs() {
    let given = crate::Storage::resolve("file:///given", Path::new("/p")).unwrap();
    for text in ["name: n\nstorage: ${S}/x\n", "name: n\n"] {
        let reading = read_spec(text, "s.yml", Path::new("/p"), Some(given.clone()));
        assert_eq!(reading.problems, [], "{text}");
        assert_eq!(reading.spec.unwrap().storage.uri, "file:///given");
    }
}
