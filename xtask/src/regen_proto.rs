//! `cargo xtask regen-proto`: the schema in `proto/`, and the Rust code generated from it.
//!
//! Step one, only with `--from-spark`, takes the file descriptors out of Spark's Python package and prints them
//! as `.proto` text. It writes nothing before it has compiled that text and found that it says the same as the
//! package. Step two, always, compiles `proto/` and generates `crates/knut-proto/src/generated/`; it needs no
//! network, no `protoc` and no Python.

mod generate;
mod package;
mod print;
mod python;
mod schema;
mod source;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context as _, Result, bail, ensure};
use prost_types::{FileDescriptorProto, FileDescriptorSet};

use self::schema::Names;
use self::source::Source;

/// The folder of the schema, in the workspace.
const PROTO: &str = "proto";
/// The file in it that says where the schema came from.
const SOURCE: &str = "SOURCE.toml";
/// The folder of the generated code, in the workspace.
const GENERATED: &str = "crates/knut-proto/src/generated";
/// The folder of the printed files in `proto/`; what they import from elsewhere comes with protobuf itself.
const IMPORT_PREFIX: &str = "spark/connect/";
/// What to do about generated code that is not what the schema gives.
const REMEDY: &str = "run `cargo xtask regen-proto` and commit the result";
/// The comment at the top of every printed file.
const PROTO_COMMENT: &str =
    "Printed by `cargo xtask regen-proto` from the descriptors named in SOURCE.toml. Do not edit.";

/// Generate crates/knut-proto from the schema in proto/, or renew that schema first
#[derive(Debug, clap::Args)]
pub(crate) struct Args {
    /// Renew the schema in proto/ from this Spark release, such as 4.3.0 (downloads its Python package)
    #[arg(long, value_name = "VERSION", conflicts_with = "check")]
    from_spark: Option<String>,
    /// Use this source distribution (.tar.gz) or wheel (.whl) instead of downloading it
    #[arg(long, value_name = "FILE", requires = "from_spark")]
    package: Option<PathBuf>,
    /// Change nothing; fail if the generated code is not what the schema gives
    #[arg(long)]
    check: bool,
}

/// Runs the command in the workspace at `root`.
pub(crate) fn run(root: &Path, args: &Args) -> Result<()> {
    if let Some(version) = &args.from_spark {
        renew_schema(root, version, args.package.as_deref())?;
    }
    let generated = generate::rust_files(read_schema(root)?)?;
    let folder = root.join(GENERATED);
    if args.check {
        return compare(&generated, &read_folder(&folder)?);
    }
    write_folder(&folder, &generated)
}

/// Step one: prints the schema of a Spark release into `proto/`.
fn renew_schema(root: &Path, version: &str, package: Option<&Path>) -> Result<()> {
    // Lives until the package has been read.
    let folder = tempfile::tempdir()?;
    let path = match package {
        Some(path) => path.to_owned(),
        None => package::download(version, folder.path())?,
    };
    let package = package::read(&path, version)?;
    let texts = print_schema(&package.modules)?;
    let source = Source {
        spark_version: version.to_owned(),
        package: package.origin,
        descriptors: source::digests(&own_files(&schema::compile(&texts)?, &texts))?,
    };

    let source = source.to_text()?;
    let files =
        texts.into_iter().map(|(name, text)| (name.replacen(IMPORT_PREFIX, "", 1), text.into_bytes())).collect();
    let proto = root.join(PROTO);
    write_folder(&proto.join(IMPORT_PREFIX), &files)?;
    fs::write(proto.join(SOURCE), source).context("cannot write SOURCE.toml")
}

