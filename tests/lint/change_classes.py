#!/usr/bin/env python3
"""Each field of a specification stands in the table of classes of change.

The table is that of the ADR named below: its first column has the paths of
fields (`limits.step_bytes`; a * stands for anything), its second one their
class. Every field of spec.proto is named by some row, bears the class of every
row that names it, and every path there names a field. That each field has a
class at all is for proto_comments.
"""

import fnmatch
import re

import source_tree
from source_tree import Finding

PROTO = "proto/penstock/v1/spec.proto"
ADR = "deploy/adr/2026-11-30-classes-of-change.md"
ROOT_MESSAGE = "ConnectorSpec"
CLASSES = {
    "reset": "NEEDS_RESET",
    "clean": "NEEDS_CLEAN_CHECKPOINT",
    "safe": "REPLAY_SAFE",
}
MESSAGE = re.compile(
    r"^message (\w+) \{(?:\}|$(.*?)^\})", re.MULTILINE | re.DOTALL
)
FIELD = re.compile(
    r"(?:optional\s+|repeated\s+)?(map<[\w., ]+>|[\w.]+)\s+(\w+)\s*=\s*\d+\s*\[(.*?)\]\s*;",
    re.DOTALL,
)
CHANGE = re.compile(r"CHANGE_CLASS_(\w+)")
ROW = re.compile(r"^\| (`[^|]*) \| (\w+) \|", re.MULTILINE)


def messages(text):
    """{message: [(type, field, class)]}"""
    text = re.sub(r"//.*", "", text)
    found = {}
    for match in MESSAGE.finditer(text):
        fields = []
        for kind, name, options in FIELD.findall(match.group(2) or ""):
            change = CHANGE.search(options)
            if change:
                fields.append((kind, name, change.group(1)))
        found[match.group(1)] = fields
    return found


def paths(found, message=ROOT_MESSAGE, prefix="", above=()):
    """(path, class) of each field, those of parts behind those they are in."""
    for kind, name, change in found.get(message, []):
        yield prefix + name, change
        if kind in found and kind not in above:
            yield from paths(found, kind, f"{prefix}{name}.", (*above, message))


def rows(text):
    """(line, pattern, class) of each path in the table."""
    for match in ROW.finditer(text):
        line = text.count("\n", 0, match.start()) + 1
        for pattern in re.findall(r"`([^`]+)`", match.group(1)):
            yield line, pattern, CLASSES.get(match.group(2), match.group(2))


def check(root):
    fields = list(paths(messages(source_tree.read(root, PROTO))))
    table = list(rows(source_tree.read(root, ADR)))
    for path, change in fields:
        named = [row for row in table if fnmatch.fnmatchcase(path, row[1])]
        if not named:
            yield Finding(ADR, 0, "change-class", f"no row names `{path}`")
        for line, _, said in named:
            if said != change:
                text = f"`{path}` is {change}, the table says {said}"
                yield Finding(ADR, line, "change-class", text)
    for line, pattern, _ in table:
        if not any(fnmatch.fnmatchcase(path, pattern) for path, _ in fields):
            text = f"`{pattern}` names no field of {PROTO}"
            yield Finding(ADR, line, "change-class", text)


SPEC = """
message ConnectorSpec {
  // Of it. message Wrong {
  optional string name = 1 [
    (config).change = CHANGE_CLASS_NEEDS_RESET,
    (config).required = true
  ];
  Limits limits = 2 [(config).change = CHANGE_CLASS_REPLAY_SAFE];
}
message Empty {}
message Limits {
  optional uint64 step_bytes = 1 [(config).change = CHANGE_CLASS_REPLAY_SAFE];
}
"""


class ChangeClassesTest(source_tree.LintTestCase):
    def told(self, *table):
        self.write(PROTO, SPEC)
        self.write(ADR, "\n".join(table))
        return [finding.text for finding in check(self.root)]

    def test_a_whole_table_is_fine(self):
        told = self.told(
            "| `name` | reset | why |", "| `limits`, `limits.*` | safe | why |"
        )
        self.assertEqual([], told)

    def test_a_field_without_row_is_told(self):
        told = self.told(
            "| `name` | reset | why |", "| `limits` | safe | why |"
        )
        self.assertEqual(["no row names `limits.step_bytes`"], told)

    def test_another_class_is_told(self):
        told = self.told(
            "| `name` | clean | why |", "| `limits*` | safe | why |"
        )
        self.assertEqual(
            ["`name` is NEEDS_RESET, the table says NEEDS_CLEAN_CHECKPOINT"],
            told,
        )

    def test_a_row_without_field_is_told(self):
        told = self.told(
            "| `name`, `gone` | reset | why |", "| `limits*` | safe | why |"
        )
        self.assertEqual([f"`gone` names no field of {PROTO}"], told)


if __name__ == "__main__":
    source_tree.run(check, __doc__)
