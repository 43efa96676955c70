#!/usr/bin/env python3
"""The maps of the seeds name symbols that exist, or give a reason.

Rows: | seed item | ours | note |, where ours is file:symbol, several of them
divided by commas, or none; then the note is the reason. Back-ticks are
ignored. file is named from the repository root or from the map's directory;
symbol may be qualified: Type::Method needs Type and Method in that file. A
symbol in a test's file is the name of a test.
"""

import pathlib
import re

import source_tree
from source_tree import Finding

# Types and methods; tests and defects.
MAP = "core/contract/SEED_MAP.md"
TEST_MAP = "tests/core/handoff/README.md"
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*\w+,\s*(\w+)\s*\)", re.MULTILINE)
REFERENCE = re.compile(r"^([\w./-]+\.(?:h|cc|proto|md|py|sh)):([\w:~<>=+ -]+)$")


def cells(line):
    """The cells of a table row; a back-slashed bar divides nothing."""
    parts = re.split(r"(?<!\\)\|", line.strip().strip("|"))
    return [part.replace("`", "").strip() for part in parts]


def check_reference(root, map_path, number, reference):
    match = REFERENCE.match(reference)
    if match is None:
        yield Finding(
            map_path, number, "seed-form", f"'{reference}' is not file:symbol"
        )
        return
    path, symbol = match.groups()
    beside = (pathlib.PurePosixPath(map_path).parent / path).as_posix()
    if (root / beside).is_file():
        path = beside
    if not (root / path).is_file():
        yield Finding(map_path, number, "seed-file", f"no file {path}")
        return
    text = source_tree.read(root, path)
    if path.endswith(source_tree.CPP_SUFFIXES):
        text = "\n".join(source_tree.code_lines(text))
    if path.endswith("_test.cc"):
        text = " ".join(TEST.findall(text))
    for part in symbol.split("::"):
        if not re.search(rf"(?<!\w){re.escape(part)}(?!\w)", text):
            yield Finding(
                map_path, number, "seed-symbol", f"{path} has no {symbol}"
            )
            return


def check(root):
    findings = []
    for map_path in (MAP, TEST_MAP):
        if (root / map_path).exists():
            findings += check_map(root, map_path)
    return findings


def check_map(root, map_path):
    findings = []
    rows = 0
    seen = {}
    text = source_tree.read(root, map_path)
    for number, line in enumerate(text.split("\n"), 1):
        if not line.lstrip().startswith("|"):
            continue
        row = cells(line)
        if all(re.fullmatch(r":?-+:?", cell) for cell in row):
            continue
        if row[0].lower() == "seed item":
            continue
        rows += 1
        if len(row) != 3:
            findings.append(
                Finding(map_path, number, "seed-form", "a row has three cells")
            )
            continue
        item, ours, note = row
        if not item:
            findings.append(Finding(map_path, number, "seed-form", "no item"))
        if item in seen:
            findings.append(
                Finding(
                    map_path,
                    number,
                    "seed-twice",
                    f"{item} stands in line {seen[item]} too",
                )
            )
        seen[item] = number
        if ours.lower() == "none":
            if len(note) < 3:
                findings.append(
                    Finding(map_path, number, "seed-reason", f"{item}: none, why?")
                )
            continue
        for reference in ours.split(","):
            findings.extend(check_reference(root, map_path, number, reference.strip()))
    if rows == 0:
        findings.append(Finding(map_path, 0, "seed-form", "the map has no rows"))
    return findings


class SeedMapTest(source_tree.LintTestCase):
    def map(self, *rows):
        self.write(
            MAP,
            "# Map\n\n| seed item | ours | note |\n|---|---|---|\n"
            + "".join(row + "\n" for row in rows),
        )
        self.write(
            "core/contract/command.h",
            "// Ghost is only spoken of.\nstruct Replay { int Size(); };\n",
        )

    def test_good_rows_are_clean(self):
        self.map(
            "| `A::Replay` | `core/contract/command.h:Replay` | |",
            "| B | core/contract/command.h:Replay::Size | as it is |",
            "| C | core/contract/command.h:Replay,"
            " core/contract/command.h:Size | |",
            "| D | none | Rust needs it, we do not |",
        )
        self.assertEqual([], self.rules(check))

    def test_missing_symbol_is_found(self):
        self.map("| A | core/contract/command.h:Extend | |")
        self.assertEqual(["seed-symbol"], self.rules(check))

    def test_part_of_a_word_is_no_symbol(self):
        self.map("| A | core/contract/command.h:Repl | |")
        self.assertEqual(["seed-symbol"], self.rules(check))

    def test_a_comment_is_no_symbol(self):
        self.map("| A | core/contract/command.h:Ghost | |")
        self.assertEqual(["seed-symbol"], self.rules(check))

    def test_missing_method_is_found(self):
        self.map("| A | core/contract/command.h:Replay::Count | |")
        self.assertEqual(["seed-symbol"], self.rules(check))

    def test_missing_file_is_found(self):
        self.map("| A | core/contract/nothing.h:Replay | |")
        self.assertEqual(["seed-file"], self.rules(check))

    def test_none_needs_a_reason(self):
        self.map("| A | none | |")
        self.assertEqual(["seed-reason"], self.rules(check))

    def test_bad_form_is_found(self):
        self.map("| A | Replay | |", "| B | none |")
        self.assertEqual(["seed-form"] * 2, self.rules(check))

    def test_an_item_stands_once(self):
        self.map("| A | none | a reason |", "| A | none | a reason |")
        self.assertEqual(["seed-twice"], self.rules(check))

    def make_test_map(self, *rows):
        self.write(
            TEST_MAP,
            "| seed item | ours | note |\n|---|---|---|\n"
            + "".join(row + "\n" for row in rows),
        )
        self.write(
            "tests/core/handoff/ack_test.cc",
            "TEST(AckTest, Resolves) { Other(); }\n"
            "TEST_F(AckTest,\n       BrokenLine) {}\n",
        )
        self.write("tests/core/b_test.cc", "TEST_P(BTest, Elsewhere) {}\n")

    def test_tests_that_exist_are_clean(self):
        self.make_test_map(
            "| a | ack_test.cc:Resolves, ack_test.cc:BrokenLine | |",
            "| b | tests/core/b_test.cc:Elsewhere | |",
        )
        self.assertEqual([], self.rules(check))

    def test_what_is_no_test_is_found(self):
        self.make_test_map(
            "| a | ack_test.cc:Other | |", "| b | ack_test.cc:Gone | |"
        )
        self.assertEqual(["seed-symbol"] * 2, self.rules(check))

    def test_empty_map_is_found(self):
        self.map()
        self.assertEqual(["seed-form"], self.rules(check))


def skip(root):
    return None if (root / MAP).exists() else f"{MAP} is not written yet"


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
