#!/usr/bin/env python3
"""deploy/docs/configuration.md is what the .proto files say: `--write` makes it
so. Needs protoc; skipped without it.
"""

import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

import proto_comments as protos
import source_tree
from source_tree import Finding

PAGE = "deploy/docs/configuration.md"
ROOT_MESSAGES = ("PipelineSpec", "ConnectorSpec")
FILES = ("proto/penstock/v1/pipeline.proto", "proto/penstock/v1/spec.proto",
         "proto/penstock/v1/common.proto")
HEAD = """\
# Configuration

Generated from the .proto files by `tests/lint/reference.py --write`; do not
edit.
`penstock describe TYPE` says the same of a type, also as JSON Schema.

A pipeline file is YAML (or JSON) whose keys are these fields. Values of enums
are written short (`exactly_once`), durations with a unit (`100ms`), sizes as
numbers or with a unit (`8MiB`). A field that does not exist is refused by name.
*Change* says when a later run may have another value: *at once*, at a *clean
checkpoint*, or *never*: see [the README](../../README.md#edit-it-later). What is
*fixed* has one value in this version.
"""
# Field numbers in google/protobuf/descriptor.proto.
FIELD_TYPE, FIELD_TYPE_NAME, FIELD_LABEL = 5, 6, 4
REPEATED, MESSAGE, ENUM = 3, 11, 14
SCALARS = {1: "number", 3: "integer", 4: "integer", 5: "integer", 8: "boolean",
           9: "text", 12: "bytes", 13: "integer"}
CHANGES = {1: "at once", 2: "clean checkpoint", 3: "never"}
# What a comment says of a limit that has one value as yet.
FIXED = "Fixed in this version"
CONFIG_CHANGE, CONFIG_REQUIRED, CONFIG_SECRET = 1, 2, 3


def descriptors(root):
    protoc = shutil.which("protoc")
    with tempfile.TemporaryDirectory() as scratch:
        out = pathlib.Path(scratch, "set.pb")
        subprocess.run(
            [protoc, f"-I{root}", "--include_source_info",
             f"--descriptor_set_out={out}", *FILES],
            check=True, cwd=root,
        )
        whole = protos.decode(out.read_bytes())
    return [protos.decode(data) for data in whole[protos.SET_FILE]]


def one_line(text):
    return re.sub(r"\s+", " ", text).strip()


class Schema:
    """Messages and enums of the files by their short names."""

    def __init__(self, root):
        self.messages = {}
        self.enums = {}
        for file in descriptors(root):
            info = protos.decode(file.get(protos.FILE_INFO, [b""])[-1])
            comments = {}
            for item in info.get(protos.INFO_LOCATION, []):
                location = protos.decode(item)
                path = tuple(protos.packed(location, protos.LOCATION_PATH))
                comments[path] = one_line(
                    protos.text(location, protos.LOCATION_LEADING)
                )
            for kind, found in ((protos.FILE_MESSAGE, self.messages),
                                (protos.FILE_ENUM, self.enums)):
                for index, data in enumerate(file.get(kind, [])):
                    item = protos.decode(data)
                    found[protos.text(item, protos.NAME)] = (
                        item, (kind, index), comments)


def cell(text):
    return text.replace("|", "\\|")


def default_in(comment):
    match = re.search(r"Default: (.*?)(?:[.;](?: |$)|$)", comment)
    return match.group(1) if match else ""


def type_of(field, schema, wanted):
    number = protos.number_of(field, FIELD_TYPE)
    *_, outer, name = ["", *protos.text(field, FIELD_TYPE_NAME).split(".")]
    if outer in schema.messages and name.endswith("Entry"):
        # protoc makes a message of each map, inside of the one that has it.
        return "mapping of text to text"
    if number == MESSAGE and name == "Duration":
        shown = "duration"
    elif number == MESSAGE and name not in schema.messages:
        # What protoc makes of a map: nested in the message that has it.
        return "map of text to text"
    elif number == MESSAGE:
        wanted.append(name)
        shown = f"[{name}](#{name.lower()})"
    elif number == ENUM:
        wanted.append(name)
        shown = f"[{name}](#{name.lower()})"
    else:
        shown = SCALARS[number]
    if protos.number_of(field, FIELD_LABEL) == REPEATED:
        return f"list of {shown}"
    return shown


