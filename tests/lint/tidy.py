#!/usr/bin/env python3
"""Lengths, forms and words that a person should not have to look for."""

import re

import source_tree
from source_tree import Finding

WIDTH_MAX = 80
LINES_MAX = {".h": 300, ".cc": 600}
MAIN_LINES_MAX = 150

TOP_LEVEL = {
    "ARCHITECTURE.md",
    "CMakeLists.txt",
    "CMakePresets.json",
    "Dockerfile",
    "INVARIANTS.md",
    "LICENSE",
    "README.md",
    "build",
    "client",
    "core",
    "deploy",
    "proto",
    "run.sh",
    "server",
    "test.sh",
    "tests",
}

TODO_ANY = re.compile(r"\b(TODO|FIXME|XXX)\b")
TODO_GOOD = re.compile(r"\bTODO\(#\d+\): \S")
NOLINT_ANY = re.compile(r"\bNOLINT(NEXTLINE|BEGIN|END)?\b")
NOLINT_GOOD = re.compile(
    r"\bNOLINT(?:NEXTLINE|BEGIN)?\([a-z][a-z0-9.*,\- ]*\): \S"
    r"|\bNOLINTEND\([a-z][a-z0-9.*,\- ]*\)"
)
# Places that exist on one machine only. Split, so as not to find itself.
MACHINE_PATH = re.compile(
    r"(?<![\w./])(?:/" + r"home/\w|/" + r"root/|/" + r"work/|/"
    r"Users/\w|/tmp/" + r"plan)"
)
TEXT_SUFFIXES = (
    ".cc",
    ".cmake",
    ".h",
    ".json",
    ".md",
    ".proto",
    ".py",
    ".sh",
    ".txt",
    ".yaml",
    ".yml",
    "Dockerfile",
)
# Types whose Abseil and std forms do not convert into each other here.
WRONG_TYPE = re.compile(r"\babsl::(optional|variant|nullopt|get_if|visit)\b")
WRONG_HEADER_TYPE = re.compile(r"\bstd::string_view\b")


def check_text(path, raw):
    for number, line in enumerate(raw, 1):
        if MACHINE_PATH.search(line):
            yield Finding(
                path, number, "machine-path", "a path of one machine only"
            )


def check_forms(path, raw):
    for number, line in enumerate(raw, 1):
        if TODO_ANY.search(line) and not TODO_GOOD.search(line):
            yield Finding(path, number, "todo", "write TODO(#123): what")
        if NOLINT_ANY.search(line) and not NOLINT_GOOD.search(line):
            yield Finding(
                path, number, "nolint", "write NOLINT(check-name): why"
            )


def check_cpp(path, text, raw):
    suffix = path[path.rindex(".") :]
    lines = len(raw) - 1 if raw[-1] == "" else len(raw)
    limit = LINES_MAX[suffix]
    if path.rsplit("/", 1)[-1] == "main.cc":
        limit = MAIN_LINES_MAX
    if lines > limit:
        yield Finding(path, 0, "length", f"{lines} lines, {limit} fit: split")
    for number, line in enumerate(raw, 1):
        if len(line) > WIDTH_MAX and "://" not in line:
            yield Finding(
                path, number, "width", f"{len(line)} columns, {WIDTH_MAX} fit"
            )
    code = source_tree.code_lines(text)
    if suffix == ".h":
        if not raw[0].startswith("//"):
            yield Finding(path, 1, "file-comment", "say what this is for")
        if not any(line.strip() == "#pragma once" for line in code):
            yield Finding(path, 1, "pragma-once", "guard with #pragma once")
    for number, line in enumerate(code, 1):
        wrong = WRONG_TYPE.search(line)
        if suffix == ".h":
            wrong = wrong or WRONG_HEADER_TYPE.search(line)
        if wrong and not source_tree.allowed_here(raw, number, "type"):
            yield Finding(
                path,
                number,
                "type",
                f"{wrong.group(0)}: views are absl::string_view, the rest std",
            )


def check_own_header_first(root, path, text):
    own = path[: -len(".cc")] + ".h"
    found = source_tree.includes(text)
    if found and (root / own).exists() and found[0][2] != own:
        yield Finding(path, found[0][0], "own-header", f"include {own} first")


