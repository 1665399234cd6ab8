//! Prints a file descriptor as `.proto` text.
//!
//! Covers what a proto3 schema can say. What it has no words for is either refused here (groups, extensions,
//! proto2) or caught by the caller, who compiles the text and compares: nothing is ever left out silently.

use std::fmt::Write as _;

use anyhow::{Context as _, Result, bail, ensure};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{
    DescriptorProto, EnumDescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileOptions, MessageOptions,
    ServiceDescriptorProto,
};

use super::schema::Names;

/// The largest field number, which reserved ranges write as `max`.
const MAX_FIELD_NUMBER: i32 = (1 << 29) - 1;

/// The text of `file`, below the given comment line. `names` must know every type the file refers to.
pub(super) fn file(file: &FileDescriptorProto, names: &Names, comment: &str) -> Result<String> {
    ensure!(
        file.syntax() == "proto3",
        "{}: only proto3 files can be printed, this one is {:?}",
        file.name(),
        file.syntax()
    );
    ensure!(file.extension.is_empty(), "{}: extensions cannot be printed", file.name());
    let mut printer = Printer { names, out: String::new(), depth: 0 };
    printer.line(&format!("// {comment}"));
    printer.line("syntax = \"proto3\";");
    printer.gap();
    printer.line(&format!("package {};", file.package()));
    printer.imports(file)?;
    printer.file_options(file.options.as_ref());
    for declaration in &file.enum_type {
        printer.enumeration(declaration);
    }
    for message in &file.message_type {
        printer
            .message(message, file.package())
            .with_context(|| format!("{}: message {}", file.name(), message.name()))?;
    }
    for service in &file.service {
        printer.service(service, file.package());
    }
    Ok(printer.out)
}

struct Printer<'a> {
    names: &'a Names,
    out: String,
    depth: usize,
}

