#!/usr/bin/env python3
"""INVARIANTS.md is whole: each INV-n that is cited stands in it, and each one
names places that keep it and tests that prove it, all of which exist.

A section is "## INV-n: title" with "* Kept by:" and "* Proved by:", in which
back-ticked `file` or `file:name` count; a name is a word of that file.
"""

import re

import source_tree
from source_tree import Finding

PAGE = "INVARIANTS.md"
HEADING = re.compile(r"^## (INV-(\d+)): \S")
BULLET = re.compile(r"^\* (Kept|Proved) by:")
REFERENCE = re.compile(r"`([\w./-]+/[\w.-]+\.\w+)(?::(\w+))?`")
SUFFIXES = (".h", ".cc", ".proto", ".py", ".sh", ".md", ".yaml", ".txt")
# "INV-1", "INV-1, 2 and 8", "INV-1..INV-9".
RANGE = re.compile(r"\bINV-(\d+)\s*\.\.\s*INV-(\d+)")
LIST = re.compile(r"\bINV-(\d+(?:(?:, | and |, and )\d+)*)\b(?!\w)")
# Its own cases invent numbers.
EXEMPT = ("tests/lint/invariants.py",)


def cited(line):
    """The numbers that a line cites."""
    numbers = set()
    for first, last in RANGE.findall(line):
        numbers.update(range(int(first), int(last) + 1))
    for found in LIST.findall(line):
        numbers.update(int(n) for n in re.findall(r"\d+", found))
    return numbers


def sections(text):
    """{number: (line, {"Kept": [(line, file, name)], "Proved": ...})}"""
    found = {}
    current = part = None
    for number, line in enumerate(text.split("\n"), 1):
        heading = HEADING.match(line)
        bullet = BULLET.match(line)
        if heading:
            current = found.setdefault(
                int(heading.group(2)), (number, {"Kept": [], "Proved": []})
            )
            part = None
        elif bullet:
            part = bullet.group(1)
        elif not line.startswith("  "):
            part = None
        if current is not None and part is not None:
            for path, name in REFERENCE.findall(line):
                current[1][part].append((number, path, name))
    return found


def check_reference(root, number, path, name):
    if not (root / path).is_file():
        yield Finding(PAGE, number, "inv-file", f"no file {path}")
    elif name and not re.search(
        rf"\b{re.escape(name)}\b", source_tree.read(root, path)
    ):
        yield Finding(PAGE, number, "inv-name", f"{path} has no {name}")


def check_section(root, number, line, parts):
    for part, references in parts.items():
        if not references:
            yield Finding(
                PAGE, line, "inv-part", f"INV-{number}: {part} by what?"
            )
        for where, path, name in references:
            yield from check_reference(root, where, path, name)
    if parts["Proved"] and not any(
        path.startswith("tests/") and (root / path).is_file()
        for _, path, _ in parts["Proved"]
    ):
        yield Finding(PAGE, line, "inv-test", f"INV-{number} has no test")


def check(root):
    text = source_tree.read(root, PAGE)
    known = sections(text)
    findings = []
    if sorted(known) != list(range(1, len(known) + 1)) or not known:
        findings.append(
            Finding(PAGE, 0, "inv-order", "sections are INV-1, INV-2, ...")
        )
    for number, (line, parts) in known.items():
        findings.extend(check_section(root, number, line, parts))
    for path in source_tree.files(root, SUFFIXES):
        if path in EXEMPT:
            continue
        for number, line in enumerate(
            source_tree.read(root, path).split("\n"), 1
        ):
            if "INV-" not in line:
                continue
            for unknown in sorted(cited(line) - set(known)):
                findings.append(
                    Finding(
                        path, number, "inv-unknown", f"no INV-{unknown} in {PAGE}"
                    )
                )
    return findings


class InvariantsTest(source_tree.LintTestCase):
    GOOD = (
        "# Invariants\n\n## INV-1: One\n\nText.\n\n"
        "* Kept by: `core/a.h`,\n  `core/a.h:Keep`.\n"
        "* Proved by: `tests/a_test.cc:Holds`.\n"
    )

    def setUp(self):
        super().setUp()
        self.write("core/a.h", "void Keep();\n")
        self.write("tests/a_test.cc", "TEST(A, Holds) {}\n")

    def page(self, text):
        self.write(PAGE, text)

    def test_a_good_page_is_clean(self):
        self.page(self.GOOD)
        self.assertEqual([], self.rules(check))

    def test_an_unknown_number_is_found_in_every_form(self):
        self.page(self.GOOD)
        for text in (
            "// INV-2\n",
            "// INV-1, 2\n",
            "// INV-1 and 2\n",
            "// INV-1..INV-2\n",
            "// (INV-2)\n",
        ):
            self.write("core/b.h", text)
            self.assertEqual(["inv-unknown"], self.rules(check), text)

    def test_a_known_number_is_clean_in_every_form(self):
        self.page(self.GOOD)
        self.write("core/b.h", "// INV-1 (order), INV-1..INV-1; INV-1.\n")
        self.assertEqual([], self.rules(check))

    def test_a_missing_file_is_found(self):
        self.page(self.GOOD.replace("core/a.h`", "core/b.h`"))
        self.assertEqual(["inv-file"], self.rules(check))

    def test_a_missing_name_is_found(self):
        self.page(self.GOOD.replace("Holds", "Hold"))
        self.assertEqual(["inv-name"], self.rules(check))

    def test_no_test_is_found(self):
        self.page(self.GOOD.replace("tests/a_test.cc:Holds", "core/a.h"))
        self.assertEqual(["inv-test"], self.rules(check))

    def test_nothing_named_is_found(self):
        self.page("## INV-1: One\n\nText with `core/a.h`.\n")
        self.assertEqual(["inv-part"] * 2, self.rules(check))

    def test_a_gap_is_found(self):
        self.page(self.GOOD + self.GOOD.replace("INV-1", "INV-3"))
        self.assertEqual(["inv-order"], self.rules(check))

    def test_an_empty_page_is_found(self):
        self.page("# Invariants\n")
        self.assertEqual(["inv-order"], self.rules(check))


def skip(root):
    return None if (root / PAGE).exists() else f"{PAGE} is not written yet"


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