def rows_of(name, schema, wanted):
    message, path, comments = schema.messages[name]
    for index, data in enumerate(message.get(protos.MESSAGE_FIELD, [])):
        field = protos.decode(data)
        options = protos.decode(field.get(protos.FIELD_OPTIONS, [b""])[-1])
        config = protos.decode(
            options.get(protos.CONFIG_OPTION, [b""])[-1]
        )
        comment = comments.get(path + (protos.MESSAGE_FIELD, index), "")
        required = (protos.number_of(config, CONFIG_REQUIRED)
                    or comment.endswith("Required."))
        yield (
            f"`{protos.text(field, protos.NAME)}`",
            type_of(field, schema, wanted)
            + (", secret" if protos.number_of(config, CONFIG_SECRET) else ""),
            "required" if required else default_in(comment),
            "fixed" if FIXED in comment else
            CHANGES.get(protos.number_of(config, CONFIG_CHANGE), ""),
            comment,
        )


def message_part(name, schema, wanted):
    _, path, comments = schema.messages[name]
    lines = [f"## {name}", "", comments.get(path, ""), ""]
    rows = list(rows_of(name, schema, wanted))
    if rows:
        lines += ["| field | type | default | change | what |",
                  "|---|---|---|---|---|"]
        lines += ["| " + " | ".join(map(cell, row)) + " |" for row in rows]
        lines.append("")
    return lines


def enum_part(name, schema):
    enum, path, comments = schema.enums[name]
    values = [protos.text(protos.decode(data), protos.NAME)
              for data in enum.get(protos.ENUM_VALUE, [])]
    prefix = values[0].removesuffix("UNSPECIFIED")
    lines = [f"## {name}", "", comments.get(path, ""), "",
             "| value | what |", "|---|---|"]
    for index, value in enumerate(values[1:], 1):
        said = comments.get(path + (protos.ENUM_VALUE, index), "")
        short = value.removeprefix(prefix).lower()
        lines.append(f"| `{short}` | {cell(said)} |")
    return [*lines, ""]


def page(root):
    schema = Schema(root)
    lines = [HEAD]
    wanted = list(ROOT_MESSAGES)
    done = []
    while wanted:
        name = wanted.pop(0)
        if name in done:
            continue
        done.append(name)
        if name in schema.messages:
            inner = []
            lines += message_part(name, schema, inner)
            # What is in it comes right behind it.
            wanted = inner + wanted
        else:
            lines += enum_part(name, schema)
    return "\n".join(lines).rstrip() + "\n"


def check(root):
    there = root / PAGE
    if not there.exists() or there.read_text(encoding="utf-8") != page(root):
        return [Finding(PAGE, 0, "reference",
                        "not current: tests/lint/reference.py --write")]
    return []


PIPELINE = """
syntax = "proto3";
package penstock.v1;
import "proto/penstock/v1/spec.proto";
// The file.
message PipelineSpec {
  // Its name. Required.
  string name = 1;
  // What is in it.
  repeated ConnectorSpec connectors = 2;
}
"""
SPEC = """
syntax = "proto3";
package penstock.v1;
import "proto/penstock/v1/common.proto";
// A connector.
message ConnectorSpec {
  // How many. From 1. Default: 8. More words.
  optional uint32 shards = 1;
  // How sure. Default: SURE.
  optional Level level = 2;
  // More.
  map<string, string> options = 3;
}
"""
COMMON = """
syntax = "proto3";
package penstock.v1;
// How sure.
enum Level {
  // None.
  LEVEL_UNSPECIFIED = 0;
  // Quite | much.
  LEVEL_SURE = 1;
}
"""


class ReferenceTest(source_tree.LintTestCase):
    def setUp(self):
        super().setUp()
        for path, text in zip(FILES, (PIPELINE, SPEC, COMMON)):
            self.write(path, text)

    def test_each_field_has_a_row(self):
        text = page(self.root)
        self.assertIn("| `name` | text | required |  | Its name. Required. |",
                      text)
        self.assertIn("| `shards` | integer | 8 |", text)
        self.assertIn("| `connectors` | list of "
                      "[ConnectorSpec](#connectorspec) |", text)
        self.assertIn("| `options` | mapping of text to text |  |  | More. |",
                      text)
        self.assertIn("| `sure` | Quite \\| much. |", text)

    def test_another_page_is_told(self):
        self.assertEqual(["reference"], self.rules(check))
        self.write(PAGE, page(self.root))
        self.assertEqual([], self.rules(check))
        self.write(FILES[1], SPEC.replace("How many", "How much"))
        self.assertEqual(["reference"], self.rules(check))


def skip(root):
    del root
    return None if shutil.which("protoc") else "there is no protoc"


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        tree = pathlib.Path(__file__).resolve().parents[2]
        (tree / PAGE).write_text(page(tree), encoding="utf-8")
        sys.exit()
    source_tree.run(check, __doc__, skip)