impl Printer<'_> {
    fn line(&mut self, text: &str) {
        for _ in 0..self.depth {
            self.out.push_str("  ");
        }
        self.out.push_str(text);
        self.out.push('\n');
    }

    /// An empty line, except at the start of a block or after another empty line.
    fn gap(&mut self) {
        if !self.out.ends_with("{\n") && !self.out.ends_with("\n\n") {
            self.out.push('\n');
        }
    }

    fn open(&mut self, head: &str) {
        self.gap();
        self.line(&format!("{head} {{"));
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        // A block with nothing in it is one line.
        if self.out.ends_with("{\n") {
            self.out.pop();
            self.out.push_str("}\n");
        } else {
            self.line("}");
        }
    }

    fn imports(&mut self, file: &FileDescriptorProto) -> Result<()> {
        self.gap();
        let is_in = |list: &[i32], index: usize| list.iter().any(|&entry| usize::try_from(entry) == Ok(index));
        for (index, name) in file.dependency.iter().enumerate() {
            let kind = if is_in(&file.public_dependency, index) {
                "public "
            } else if is_in(&file.weak_dependency, index) {
                bail!("{}: weak imports cannot be printed", file.name());
            } else {
                ""
            };
            self.line(&format!("import {kind}{};", quoted(name)));
        }
        Ok(())
    }

    fn file_options(&mut self, options: Option<&FileOptions>) {
        let Some(options) = options else { return };
        self.gap();
        let texts = [
            ("java_package", &options.java_package),
            ("java_outer_classname", &options.java_outer_classname),
            ("go_package", &options.go_package),
            ("objc_class_prefix", &options.objc_class_prefix),
            ("csharp_namespace", &options.csharp_namespace),
        ];
        for (name, value) in texts {
            if let Some(value) = value {
                self.line(&format!("option {name} = {};", quoted(value)));
            }
        }
        let flags = [
            ("java_multiple_files", options.java_multiple_files),
            ("cc_enable_arenas", options.cc_enable_arenas),
            ("deprecated", options.deprecated),
        ];
        for (name, value) in flags {
            if let Some(value) = value {
                self.line(&format!("option {name} = {value};"));
            }
        }
    }

    fn enumeration(&mut self, declaration: &EnumDescriptorProto) {
        self.open(&format!("enum {}", declaration.name()));
        if let Some(options) = &declaration.options {
            if let Some(value) = options.allow_alias {
                self.line(&format!("option allow_alias = {value};"));
            }
            if let Some(value) = options.deprecated {
                self.line(&format!("option deprecated = {value};"));
            }
        }
        // Enum ranges include their end, unlike those of messages.
        let ranges = declaration.reserved_range.iter().map(|range| (range.start(), range.end()));
        self.reserved(ranges, i32::MAX, &declaration.reserved_name);
        for value in &declaration.value {
            let deprecated = value
                .options
                .as_ref()
                .and_then(|options| options.deprecated)
                .map(|value| ("deprecated", value.to_string()));
            self.line(&format!("{} = {}{};", value.name(), value.number(), bracketed(deprecated)));
        }
        self.close();
    }

    fn message(&mut self, message: &DescriptorProto, parent: &str) -> Result<()> {
        ensure!(message.extension.is_empty() && message.extension_range.is_empty(), "extensions cannot be printed");
        let scope = format!("{parent}.{}", message.name());
        self.open(&format!("message {}", message.name()));
        if let Some(value) = message.options.as_ref().and_then(|options| options.deprecated) {
            self.line(&format!("option deprecated = {value};"));
        }
        let ranges = message.reserved_range.iter().map(|range| (range.start(), range.end() - 1));
        self.reserved(ranges, MAX_FIELD_NUMBER, &message.reserved_name);
        for declaration in &message.enum_type {
            self.enumeration(declaration);
        }

        // A map field declares its entry type at the place where it stands, so the messages that the descriptor
        // lists before that entry must be printed before the field.
        let mut nested = message.nested_type.iter();
        let mut fields = message.field.iter().peekable();
        while let Some(field) = fields.next() {
            if let Some(entry) = map_entry(message, field) {
                for before in nested.by_ref().take_while(|other| *other != entry) {
                    self.nested(before, &scope)?;
                }
                let text = self.map_field(field, entry, &scope)?;
                self.line(&text);
            } else if let Some(index) = real_oneof(field) {
                let oneof = usize::try_from(index)
                    .ok()
                    .and_then(|index| message.oneof_decl.get(index))
                    .with_context(|| format!("field {} is in no oneof", field.name()))?;
                self.open(&format!("oneof {}", oneof.name()));
                let text = self.field(field, &scope)?;
                self.line(&text);
                while let Some(member) = fields.next_if(|next| real_oneof(next) == Some(index)) {
                    let text = self.field(member, &scope)?;
                    self.line(&text);
                }
                self.close();
                if fields.peek().is_some() {
                    self.gap();
                }
            } else {
                let text = self.field(field, &scope)?;
                self.line(&text);
            }
        }
        for rest in nested {
            self.nested(rest, &scope)?;
        }
        self.close();
        Ok(())
    }

    fn nested(&mut self, message: &DescriptorProto, scope: &str) -> Result<()> {
        self.message(message, scope).with_context(|| format!("nested message {}", message.name()))
    }

    /// Prints ranges, which include their ends, and names that may not be used again.
    fn reserved(&mut self, ranges: impl Iterator<Item = (i32, i32)>, max: i32, reserved_names: &[String]) {
        let numbers = ranges
            .map(|(start, end)| match end {
                _ if start == end => start.to_string(),
                _ if end == max => format!("{start} to max"),
                _ => format!("{start} to {end}"),
            })
            .collect::<Vec<_>>();
        let names = reserved_names.iter().map(|name| quoted(name)).collect::<Vec<_>>();
        for list in [numbers, names] {
            if !list.is_empty() {
                self.line(&format!("reserved {};", list.join(", ")));
            }
        }
    }

    fn field(&self, field: &FieldDescriptorProto, scope: &str) -> Result<String> {
        let label = match field.label() {
            Label::Repeated => "repeated ",
            Label::Optional if field.proto3_optional() => "optional ",
            Label::Optional => "",
            Label::Required => bail!("field {}: proto3 has no required fields", field.name()),
        };
        let kind = self.type_name(field, scope)?;
        Ok(format!("{label}{kind} {} = {}{};", field.name(), field.number(), field_options(field)))
    }

    fn map_field(&self, field: &FieldDescriptorProto, entry: &DescriptorProto, scope: &str) -> Result<String> {
        let [key, value] = entry.field.as_slice() else {
            bail!("map field {}: its entry has no key and value", field.name());
        };
        Ok(format!(
            "map<{}, {}> {} = {}{};",
            self.type_name(key, scope)?,
            self.type_name(value, scope)?,
            field.name(),
            field.number(),
            field_options(field)
        ))
    }

    fn type_name(&self, field: &FieldDescriptorProto, scope: &str) -> Result<String> {
        let name = match field.r#type() {
            Type::Double => "double",
            Type::Float => "float",
            Type::Int64 => "int64",
            Type::Uint64 => "uint64",
            Type::Int32 => "int32",
            Type::Fixed64 => "fixed64",
            Type::Fixed32 => "fixed32",
            Type::Bool => "bool",
            Type::String => "string",
            Type::Bytes => "bytes",
            Type::Uint32 => "uint32",
            Type::Sfixed32 => "sfixed32",
            Type::Sfixed64 => "sfixed64",
            Type::Sint32 => "sint32",
            Type::Sint64 => "sint64",
            Type::Group => bail!("field {}: groups cannot be printed", field.name()),
            Type::Message | Type::Enum => {
                return Ok(self.names.shortest(field.type_name(), scope));
            }
        };
        Ok(name.to_owned())
    }

    fn service(&mut self, service: &ServiceDescriptorProto, package: &str) {
        let scope = format!("{package}.{}", service.name());
        self.open(&format!("service {}", service.name()));
        if let Some(value) = service.options.as_ref().and_then(|options| options.deprecated) {
            self.line(&format!("option deprecated = {value};"));
        }
        for method in &service.method {
            let side = |streaming, name| {
                let stream = if streaming { "stream " } else { "" };
                format!("{stream}{}", self.names.shortest(name, &scope))
            };
            let head = format!(
                "rpc {}({}) returns ({})",
                method.name(),
                side(method.client_streaming(), method.input_type()),
                side(method.server_streaming(), method.output_type())
            );
            let deprecated = method.options.as_ref().and_then(|options| options.deprecated);
            match deprecated {
                Some(value) => self.line(&format!("{head} {{ option deprecated = {value}; }}")),
                None => self.line(&format!("{head};")),
            }
        }
        self.close();
    }
}

