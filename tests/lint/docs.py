#!/usr/bin/env python3
"""What the pages say of the tree is so: links lead somewhere, paths in the map
exist, every directory is on it, each README that a source refers to is there,
commands that are printed can be run and, where people read them, say whether a
test runs them (tests/docs/pages.py), and the table of exit codes is that of the
programs.
"""

import os
import re

import source_tree
from source_tree import Finding

MAP = "ARCHITECTURE.md"
README = "README.md"
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s#]+)(?:#[\w-]*)?\)")
PATH = re.compile(r"`([a-z][\w.-]*(?:/[\w.-]+)+)`")
SEE = re.compile(r"\b[Ss]ee ((?:[\w-]+/)+README\.md)")
BLOCK = re.compile(r"^```sh\n(.*?)^```", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(
    r"^(?:\./)?([\w.-]+(?:/[\w.-]+)*\.(?:sh|py))\b", re.MULTILINE
)
# Commands without a comment right above them.
UNMARKED = re.compile(
    r"^(?!<!-- (?:run|not run: )).*\n```sh$", re.MULTILINE
)
EXCERPT = re.compile(
    r"^<!-- from: (\S+) -->\n```\w+\n(.*?)^```$", re.MULTILINE | re.DOTALL
)
MARKED = ("README.md", "deploy/")
ROW = re.compile(r"^\| (\d+) \|([^|]*)\|([^|]*)\|$", re.MULTILINE)
# Whose directories the map shows. Tests that mirror a directory need no line.
MAPPED = ("core", "proto", "server", "client", "deploy", "tests")
MIRRORED = ("tests/core/", "tests/proto/", "tests/server/", "tests/client")
# Exit codes: where they are declared, and their column of the table.
CODES = (("client/cli/exit_code.h", 2), ("server/options.h", 3))


def check_links(root):
    for path in source_tree.files(root, (".md",)):
        above = (root / path).parent
        for number, line in enumerate(
            source_tree.read(root, path).split("\n"), 1
        ):
            for link in LINK.findall(line):
                if "://" not in link and not (above / link).exists():
                    yield Finding(path, number, "docs-link", f"no {link}")


def check_map(root):
    text = source_tree.read(root, MAP)
    for number, line in enumerate(text.split("\n"), 1):
        for path in PATH.findall(line):
            if not (root / path).exists():
                yield Finding(MAP, number, "docs-map", f"no {path}")
    shown = set(re.findall(r"^\| `([\w./-]+)` \|", text, re.MULTILINE))
    holding = {
        path.rpartition("/")[0]
        for path in source_tree.files(
            root,
            (".h", ".cc", ".proto", ".py", ".sh", ".yaml"),
            MAPPED,
        )
    } - set(MAPPED)
    for directory in sorted(holding - shown):
        if not directory.startswith(MIRRORED):
            yield Finding(MAP, 0, "docs-directory", f"no line for {directory}")
    for directory in sorted(shown):
        if not (root / directory).is_dir():
            yield Finding(MAP, 0, "docs-directory", f"no {directory}")


def check_see(root):
    for path in source_tree.files(
        root, (".h", ".cc", ".proto"), source_tree.CODE_DIRS
    ):
        for number, line in enumerate(
            source_tree.read(root, path).split("\n"), 1
        ):
            for page in SEE.findall(line):
                if not (root / page).exists():
                    yield Finding(path, number, "docs-see", f"no {page}")


def check_commands(root):
    """Scripts that a page starts by their path, from the top or from beside."""
    for path in source_tree.files(root, (".md",)):
        for block in BLOCK.findall(source_tree.read(root, path)):
            for command in COMMAND.findall(block):
                if not any(
                    os.access(base / command, os.X_OK)
                    for base in (root, (root / path).parent)
                ):
                    yield Finding(
                        path, 0, "docs-command", f"cannot run {command}"
                    )


def check_marks(root):
    """Blocks of commands on pages for users say what becomes of them."""
    for path in source_tree.files(root, (".md",)):
        if not path.startswith(MARKED):
            continue
        text = source_tree.read(root, path)
        for match in UNMARKED.finditer(text):
            yield Finding(
                path,
                text.count("\n", 0, match.start()) + 2,
                "docs-mark",
                "say above it: <!-- run --> or <!-- not run: why -->",
            )


def check_excerpts(root):
    """Code on a page that says where it is from is there, line by line."""
    for path in source_tree.files(root, (".md",)):
        for source, excerpt in EXCERPT.findall(source_tree.read(root, path)):
            there = (root / source).exists() and source_tree.read(root, source)
            if not there or excerpt not in there:
                yield Finding(
                    path, 0, "docs-excerpt", f"not so in {source}: {excerpt}"
                )


def check_codes(root):
    rows = ROW.findall(source_tree.read(root, README))
    for path, column in CODES:
        declared = {
            int(code)
            for code in re.findall(
                r"^  k\w+ = (\d+),", source_tree.read(root, path), re.MULTILINE
            )
        }
        said = {int(row[0]) for row in rows if row[column - 1].strip()}
        for code in sorted(declared ^ said):
            yield Finding(README, 0, "docs-code", f"exit code {code} of {path}")


def check(root):
    return [
        *check_links(root),
        *check_map(root),
        *check_see(root),
        *check_commands(root),
        *check_marks(root),
        *check_excerpts(root),
        *check_codes(root),
    ]


class DocsTest(source_tree.LintTestCase):
    def setUp(self):
        super().setUp()
        self.write(MAP, "| `core/base` | x |\n\n`core/base/a.h`\n")
        self.write(README, "[map](ARCHITECTURE.md)\n\n| 0 | done | ended |\n")
        self.write("core/base/a.h", "// See core/base/README.md.\n")
        self.write("core/base/README.md", "[up](../../README.md#a)\n")
        self.write("tests/core/base/a_test.cc", "")
        for path, _ in CODES:
            self.write(path, "  kOk = 0,\n")
        self.write(MAP, source_tree.read(self.root, MAP)
                   + "| `client/cli` | x |\n| `server` | x |\n")

    def test_a_good_tree_is_clean(self):
        self.assertEqual([], self.rules(check))

    def test_a_dead_link_is_found(self):
        self.write("core/base/README.md", "[up](../README.md)\n")
        self.assertEqual(["docs-link"], self.rules(check))

    def test_an_outside_link_is_not_followed(self):
        self.write("core/base/README.md", "[up](https://example.org/x)\n")
        self.assertEqual([], self.rules(check))

    def test_a_wrong_path_on_the_map_is_found(self):
        self.write("core/base/a.h", "")
        self.write(
            MAP, source_tree.read(self.root, MAP).replace("a.h", "b.h")
        )
        self.assertEqual(["docs-map"], self.rules(check))

    def test_a_directory_without_a_line_is_found(self):
        self.write("core/queue/a.h", "")
        self.assertEqual(["docs-directory"], self.rules(check))

    def test_a_line_without_a_directory_is_found(self):
        self.write(MAP, source_tree.read(self.root, MAP) + "| `core/x` | x |\n")
        self.assertEqual(
            ["docs-directory", "docs-map"], sorted(self.rules(check))
        )

    def test_a_page_that_is_not_there_is_found(self):
        self.write("core/base/a.h", "// see core/queue/README.md\n")
        self.assertEqual(["docs-see"], self.rules(check))

    def test_a_command_that_cannot_be_run_is_found(self):
        self.write("tests/a.py", "")
        self.write("tests/README.md", "```sh\nls\ntests/a.py --all\n```\n")
        self.assertEqual(["docs-command"], self.rules(check))
        (self.root / "tests/a.py").chmod(0o755)
        self.assertEqual([], self.rules(check))

    def test_commands_that_say_nothing_of_a_test_are_found(self):
        self.write("deploy/a.md", "Do:\n\n```sh\nls\n```\n")
        self.assertEqual(["docs-mark"], self.rules(check))
        self.write("deploy/a.md", "<!-- run -->\n```sh\nls\n```\n")
        self.assertEqual([], self.rules(check))
        self.write("deploy/a.md", "<!-- not run: x -->\n```sh\nls\n```\n")
        self.assertEqual([], self.rules(check))

    def test_code_that_is_not_where_it_is_said_to_be_is_found(self):
        self.write("core/base/a.h", "int a;\nint b;\n")
        page = "<!-- from: core/base/a.h -->\n```cpp\nint b;\n```\n"
        self.write("core/base/README.md", page)
        self.assertEqual([], self.rules(check))
        self.write("core/base/README.md", page.replace("int b", "int c"))
        self.assertEqual(["docs-excerpt"], self.rules(check))

    def test_a_code_that_is_not_told_is_found(self):
        self.write(CODES[0][0], "  kOk = 0,\n  kFailed = 1,\n")
        self.assertEqual(["docs-code"], self.rules(check))

    def test_a_code_that_does_not_exist_is_found(self):
        self.write(
            README,
            source_tree.read(self.root, README) + "| 1 | failed | |\n",
        )
        self.assertEqual(["docs-code"], self.rules(check))


def skip(root):
    return None if (root / MAP).exists() else f"no {MAP} yet"


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
