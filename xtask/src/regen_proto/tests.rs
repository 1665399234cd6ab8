//! The committed schema and code are what they claim to be, and the command notices when they are not.

use std::io::Write as _;

use flate2::write::GzEncoder;
use prost::Message as _;
use prost_types::UninterpretedOption;

use super::*;

fn committed_texts() -> BTreeMap<String, String> {
    let mut texts = BTreeMap::new();
    collect_protos(&crate::workspace_root().join(PROTO), "", &mut texts).expect("proto/ is readable");
    texts
}

fn committed_files() -> Vec<FileDescriptorProto> {
    let texts = committed_texts();
    own_files(&schema::compile(&texts).expect("proto/ compiles"), &texts)
}

fn committed_source() -> Source {
    let path = crate::workspace_root().join(PROTO).join(SOURCE);
    Source::parse(&fs::read_to_string(path).expect("SOURCE.toml is readable")).expect("it is valid")
}

/// A Python module that carries the descriptor, written the way `protoc` does it.
fn module(file: &FileDescriptorProto) -> String {
    let literal: String = file
        .encode_to_vec()
        .into_iter()
        .map(|byte| match byte {
            b'\'' | b'\\' => format!("\\{}", char::from(byte)),
            b' '..=b'~' => char::from(byte).to_string(),
            _ => format!("\\x{byte:02x}"),
        })
        .collect();
    format!("DESCRIPTOR = pool.AddSerializedFile(\n    b'{literal}'\n)\n")
}

fn modules(files: &[FileDescriptorProto]) -> BTreeMap<String, String> {
    files
        .iter()
        .map(|file| {
            let name = file.name().replacen(IMPORT_PREFIX, "", 1);
            (name.replace(".proto", "_pb2.py"), module(file))
        })
        .collect()
}

fn message<T: std::fmt::Debug>(result: Result<T>) -> String {
    format!("{:#}", result.expect_err("it must fail"))
}

#[test]
fn the_committed_schema_is_the_recorded_one() {
    let source = committed_source();
    assert_eq!(source.package.version, source.spark_version);
    assert_eq!(source::digests(&committed_files()).expect("digests"), source.descriptors);
}

#[test]
fn the_committed_schema_is_printed_text_with_nothing_added() {
    assert_eq!(print_schema(&modules(&committed_files())).expect("it prints"), committed_texts());
}

#[test]
fn the_committed_code_is_what_the_schema_gives() {
    let check = Args { from_spark: None, package: None, check: true };
    run(crate::workspace_root(), &check).expect("the check passes");
}

#[test]
fn a_byte_that_differs_a_missing_file_and_an_extra_file_fail_the_check() {
    let generated = BTreeMap::from([("a.rs".to_owned(), b"mod a;".to_vec()), ("b.rs".to_owned(), b"mod b;".to_vec())]);
    compare(&generated, &generated).expect("equal files pass");

    let mut changed = generated.clone();
    changed.insert("b.rs".to_owned(), b"mod c;".to_vec());
    assert_eq!(
        message(compare(&generated, &changed)),
        "crates/knut-proto/src/generated/b.rs is not what proto/ gives; \
         run `cargo xtask regen-proto` and commit the result"
    );
    changed.remove("b.rs");
    assert_eq!(
        message(compare(&generated, &changed)),
        "crates/knut-proto/src/generated/b.rs is missing; \
         run `cargo xtask regen-proto` and commit the result"
    );
    assert_eq!(
        message(compare(&changed, &generated)),
        "crates/knut-proto/src/generated/b.rs is not generated from proto/; \
         run `cargo xtask regen-proto` and commit the result"
    );
}

#[test]
fn one_changed_byte_of_the_committed_code_is_noticed() {
    let generated = generate::rust_files(read_schema(crate::workspace_root()).expect("schema")).expect("code");
    let folder = crate::workspace_root().join(GENERATED);
    let mut committed = read_folder(&folder).expect("the generated code is readable");
    let code = committed.get_mut("spark.connect.rs").expect("the file exists");
    *code.last_mut().expect("it is not empty") ^= 1;
    let error = message(compare(&generated, &committed));
    assert!(error.starts_with("crates/knut-proto/src/generated/spark.connect.rs is not"), "{error}");
}