/// The entry type that makes `field` a map field of `message`.
fn map_entry<'a>(message: &'a DescriptorProto, field: &FieldDescriptorProto) -> Option<&'a DescriptorProto> {
    let (_, name) = field.type_name().rsplit_once('.')?;
    let is_entry = |nested: &DescriptorProto| {
        let options = nested.options.as_ref();
        options.is_some_and(MessageOptions::map_entry)
    };
    let mut nested = message.nested_type.iter();
    nested.find(|nested| nested.name() == name && is_entry(nested))
}

/// The oneof that the field was declared in; `optional` fields have one of their own that no text shows.
fn real_oneof(field: &FieldDescriptorProto) -> Option<i32> {
    field.oneof_index.filter(|_| !field.proto3_optional())
}

fn field_options(field: &FieldDescriptorProto) -> String {
    let options = field.options.as_ref();
    let packed = options.and_then(|options| options.packed);
    let deprecated = options.and_then(|options| options.deprecated);
    let json_name = field.json_name.as_deref().filter(|name| *name != default_json_name(field.name()));
    bracketed(
        [
            packed.map(|value| ("packed", value.to_string())),
            deprecated.map(|value| ("deprecated", value.to_string())),
            json_name.map(|name| ("json_name", quoted(name))),
        ]
        .into_iter()
        .flatten(),
    )
}

/// ` [name = value, …]`, or nothing if there are no options.
fn bracketed(options: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let list = options.into_iter().map(|(name, value)| format!("{name} = {value}")).collect::<Vec<_>>();
    match list.as_slice() {
        [] => String::new(),
        _ => format!(" [{}]", list.join(", ")),
    }
}

/// The JSON name that a compiler gives a field by itself: `some_name` becomes `someName`.
fn default_json_name(name: &str) -> String {
    let mut json = String::with_capacity(name.len());
    let mut upper = false;
    for letter in name.chars() {
        if letter == '_' {
            upper = true;
        } else {
            json.push(if upper { letter.to_ascii_uppercase() } else { letter });
            upper = false;
        }
    }
    json
}

/// A string literal of the `.proto` language.
fn quoted(text: &str) -> String {
    let mut literal = String::from("\"");
    for letter in text.chars() {
        match letter {
            '"' | '\\' => {
                literal.push('\\');
                literal.push(letter);
            }
            letter if letter.is_ascii_control() => {
                // Writing into a string cannot fail.
                let _ = write!(literal, "\\{:03o}", u32::from(letter));
            }
            letter => literal.push(letter),
        }
    }
    literal.push('"');
    literal
}

#[cfg(test)]
mod tests;
