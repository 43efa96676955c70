#!/usr/bin/env python3
"""The wire contract is commented, and keeps the forms it promises.

Every service, rpc, message, field, oneof, enum and value of proto/**/*.proto
has a comment above it. An enum begins with <ENUM>_UNSPECIFIED = 0 and its
values bear its name. Requests and replies are named after their rpc. In a
message with a fence, fence is 1, connector 2, request_id 3, released_steps 4.
Every field of the configuration (spec.proto) says when it may change.

Reads what protoc makes of the files, so that it sees what everybody sees.
"""

import pathlib
import re
import shutil
import subprocess
import tempfile

import source_tree
from source_tree import Finding

CONFIG_OPTION = 50701  # penstock.v1.config, in options.proto
CONFIG_FILES = ("spec.proto",)
# A protocol of others, whose names are theirs.
THEIRS = "proto/grpc/"
NAME_RULES = ("proto-unspecified", "proto-prefix", "proto-name")
PLACES = {"fence": 1, "connector": 2, "request_id": 3, "released_steps": 4}

# Field numbers in google/protobuf/descriptor.proto.
SET_FILE = 1
FILE_NAME, FILE_PACKAGE, FILE_MESSAGE, FILE_ENUM = 1, 2, 4, 5
FILE_SERVICE, FILE_EXTENSION, FILE_INFO, FILE_SYNTAX = 6, 7, 9, 12
MESSAGE_FIELD, MESSAGE_NESTED, MESSAGE_ENUM = 2, 3, 4
MESSAGE_OPTIONS, MESSAGE_ONEOF, OPTION_MAP_ENTRY = 7, 8, 7
NAME = 1
FIELD_NUMBER, FIELD_OPTIONS, FIELD_ONEOF, FIELD_OPTIONAL = 3, 8, 9, 17
ENUM_VALUE, VALUE_NUMBER = 2, 2
SERVICE_METHOD, METHOD_INPUT, METHOD_OUTPUT = 2, 2, 3
INFO_LOCATION, LOCATION_PATH, LOCATION_SPAN, LOCATION_LEADING = 1, 1, 2, 3


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def decode(data):
    """{field number: [value, ...]} of one message; an int or bytes each."""
    fields = {}
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        wire_type = key & 7
        if wire_type == 0:
            value, at = varint(data, at)
        elif wire_type == 2:
            length, at = varint(data, at)
            value, at = data[at : at + length], at + length
        else:
            length = {1: 8, 5: 4}[wire_type]
            value, at = data[at : at + length], at + length
        fields.setdefault(key >> 3, []).append(value)
    return fields


def packed(fields, number):
    values = []
    for item in fields.get(number, []):
        if isinstance(item, int):
            values.append(item)
            continue
        at = 0
        while at < len(item):
            value, at = varint(item, at)
            values.append(value)
    return values


def text(fields, number):
    return fields.get(number, [b""])[-1].decode("utf-8")


def number_of(fields, number, default=0):
    return fields.get(number, [default])[-1]


def upper_snake(name):
    return re.sub(r"(?<=[a-z0-9])(?=[A-Z])", "_", name).upper()


