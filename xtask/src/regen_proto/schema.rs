//! The schema as file descriptors: decoding, compiling from text, and proving that two of them say the same.
//!
//! Everything works on values in memory; reading and writing folders is the business of the parent module.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context as _, Result, bail, ensure};
use prost::Message as _;
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FileDescriptorProto, FileDescriptorSet, ServiceDescriptorProto,
};
use protox::file::{ChainFileResolver, File, FileResolver, GoogleFileResolver};

/// Decodes one serialized file descriptor, and makes sure that nothing in it was lost on the way.
pub(super) fn decode(bytes: &[u8]) -> Result<FileDescriptorProto> {
    let file = FileDescriptorProto::decode(bytes).context("it is not a file descriptor")?;
    // Unknown fields (custom options, editions) are dropped by the decoder, and would silently be missing from
    // the schema. Both sides write fields in the order of their numbers, so equal bytes mean that none were.
    ensure!(
        file.encode_to_vec() == bytes,
        "{} holds something this decoder does not know, such as a custom option or an edition",
        file.name()
    );
    Ok(file)
}

/// Compiles `.proto` texts, given by the names they are imported under. The files that come with protobuf itself
/// (`google/protobuf/*.proto`) can be imported, and are in the result only if something imports them.
pub(super) fn compile(texts: &BTreeMap<String, String>) -> Result<FileDescriptorSet> {
    let mut resolver = ChainFileResolver::new();
    resolver.add(Texts(texts.clone()));
    resolver.add(GoogleFileResolver::new());
    let mut compiler = protox::Compiler::with_file_resolver(resolver);
    compiler.include_imports(true);
    for name in texts.keys() {
        compiler.open_file(name).with_context(|| format!("cannot compile {name}"))?;
    }
    Ok(compiler.file_descriptor_set())
}

/// Source files held in memory.
struct Texts(BTreeMap<String, String>);

impl FileResolver for Texts {
    fn open_file(&self, name: &str) -> Result<File, protox::Error> {
        match self.0.get(name) {
            Some(text) => File::from_source(name, text),
            None => Err(protox::Error::file_not_found(name)),
        }
    }
}

/// The descriptor without what may differ between two compilers although the schema is the same: where things
/// stood in the source, options that are present but say nothing (`rpc … {}`), and a spelled-out `false`.
pub(super) fn canonical(file: &FileDescriptorProto) -> FileDescriptorProto {
    let mut file = file.clone();
    file.source_code_info = None;
    drop_empty(&mut file.options);
    file.message_type.iter_mut().for_each(canonical_message);
    file.enum_type.iter_mut().for_each(canonical_enum);
    for service in &mut file.service {
        drop_empty(&mut service.options);
        for method in &mut service.method {
            drop_empty(&mut method.options);
            drop_empty(&mut method.client_streaming);
            drop_empty(&mut method.server_streaming);
        }
    }
    file
}

fn canonical_message(message: &mut DescriptorProto) {
    drop_empty(&mut message.options);
    for field in &mut message.field {
        drop_empty(&mut field.options);
        drop_empty(&mut field.proto3_optional);
    }
    for oneof in &mut message.oneof_decl {
        drop_empty(&mut oneof.options);
    }
    message.enum_type.iter_mut().for_each(canonical_enum);
    message.nested_type.iter_mut().for_each(canonical_message);
}

fn canonical_enum(declaration: &mut EnumDescriptorProto) {
    drop_empty(&mut declaration.options);
    for value in &mut declaration.value {
        drop_empty(&mut value.options);
    }
}

/// Forgets a value that is the same as its absence.
fn drop_empty<T: Default + PartialEq>(value: &mut Option<T>) {
    if value.as_ref().is_some_and(|value| *value == T::default()) {
        *value = None;
    }
}

/// The bytes whose digest `SOURCE.toml` records.
pub(super) fn canonical_bytes(file: &FileDescriptorProto) -> Vec<u8> {
    canonical(file).encode_to_vec()
}

/// Fails with the first message, enum or service that is not the same on both sides, if there is one.
pub(super) fn ensure_same(package: &FileDescriptorProto, printed: &FileDescriptorProto) -> Result<()> {
    let (package, printed) = (canonical(package), canonical(printed));
    let scope = package.package().to_owned();
    same_messages(&scope, &package.message_type, &printed.message_type)?;
    same_enums(&scope, &package.enum_type, &printed.enum_type)?;
    same_services(&scope, &package.service, &printed.service)?;

    let rest = |file: FileDescriptorProto| FileDescriptorProto {
        message_type: Vec::new(),
        enum_type: Vec::new(),
        service: Vec::new(),
        ..file
    };
    same("the file's own settings", &rest(package), &rest(printed))
}