#[test]
fn an_edited_schema_is_refused_before_anything_is_written() {
    let root = tempfile::tempdir().expect("a folder");
    let proto = root.path().join(PROTO);
    fs::create_dir_all(proto.join(IMPORT_PREFIX)).expect("folders");
    let write = |name: &str, text: &str| fs::write(proto.join(name), text).expect("a file");
    write(SOURCE, &committed_source().to_text().expect("text"));
    for (name, text) in committed_texts() {
        write(&name, &text);
    }
    read_schema(root.path()).expect("an unchanged copy is fine");

    let renew = "proto/ was edited; `cargo xtask regen-proto --from-spark 4.3.0` writes it anew";
    write("stray.proto", "syntax = \"proto3\"; package stray;");
    assert_eq!(message(read_schema(root.path())), format!("{renew}: stray.proto is not recorded in SOURCE.toml"));
    fs::remove_file(proto.join("stray.proto")).expect("removed");

    let common = "spark/connect/common.proto";
    let edited = committed_texts()[common].replace("bool use_disk = 1;", "bool use_disc = 1;");
    write(common, &edited);
    let args = Args { from_spark: None, package: None, check: false };
    assert_eq!(
        message(run(root.path(), &args)),
        format!("{renew}: {common} is not the schema that SOURCE.toml records")
    );
    assert!(!root.path().join(GENERATED).exists());

    let example = "spark/connect/example_plugins.proto";
    write(common, &committed_texts()[common]);
    fs::remove_file(proto.join(example)).expect("removed");
    assert_eq!(message(read_schema(root.path())), format!("{renew}: {example} is missing, but SOURCE.toml records it"));
}

#[test]
fn a_difference_between_package_and_text_names_its_place() {
    let files = committed_files();
    let base = files.iter().find(|file| file.name() == "spark/connect/base.proto").expect("base");
    let differs = |change: &dyn Fn(&mut FileDescriptorProto), expected: &str| {
        let mut changed = base.clone();
        change(&mut changed);
        let error = message(schema::ensure_same(base, &changed));
        assert_eq!(error.lines().next(), Some(expected));
    };
    schema::ensure_same(base, base).expect("a file is the same as itself");
    differs(&|file| file.message_type[0].field[0].number = Some(77), "message spark.connect.Plan, field root:");
    differs(&|file| drop(file.message_type[0].field.pop()), "the fields of message spark.connect.Plan:");
    differs(&|file| file.message_type[0].oneof_decl[0].name = Some("other".to_owned()), "message spark.connect.Plan:");
    differs(&|file| file.message_type.swap(0, 1), "the messages of spark.connect:");
    differs(
        &|file| {
            let nested = file.message_type.iter_mut().find(|it| !it.nested_type.is_empty());
            nested.expect("one has nested messages").nested_type.clear();
        },
        "the messages of spark.connect.Plan:",
    );
    differs(&|file| file.service[0].method[0].server_streaming = None, "service spark.connect.SparkConnectService:");
    differs(&|file| drop(file.dependency.pop()), "the file's own settings:");
}

#[test]
fn a_descriptor_that_would_be_read_with_a_loss_is_refused() {
    let mut bytes = committed_files()[0].encode_to_vec();
    schema::decode(&bytes).expect("the descriptor itself is fine");
    // Field 1000, a varint: nothing that a file descriptor has.
    bytes.extend([0xc0, 0x3e, 0x01]);
    let error = message(schema::decode(&bytes));
    assert!(error.contains("something this decoder does not know"), "{error}");
    assert_eq!(message(schema::decode(b"\x0a\x7f")).split(':').next(), Some("it is not a file descriptor"));
}

#[test]
fn a_package_with_a_broken_or_strange_module_prints_nothing() {
    let files = committed_files();
    let mut broken = modules(&files);
    let text = broken.get_mut("base_pb2.py").expect("the module");
    text.truncate(text.len() / 2);
    let error = message(print_schema(&broken));
    assert!(error.starts_with("cannot take the descriptor out of base_pb2.py: the bytes literal"), "{error}");

    for name in ["../../evil.proto", "spark/connect/../x.proto", "other/x.proto"] {
        let mut strange = files[0].clone();
        strange.name = Some(name.to_owned());
        let strange = BTreeMap::from([("x_pb2.py".to_owned(), module(&strange))]);
        assert_eq!(
            message(print_schema(&strange)),
            format!("x_pb2.py describes {name:?}, not a file spark/connect/NAME.proto")
        );
    }

    let mut twice = modules(&files);
    twice.insert("zz_pb2.py".to_owned(), module(&files[0]));
    assert!(message(print_schema(&twice)).contains("not the only module"));

    // An option that the printer has no words for must not get lost.
    let mut unsaid = files.clone();
    let options = unsaid[0].options.get_or_insert_default();
    options.uninterpreted_option.push(UninterpretedOption::default());
    let error = message(print_schema(&modules(&unsaid)));
    assert!(error.contains("is not the package's schema"), "{error}");
}

/// The entries of a package of version 9.9.9, below its top folder.
fn package_entries() -> Vec<(String, String)> {
    let mut entries = modules(&committed_files())
        .into_iter()
        .map(|(name, text)| (format!("pyspark/sql/connect/proto/{name}"), text))
        .collect::<Vec<_>>();
    entries.push(("pyspark/sql/connect/proto/base_pb2.pyi".to_owned(), String::new()));
    entries
}