class File:
    """One .proto as protoc understood it."""

    def __init__(self, descriptor):
        self.path = text(descriptor, FILE_NAME)
        self.findings = []
        self.comments = {}
        self.lines = {}
        info = decode(descriptor.get(FILE_INFO, [b""])[-1])
        for item in info.get(INFO_LOCATION, []):
            location = decode(item)
            path = tuple(packed(location, LOCATION_PATH))
            self.comments[path] = text(location, LOCATION_LEADING)
            self.lines[path] = packed(location, LOCATION_SPAN)[0] + 1
        self.check(descriptor)

    def find(self, path, rule, what):
        if self.path.startswith(THEIRS) and rule in NAME_RULES:
            return
        line = self.lines.get(path, 0)
        self.findings.append(Finding(self.path, line, rule, what))

    def comment(self, path, what):
        if not re.search(r"[A-Za-z]{2}", self.comments.get(path, "")):
            self.find(path, "proto-comment", f"{what} has no comment")

    def check(self, descriptor):
        if not re.search(r"[A-Za-z]{2}", self.comments.get((FILE_SYNTAX,), "")):
            self.find((), "proto-comment", "the file has no comment on top")
        package = text(descriptor, FILE_PACKAGE).replace(".", "/")
        if pathlib.PurePosixPath(self.path).parent.as_posix() != (
            f"proto/{package}"
        ):
            self.find((), "proto-package", f"package {package} is elsewhere")
        for kind, visit in (
            (FILE_MESSAGE, self.message),
            (FILE_ENUM, self.enum),
            (FILE_SERVICE, self.service),
            (FILE_EXTENSION, self.field),
        ):
            for index, item in enumerate(descriptor.get(kind, [])):
                visit(decode(item), (kind, index), "")

    def message(self, message, path, outer):
        options = decode(message.get(MESSAGE_OPTIONS, [b""])[-1])
        if number_of(options, OPTION_MAP_ENTRY):
            return
        name = outer + text(message, NAME)
        self.comment(path, f"message {name}")
        fields = [decode(item) for item in message.get(MESSAGE_FIELD, [])]
        for index, field in enumerate(fields):
            self.field(field, path + (MESSAGE_FIELD, index), name + ".")
        self.places(fields, path, name)
        # An optional field has a oneof that nobody wrote.
        unwritten = {
            number_of(field, FIELD_ONEOF)
            for field in fields
            if number_of(field, FIELD_OPTIONAL)
        }
        for index, item in enumerate(message.get(MESSAGE_ONEOF, [])):
            if index not in unwritten:
                oneof = f"{name}.{text(decode(item), NAME)}"
                self.comment(path + (MESSAGE_ONEOF, index), f"oneof {oneof}")
        for kind, visit in (
            (MESSAGE_NESTED, self.message),
            (MESSAGE_ENUM, self.enum),
        ):
            for index, item in enumerate(message.get(kind, [])):
                visit(decode(item), path + (kind, index), name + ".")

    def field(self, field, path, outer):
        name = outer + text(field, NAME)
        self.comment(path, f"field {name}")
        if path[0] == FILE_EXTENSION:
            return
        options = decode(field.get(FIELD_OPTIONS, [b""])[-1])
        is_config = pathlib.PurePosixPath(self.path).name in CONFIG_FILES
        if is_config and CONFIG_OPTION not in options:
            self.find(path, "proto-change", f"{name}: when may it change?")
        if not is_config and CONFIG_OPTION in options:
            self.find(path, "proto-change", f"{name} is no configuration")

    def places(self, fields, path, name):
        numbers = {
            text(field, NAME): number_of(field, FIELD_NUMBER)
            for field in fields
        }
        if "fence" not in numbers:
            return
        owners = {number: field for field, number in PLACES.items()}
        for index, (field, number) in enumerate(numbers.items()):
            if PLACES.get(field, number) != number or (
                owners.get(number, field) != field
            ):
                self.find(
                    path + (MESSAGE_FIELD, index),
                    "proto-place",
                    f"{name}.{field} = {number}",
                )

    def enum(self, enum, path, outer):
        name = text(enum, NAME)
        self.comment(path, f"enum {outer}{name}")
        prefix = upper_snake(name) + "_"
        values = [decode(item) for item in enum.get(ENUM_VALUE, [])]
        for index, value in enumerate(values):
            at = path + (ENUM_VALUE, index)
            value_name = text(value, NAME)
            self.comment(at, f"value {value_name}")
            if not value_name.startswith(prefix):
                self.find(at, "proto-prefix", f"{value_name} lacks {prefix}")
        first = values[0]
        if (text(first, NAME), number_of(first, VALUE_NUMBER)) != (
            prefix + "UNSPECIFIED",
            0,
        ):
            self.find(path, "proto-unspecified", f"no {prefix}UNSPECIFIED = 0")

    def service(self, service, path, outer):
        del outer
        name = text(service, NAME)
        self.comment(path, f"service {name}")
        for index, item in enumerate(service.get(SERVICE_METHOD, [])):
            at = path + (SERVICE_METHOD, index)
            method = decode(item)
            rpc = text(method, NAME)
            self.comment(at, f"rpc {name}.{rpc}")
            for number, suffix in (
                (METHOD_INPUT, "Request"),
                (METHOD_OUTPUT, "Response"),
            ):
                used = text(method, number).rsplit(".", 1)[-1]
                if used != rpc + suffix:
                    self.find(at, "proto-name", f"{used} is not {rpc}{suffix}")


