//! Text that is laid out the way the printer does it is compiled, printed, and must come back unchanged.

use std::collections::BTreeMap;

use super::super::schema;
use super::*;

const COMMENT: &str = "A comment.";
const NAME: &str = "test/file.proto";

/// Compiles `text` as a file of the package `test.pkg`, beside a file `other.proto`.
fn compiled(text: &str) -> (FileDescriptorProto, Names) {
    let other = "syntax = \"proto3\"; package other; message Thing { message Part {} } enum Kind { NONE = 0; }";
    let texts = BTreeMap::from([("other.proto".to_owned(), other.to_owned()), (NAME.to_owned(), text.to_owned())]);
    let set = schema::compile(&texts).expect("the test's text compiles");
    let names = Names::of(set.file.iter().filter(|file| texts.contains_key(file.name())));
    let file = set.file.into_iter().find(|file| file.name() == NAME);
    (file.expect("the file was compiled"), names)
}

/// Checks that the body (what follows the package line) is printed as it is written here, and means the same.
fn check(body: &str) {
    let text = format!("// {COMMENT}\nsyntax = \"proto3\";\n\npackage test.pkg;\n\n{body}");
    let (descriptor, names) = compiled(&text);
    let printed = file(&descriptor, &names, COMMENT).expect("it can be printed");
    assert_eq!(printed, text);
}

#[test]
fn imports_and_file_options() {
    check(
        r#"import "other.proto";
import public "google/protobuf/any.proto";

option java_package = "a.b";
option go_package = "x/\"y\"\\z\011";
option java_multiple_files = true;
option deprecated = false;
"#,
    );
}

#[test]
fn scalar_fields_labels_and_field_options() {
    check(
        r#"message Scalars {
  double a = 1;
  float b = 2;
  int64 c = 3;
  uint64 d = 4;
  int32 e = 5;
  fixed64 f = 6;
  fixed32 g = 7;
  bool h = 8;
  string i = 9;
  bytes j = 10;
  uint32 k = 11;
  sfixed32 l = 12;
  sfixed64 m = 13;
  sint32 n = 14;
  sint64 o = 536870911;
  optional string with_presence = 16;
  repeated int32 packed_by_default = 17;
  repeated int32 unpacked = 18 [packed = false];
  string old = 19 [deprecated = true];
  string two = 20 [deprecated = true, json_name = "Zwei"];
  string some_long_name_2x = 21;
}
"#,
    );
}

#[test]
fn an_optional_field_between_oneofs_keeps_the_order_of_all_of_them() {
    check(
        r"message Choices {
  optional int32 first = 1;

  oneof one {
    string a = 2;
    bytes b = 9;
  }

  optional int32 second = 3;

  oneof two {
    string c = 4;
  }

  oneof three {
    string d = 5;
    optional_like e = 6;
  }

  message optional_like {}
}
",
    );
}

#[test]
fn maps_stand_where_their_entry_types_do() {
    check(
        r"enum Kind {
  NONE = 0;
}

message Maps {
  map<string, int32> plain = 1;

  message Before {}
  map<int64, Before> between = 2;
  map<bool, Kind> last = 3;

  message After {
    map<string, After> nested = 1;
  }
}
",
    );
}

#[test]
fn reserved_ranges_and_names() {
    check(
        r#"enum Level {
  reserved 2, 5 to 7, 100 to max;
  reserved "GONE";
  NONE = 0;
  BELOW = -1;
}

message Reserved {
  reserved 1, 4 to 6, 1000 to max;
  reserved "old", "older";
  string now = 2;
}
"#,
    );
}

#[test]
fn enums_with_aliases_and_deprecated_parts() {
    check(
        r"enum Aliased {
  option allow_alias = true;
  option deprecated = true;
  ZERO = 0;
  NULL = 0 [deprecated = true];
}

message Old {
  option deprecated = true;

  enum Inner {
    NOTHING = 0;
  }
  Inner inner = 1;
  Aliased outer = 2;
}
",
    );
}

#[test]
fn services_with_every_kind_of_streaming() {
    check(
        r"message Ask {}

message Answer {}

service Talk {
  option deprecated = true;
  rpc Unary(Ask) returns (Answer);
  rpc Up(stream Ask) returns (Answer);
  rpc Down(Ask) returns (stream Answer);
  rpc Both(stream Ask) returns (stream Answer) { option deprecated = true; }
}
",
    );
}

#[test]
fn type_names_are_as_short_as_the_scope_allows() {
    check(
        r#"import "other.proto";
import "google/protobuf/any.proto";

message Outer {
  Thing own = 1;
  other.Thing foreign = 2;
  other.Thing.Part part = 3;
  google.protobuf.Any any = 4;
  Outer itself = 5;

  message Thing {
    Outer parent = 1;
    Thing itself = 2;
    pkg.Thing package_level = 3;
  }
}

message Thing {
  Outer.Thing nested = 1;

  message other {
    .other.Thing hidden_package = 1;
    other hides = 2;
  }

  message google {
    .google.protobuf.Any hidden_package = 1;
  }
}
"#,
    );
}

#[test]
fn what_cannot_be_said_in_proto3_is_refused() {
    let (descriptor, names) = compiled("syntax = \"proto3\"; package test.pkg; message M { int32 a = 1; }");
    let refused = |change: &dyn Fn(&mut FileDescriptorProto), expected: &str| {
        let mut changed = descriptor.clone();
        change(&mut changed);
        let error = file(&changed, &names, COMMENT).expect_err("it cannot be printed");
        assert_eq!(format!("{error:#}"), expected);
    };
    refused(&|file| file.syntax = None, "test/file.proto: only proto3 files can be printed, this one is \"\"");
    refused(
        &|file| file.extension.push(FieldDescriptorProto::default()),
        "test/file.proto: extensions cannot be printed",
    );
    refused(
        &|file| {
            file.dependency.push("other.proto".to_owned());
            file.weak_dependency.push(0);
        },
        "test/file.proto: weak imports cannot be printed",
    );
    refused(
        &|file| file.message_type[0].field[0].set_type(Type::Group),
        "test/file.proto: message M: field a: groups cannot be printed",
    );
    refused(
        &|file| file.message_type[0].field[0].set_label(Label::Required),
        "test/file.proto: message M: field a: proto3 has no required fields",
    );
    refused(
        &|file| file.message_type[0].field[0].oneof_index = Some(3),
        "test/file.proto: message M: field a is in no oneof",
    );
}