/// The `.proto` texts, by the names they are imported under, of the descriptors in the given Python modules.
/// They are proved to say the same as the descriptors.
fn print_schema(modules: &BTreeMap<String, String>) -> Result<BTreeMap<String, String>> {
    let mut files = BTreeMap::new();
    for (module, text) in modules {
        let file = python::serialized_file(text)
            .map_err(anyhow::Error::from)
            .and_then(|bytes| schema::decode(&bytes))
            .with_context(|| format!("cannot take the descriptor out of {module}"))?;
        // The name becomes a path below proto/, so it must not be able to lead anywhere else.
        let plain = file
            .name()
            .strip_prefix(IMPORT_PREFIX)
            .and_then(|name| name.strip_suffix(".proto"))
            .is_some_and(|name| name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_'));
        ensure!(plain, "{module} describes {:?}, not a file {IMPORT_PREFIX}NAME.proto", file.name());
        if let Some(twin) = files.insert(file.name().to_owned(), file) {
            bail!("{module} is not the only module that describes {}", twin.name());
        }
    }
    let names = Names::of(files.values());
    let texts = files
        .iter()
        .map(|(name, file)| Ok((name.clone(), print::file(file, &names, PROTO_COMMENT)?)))
        .collect::<Result<BTreeMap<_, _>>>()?;

    let compiled = schema::compile(&texts)?;
    for (name, file) in &files {
        let printed = compiled
            .file
            .iter()
            .find(|compiled| compiled.name() == name)
            .with_context(|| format!("{name} was not compiled"))?;
        schema::ensure_same(file, printed)
            .with_context(|| format!("the text printed for {name} is not the package's schema"))?;
    }
    Ok(texts)
}

/// Step two, first half: compiles `proto/`, which must be what its `SOURCE.toml` records.
fn read_schema(root: &Path) -> Result<FileDescriptorSet> {
    let proto = root.join(PROTO);
    let path = proto.join(SOURCE);
    let source = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
    let source = Source::parse(&source)?;
    let mut texts = BTreeMap::new();
    collect_protos(&proto, "", &mut texts)?;
    let schema = schema::compile(&texts)?;
    source.verify(&own_files(&schema, &texts)).with_context(|| {
        format!("{PROTO}/ was edited; `cargo xtask regen-proto --from-spark {}` writes it anew", source.spark_version)
    })?;
    Ok(schema)
}

/// The compiled forms of `texts`, without the files that they import from protobuf itself.
fn own_files(schema: &FileDescriptorSet, texts: &BTreeMap<String, String>) -> Vec<FileDescriptorProto> {
    let files = schema.file.iter();
    files.filter(|file| texts.contains_key(file.name())).cloned().collect()
}

/// Reads every `.proto` file below `folder`, by its path from there with forward slashes.
fn collect_protos(folder: &Path, prefix: &str, texts: &mut BTreeMap<String, String>) -> Result<()> {
    for entry in folder.read_dir()? {
        let path = entry?.path();
        let Some(name) = path.file_name().and_then(|name| name.to_str()) else {
            bail!("the name of {} is not text", path.display());
        };
        let import = format!("{prefix}{name}");
        if path.is_dir() {
            collect_protos(&path, &format!("{import}/"), texts)?;
        } else if path.extension().is_some_and(|extension| extension == "proto") {
            let text = fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
            texts.insert(import, text);
        }
    }
    Ok(())
}

/// The files of a folder, by name; a folder that does not exist has none.
fn read_folder(folder: &Path) -> Result<BTreeMap<String, Vec<u8>>> {
    let mut files = BTreeMap::new();
    if folder.is_dir() {
        for entry in folder.read_dir()? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy().into_owned();
            files.insert(name, fs::read(entry.path())?);
        }
    }
    Ok(files)
}

/// Makes the folder hold exactly these files.
fn write_folder(folder: &Path, files: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    let write = || -> Result<()> {
        fs::create_dir_all(folder)?;
        for name in read_folder(folder)?.keys() {
            if !files.contains_key(name) {
                fs::remove_file(folder.join(name))?;
            }
        }
        for (name, bytes) in files {
            fs::write(folder.join(name), bytes)?;
        }
        Ok(())
    };
    write().with_context(|| format!("cannot write into {}", folder.display()))
}

/// Fails, naming the first file that is not as it should be, unless the committed files are the generated ones.
fn compare(generated: &BTreeMap<String, Vec<u8>>, committed: &BTreeMap<String, Vec<u8>>) -> Result<()> {
    for (name, bytes) in generated {
        match committed.get(name) {
            Some(found) if found == bytes => {}
            Some(_) => bail!("{GENERATED}/{name} is not what {PROTO}/ gives; {REMEDY}"),
            None => bail!("{GENERATED}/{name} is missing; {REMEDY}"),
        }
    }
    if let Some(name) = committed.keys().find(|name| !generated.contains_key(*name)) {
        bail!("{GENERATED}/{name} is not generated from {PROTO}/; {REMEDY}");
    }
    Ok(())
}

#[cfg(test)]
mod tests;