fn sdist(path: &Path, entries: &[(String, String)]) {
    let gz = GzEncoder::new(fs::File::create(path).expect("a file"), flate2::Compression::fast());
    let mut archive = tar::Builder::new(gz);
    for (name, text) in entries {
        let mut header = tar::Header::new_gnu();
        header.set_size(text.len() as u64);
        header.set_mode(0o644);
        let name = format!("pyspark-9.9.9/{name}");
        archive.append_data(&mut header, name, text.as_bytes()).expect("an entry");
    }
    archive.into_inner().expect("an archive").finish().expect("a file");
}

const METADATA: &str = "Metadata-Version: 2.1\nName: pyspark\nVersion: 9.9.9\n\nVersion: 1.0\n";

#[test]
fn a_source_distribution_and_a_wheel_give_the_same_schema() {
    let folder = tempfile::tempdir().expect("a folder");
    let mut entries = package_entries();
    entries.push(("PKG-INFO".to_owned(), METADATA.to_owned()));
    entries.push(("pyspark.egg-info/PKG-INFO".to_owned(), "Name: wrong".to_owned()));
    let path = folder.path().join("pyspark-9.9.9.tar.gz");
    sdist(&path, &entries);
    let from_sdist = package::read(&path, "9.9.9").expect("the source distribution is read");
    assert_eq!(from_sdist.modules, modules(&committed_files()));
    assert_eq!(from_sdist.origin.name, "pyspark");
    assert_eq!(from_sdist.origin.file, "pyspark-9.9.9.tar.gz");
    assert_eq!(from_sdist.origin.sha256.len(), 64);

    let path = folder.path().join("pyspark-9.9.9-py3-none-any.whl");
    let mut wheel = zip::ZipWriter::new(fs::File::create(&path).expect("a file"));
    let metadata = ("pyspark-9.9.9.dist-info/METADATA".to_owned(), METADATA.to_owned());
    for (name, text) in package_entries().into_iter().chain([metadata]) {
        let options = zip::write::SimpleFileOptions::default();
        wheel.start_file(name, options).expect("an entry");
        wheel.write_all(text.as_bytes()).expect("its text");
    }
    wheel.finish().expect("an archive");
    let from_wheel = package::read(&path, "9.9.9").expect("the wheel is read");
    assert_eq!(from_wheel.modules, from_sdist.modules);
    assert_eq!(from_wheel.origin.version, "9.9.9");
}

#[test]
fn a_package_that_is_not_the_wanted_one_is_refused() {
    let folder = tempfile::tempdir().expect("a folder");
    let refused = |name: &str, entries: Option<&[(String, String)]>, expected: &str| {
        let path = folder.path().join(name);
        match entries {
            Some(entries) => sdist(&path, entries),
            None => fs::write(&path, "not an archive").expect("a file"),
        }
        let error = message(package::read(&path, "4.3.0"));
        let prefix = format!("cannot use the package {}: ", path.display());
        assert_eq!(error.strip_prefix(&prefix), Some(expected));
    };
    let metadata = ("PKG-INFO".to_owned(), METADATA.to_owned());
    let mut complete = package_entries();
    complete.push(metadata.clone());
    refused("other.tar.gz", Some(&complete), "it holds pyspark 9.9.9, not version 4.3.0");
    refused("bare.tar.gz", Some(&package_entries()), "it has no PKG-INFO or METADATA");
    refused("empty.tar.gz", Some(&[metadata]), "it has no pyspark/sql/connect/proto/*_pb2.py");
    refused("broken.tar.gz", None, "invalid gzip header");
    refused("pyspark.deb", None, "it is neither a .tar.gz nor a .whl");
}

#[test]
fn a_whole_renewal_writes_the_schema_its_source_and_the_code() {
    let root = tempfile::tempdir().expect("a folder");
    let package = root.path().join("pyspark-9.9.9.tar.gz");
    let mut entries = package_entries();
    entries.push(("PKG-INFO".to_owned(), METADATA.to_owned()));
    sdist(&package, &entries);
    let stale = root.path().join(GENERATED).join("stale.rs");
    fs::create_dir_all(root.path().join(GENERATED)).expect("a folder");
    fs::write(&stale, "").expect("a file");

    let args = |from_spark: Option<&str>| Args {
        from_spark: from_spark.map(str::to_owned),
        package: from_spark.map(|_| package.clone()),
        check: from_spark.is_none(),
    };
    run(root.path(), &args(Some("9.9.9"))).expect("the renewal works");
    assert!(!stale.exists());
    run(root.path(), &args(None)).expect("what was written passes the check");
    assert_eq!(
        read_folder(&root.path().join(GENERATED)).expect("code"),
        read_folder(&crate::workspace_root().join(GENERATED)).expect("code")
    );
}