fn same_messages(scope: &str, package: &[DescriptorProto], printed: &[DescriptorProto]) -> Result<()> {
    let what = format!("the messages of {scope}");
    for (package, printed) in pairs(&what, package, printed, DescriptorProto::name)? {
        let path = format!("{scope}.{}", package.name());
        let fields = format!("the fields of message {path}");
        for (one, other) in pairs(&fields, &package.field, &printed.field, |field| field.name())? {
            same(&format!("message {path}, field {}", one.name()), one, other)?;
        }
        same_messages(&path, &package.nested_type, &printed.nested_type)?;
        same_enums(&path, &package.enum_type, &printed.enum_type)?;

        let rest = |message: &DescriptorProto| DescriptorProto {
            field: Vec::new(),
            nested_type: Vec::new(),
            enum_type: Vec::new(),
            ..message.clone()
        };
        same(&format!("message {path}"), &rest(package), &rest(printed))?;
    }
    Ok(())
}

fn same_enums(scope: &str, package: &[EnumDescriptorProto], printed: &[EnumDescriptorProto]) -> Result<()> {
    let what = format!("the enums of {scope}");
    for (package, printed) in pairs(&what, package, printed, EnumDescriptorProto::name)? {
        same(&format!("enum {scope}.{}", package.name()), package, printed)?;
    }
    Ok(())
}

fn same_services(scope: &str, package: &[ServiceDescriptorProto], printed: &[ServiceDescriptorProto]) -> Result<()> {
    let what = format!("the services of {scope}");
    for (package, printed) in pairs(&what, package, printed, ServiceDescriptorProto::name)? {
        same(&format!("service {scope}.{}", package.name()), package, printed)?;
    }
    Ok(())
}

/// Pairs up two lists, which must have the same names in the same order.
fn pairs<'a, T>(
    what: &str,
    package: &'a [T],
    printed: &'a [T],
    name: impl Fn(&T) -> &str,
) -> Result<impl Iterator<Item = (&'a T, &'a T)>> {
    let names = |list: &[T]| list.iter().map(|item| name(item).to_owned()).collect::<Vec<_>>();
    same(what, &names(package), &names(printed))?;
    Ok(package.iter().zip(printed))
}

fn same<T: PartialEq + std::fmt::Debug>(what: &str, package: &T, printed: &T) -> Result<()> {
    if package != printed {
        bail!("{what}:\n  the package has {package:?}\n  the text gives {printed:?}");
    }
    Ok(())
}

/// The full names of everything that a type name can run into while it is being resolved: packages, messages
/// and enums, without a leading dot.
#[derive(Debug, Default)]
pub(super) struct Names(BTreeSet<String>);

impl Names {
    /// The names that the files declare, and those of the packages the files live in.
    pub(super) fn of<'a>(files: impl IntoIterator<Item = &'a FileDescriptorProto>) -> Self {
        let mut names = Self::default();
        for file in files {
            let package = file.package();
            names.0.extend(package.match_indices('.').map(|(dot, _)| package[..dot].to_owned()));
            names.0.insert(package.to_owned());
            names.messages(package, &file.message_type);
            names.enums(package, &file.enum_type);
        }
        names
    }

    fn messages(&mut self, scope: &str, messages: &[DescriptorProto]) {
        for message in messages {
            let name = format!("{scope}.{}", message.name());
            self.messages(&name, &message.nested_type);
            self.enums(&name, &message.enum_type);
            self.0.insert(name);
        }
    }

    fn enums(&mut self, scope: &str, enums: &[EnumDescriptorProto]) {
        for declaration in enums {
            self.0.insert(format!("{scope}.{}", declaration.name()));
        }
    }

    /// The shortest way to write the type `full` (with or without its leading dot) inside `scope`, so that a
    /// compiler finds that type and no other.
    pub(super) fn shortest(&self, full: &str, scope: &str) -> String {
        let full = full.trim_start_matches('.');
        let tails = full.match_indices('.').map(|(dot, _)| &full[dot + 1..]);
        let found = tails.rev().chain([full]).find(|name| self.resolve(name, scope).as_deref() == Some(full));
        match found {
            Some(name) => name.to_owned(),
            // Declared by none of the files, but nothing in the way hides it.
            None if self.home(full, scope).is_none() => full.to_owned(),
            None => format!(".{full}"),
        }
    }

    /// The type that a compiler takes `name` for inside `scope`.
    fn resolve(&self, name: &str, scope: &str) -> Option<String> {
        let found = within(self.home(name, scope)?, name);
        Some(found).filter(|found| self.0.contains(found))
    }

    /// The innermost scope that knows the first component of `name`: it decides what `name` is, even if the
    /// other components are not found in it.
    fn home<'a>(&self, name: &str, scope: &'a str) -> Option<&'a str> {
        let first = name.split_once('.').map_or(name, |(first, _)| first);
        let mut scope = scope;
        while !self.0.contains(&within(scope, first)) {
            if scope.is_empty() {
                return None;
            }
            scope = scope.rsplit_once('.').map_or("", |(outer, _)| outer);
        }
        Some(scope)
    }
}

/// The full name of `name` in `scope`; the scope of packages is empty.
fn within(scope: &str, name: &str) -> String {
    match scope {
        "" => name.to_owned(),
        _ => format!("{scope}.{name}"),
    }
}