def check(root):
    protos = source_tree.files(root, (".proto",), ("proto",))
    if not protos:
        return [Finding("proto", 0, "proto-none", "there is no .proto")]
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch, "set")
        done = subprocess.run(
            ["protoc", "-I.", "--include_source_info"]
            + [f"--descriptor_set_out={out}"]
            + protos,
            cwd=root,
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )
        if done.returncode != 0:
            said = done.stderr.strip()
            return [Finding("proto", 0, "proto-compile", said)]
        described = decode(out.read_bytes())
    findings = []
    for item in described.get(SET_FILE, []):
        findings.extend(File(decode(item)).findings)
    return findings


GOOD = """// A file.
syntax = "proto3";
package a.v1;
// A service.
service S {
  // An rpc.
  rpc Do(DoRequest) returns (stream DoResponse);
}
// A request.
message DoRequest {
  // Who.
  Fence fence = 1;
  // Which.
  string connector = 2;
  // What.
  optional uint64 step = 5;
  // Where.
  map<string, string> labels = 6;
}
// Who.
message Fence {}
// A reply.
message DoResponse {
  // Nested.
  message Inner {}
  // One of them.
  oneof outcome {
    // This.
    Inner inner = 1;
    // That.
    Color color = 2;
  }
}
// Colours.
enum Color {
  // None.
  COLOR_UNSPECIFIED = 0;
  // Red.
  COLOR_RED = 1;
}
"""


class ProtoCommentsTest(source_tree.LintTestCase):
    def found(self, old="", new="", path="proto/a/v1/a.proto"):
        assert old in GOOD
        self.write(path, GOOD.replace(old, new, 1) if old else GOOD)
        return self.rules(check)

    def test_a_good_file_is_clean(self):
        self.assertEqual([], self.found())

    def test_each_kind_of_comment_is_missed(self):
        for comment in re.findall(r" *// .*\n", GOOD):
            with self.subTest(comment=comment):
                self.assertEqual(["proto-comment"], self.found(comment))

    def test_an_empty_comment_is_none(self):
        self.assertEqual(["proto-comment"], self.found("// Red.", "// -"))

    def test_a_comment_behind_is_none(self):
        found = self.found(
            "  // Red.\n  COLOR_RED = 1;", "  COLOR_RED = 1;  // Red."
        )
        self.assertEqual(["proto-comment"], found)

    def test_an_enum_begins_with_unspecified(self):
        found = self.found("COLOR_UNSPECIFIED", "COLOR_NONE")
        self.assertEqual(["proto-unspecified"], found)

    def test_a_value_bears_its_enums_name(self):
        self.assertEqual(["proto-prefix"], self.found("COLOR_RED", "RED"))

    def test_a_request_is_named_after_its_rpc(self):
        found = self.found("rpc Do(DoRequest)", "rpc Do(Fence)")
        self.assertEqual(["proto-name"], found)

    def test_a_fence_stands_first(self):
        found = self.found("Fence fence = 1", "Fence fence = 9")
        self.assertEqual(["proto-place"], found)

    def test_the_place_of_a_request_id_is_kept_free(self):
        found = self.found("uint64 step = 5", "uint64 step = 3")
        self.assertEqual(["proto-place"], found)

    def test_a_package_lies_in_its_directory(self):
        found = self.found(path="proto/b/v1/a.proto")
        self.assertEqual(["proto-package"], found)

    def test_configuration_says_when_it_may_change(self):
        found = self.found(path="proto/a/v1/spec.proto")
        self.assertEqual(["proto-change"] * 6, found)

    def test_only_configuration_says_so(self):
        self.write(
            "proto/a/v1/options.proto",
            """// Options.
            syntax = "proto3";
            package a.v1;
            import "google/protobuf/descriptor.proto";
            // Options of fields.
            extend google.protobuf.FieldOptions {
              // The option.
              string config = 50701;
            }
            """,
        )
        marked = """// A file.
            syntax = "proto3";
            package a.v1;
            import "proto/a/v1/options.proto";
            // A message.
            message M {
              // A field.
              string f = 1 [(config) = "x"];
            }
            """
        self.write("proto/a/v1/spec.proto", marked)
        self.assertEqual([], self.rules(check))
        self.write("proto/a/v1/other.proto", marked.replace("M {", "N {"))
        self.assertEqual(["proto-change"], self.rules(check))

    def test_a_file_that_does_not_compile_is_found(self):
        found = self.found("string connector", "strng connector")
        self.assertEqual(["proto-compile"], found)

    def test_no_file_is_found(self):
        self.assertEqual(["proto-none"], self.rules(check))


def skip(root):
    del root
    return None if shutil.which("protoc") else "there is no protoc"


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
