"""What the lints share: the files of the tree, and C++ without its comments.

A lint is a module with check(root) -> list of findings; run() makes a command
of it. Each holds its own unittest cases, which prove that it can fail.
"""

import argparse
import dataclasses
import os
import pathlib
import re
import sys
import tempfile
import unittest

CODE_DIRS = ("core", "proto", "server", "client", "deploy", "tests")
CPP_SUFFIXES = (".h", ".cc")
SKIPPED = 77  # ctest: SKIP_RETURN_CODE


@dataclasses.dataclass(frozen=True, order=True)
class Finding:
    path: str  # relative to the root, with forward slashes
    line: int  # from 1; 0 speaks of the whole file
    rule: str
    text: str

    def __str__(self):
        where = f"{self.path}:{self.line}" if self.line else self.path
        return f"{where}: [{self.rule}] {self.text}"


def files(root, suffixes, tops=None):
    """Relative paths below `tops` (or everything), sorted; no build output."""
    found = []
    for top in tops or (".",):
        for directory, names, entries in os.walk(root / top):
            names[:] = [
                n
                for n in names
                if n not in ("build", "__pycache__", ".git", ".cache")
            ]
            for entry in entries:
                if entry.endswith(tuple(suffixes)):
                    path = pathlib.Path(directory, entry)
                    found.append(path.relative_to(root).as_posix())
    return sorted(found)


def read(root, path):
    return (root / path).read_text(encoding="utf-8", errors="replace")


_TOKEN = re.compile(
    r"""
    (?P<comment>//(?:[^\n\\]|\\.|\\\n)*|/\*.*?\*/)
  | (?P<raw>R"(?P<delim>[^()\s\\]{0,16})\(.*?\)(?P=delim)")
  | (?P<string>"(?:[^"\\\n]|\\.)*")
  | (?P<char>(?<![0-9a-fA-F])'(?:[^'\\\n]|\\.)+')
    """,
    re.VERBOSE | re.DOTALL,
)
_INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')


def code_lines(text):
    """The lines of `text` with comments and literals blanked out.

    Line numbers stay. Names in include directives stay.
    """

    def blank(match):
        start = text.rfind("\n", 0, match.start()) + 1
        if match.group("string") and _INCLUDE.match(
            text[start : match.end()]
        ):
            return match.group(0)
        return re.sub(r"[^\n]", " ", match.group(0))

    return _TOKEN.sub(blank, text).split("\n")


def includes(text):
    """[(line, quote, name)] of the include directives of `text`."""
    found = []
    for number, line in enumerate(code_lines(text), 1):
        match = _INCLUDE.match(line)
        if match:
            found.append((number, match.group(1), match.group(2)))
    return found


def allowed_here(raw_lines, number, rule):
    """Whether the line, or the one above it, excuses `rule` with a reason.

    NOLINT(penstock-<rule>): why, or NOLINTNEXTLINE(penstock-<rule>): why.
    """
    name = re.escape(f"penstock-{rule}")
    here = rf"NOLINT\([^)]*{name}[^)]*\): \S"
    above = rf"NOLINTNEXTLINE\([^)]*{name}[^)]*\): \S"
    if re.search(here, raw_lines[number - 1]):
        return True
    return number > 1 and re.search(above, raw_lines[number - 2]) is not None


class LintTestCase(unittest.TestCase):
    """A scratch tree: write(path, text), then look at what a lint finds."""

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)

    def write(self, path, text):
        target = self.root / path
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text, encoding="utf-8")

    def rules(self, check):
        return [finding.rule for finding in check(self.root)]


def run(check, what, skip=lambda root: None):
    """The command line of a lint: [--root DIR] | --self-test.

    skip(root) gives the reason why the lint cannot run here, or None.
    """
    parser = argparse.ArgumentParser(description=what)
    parser.add_argument(
        "--root",
        type=pathlib.Path,
        default=pathlib.Path(__file__).resolve().parents[2],
    )
    parser.add_argument("--self-test", action="store_true")
    options = parser.parse_args()
    if options.self_test:
        unittest.main(module="__main__", argv=[sys.argv[0]])
    reason = skip(options.root)
    if reason:
        print(f"SKIPPED: {reason}")
        sys.exit(SKIPPED)
    findings = sorted(check(options.root))
    for finding in findings:
        print(finding)
    if findings:
        print(f"{len(findings)} findings")
        sys.exit(1)
    print("clean")