def check(root):
    findings = []
    for entry in sorted(entry.name for entry in root.iterdir()):
        if not entry.startswith(".") and entry not in TOP_LEVEL:
            findings.append(
                Finding(entry, 0, "top-level", "no place of the plan")
            )
    for path in source_tree.files(root, TEXT_SUFFIXES):
        text = source_tree.read(root, path)
        raw = text.split("\n")
        findings.extend(check_text(path, raw))
        if not path.startswith(tuple(d + "/" for d in source_tree.CODE_DIRS)):
            continue
        if path.endswith(source_tree.CPP_SUFFIXES):
            findings.extend(check_forms(path, raw))
            findings.extend(check_cpp(path, text, raw))
        elif path.endswith(".proto"):
            findings.extend(check_forms(path, raw))
        if path.endswith(".cc"):
            findings.extend(check_own_header_first(root, path, text))
    return findings


class TidyTest(source_tree.LintTestCase):
    def source(self, text):
        self.write("core/base/a.cc", text)

    def header(self, text):
        self.write("core/base/a.h", text)

    def test_good_files_are_clean(self):
        self.header("// What.\n#pragma once\n" + "x" * 80 + "\n")
        self.source(
            '#include "core/base/a.h"\n'
            "// TODO(#12): more\n"
            "f();  // NOLINT(google-runtime-int): the API wants it\n"
            "// https://example.org/" + "x" * 80 + "\n"
        )
        self.assertEqual([], self.rules(check))

    def test_long_line_is_found(self):
        self.source("x" * 81 + "\n")
        self.assertEqual(["width"], self.rules(check))

    def test_width_counts_characters(self):
        self.source("// " + "é" * 77 + "\n")
        self.assertEqual([], self.rules(check))

    def test_long_source_is_found(self):
        self.source("x\n" * 601)
        self.assertEqual(["length"], self.rules(check))

    def test_long_header_is_found(self):
        self.header("// What.\n#pragma once\n" + "x\n" * 299)
        self.assertEqual(["length"], self.rules(check))

    def test_longest_files_are_clean(self):
        self.write("core/base/b.cc", "x\n" * 600)
        self.header("// What.\n#pragma once\n" + "x\n" * 298)
        self.assertEqual([], self.rules(check))

    def test_long_main_is_found(self):
        self.write("server/main.cc", "x\n" * 151)
        self.assertEqual(["length"], self.rules(check))

    def test_bad_todos_are_found(self):
        self.source("// TODO: a\n// TODO(me): b\n// FIXME\n// TODO(#1) c\n")
        self.assertEqual(["todo"] * 4, self.rules(check))

    def test_bad_nolints_are_found(self):
        self.source("// NOLINT\n// NOLINT(a-b)\n// NOLINTNEXTLINE: why\n")
        self.assertEqual(["nolint"] * 3, self.rules(check))

    def test_machine_paths_are_found(self):
        self.source("// see /" + "work/x\n")
        self.write("README.md", "cd /" + "home/me/penstock\n")
        self.assertEqual(["machine-path"] * 2, self.rules(check))

    def test_other_paths_are_clean(self):
        self.write("README.md", "a/" + "work/b and ./" + "home/x\n")
        self.assertEqual([], self.rules(check))

    def test_bare_header_is_found(self):
        self.header("int x;\n")
        self.assertEqual(["file-comment", "pragma-once"], self.rules(check))

    def test_wrong_types_are_found(self):
        self.header("// What.\n#pragma once\nvoid F(std::string_view);\n")
        self.source(
            '#include "core/base/a.h"\n'
            "std::string_view fine;\nabsl::optional<int> wrong;\n"
        )
        self.assertEqual(["type"] * 2, self.rules(check))

    def test_own_header_must_come_first(self):
        self.header("// What.\n#pragma once\n")
        self.source('#include <vector>\n#include "core/base/a.h"\n')
        self.assertEqual(["own-header"], self.rules(check))

    def test_strange_top_level_name_is_found(self):
        self.write("util/a.txt", "")
        self.assertEqual(["top-level"], self.rules(check))


if __name__ == "__main__":
    source_tree.run(check, __doc__)
