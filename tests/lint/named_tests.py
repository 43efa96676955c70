#!/usr/bin/env python3
"""Each test that tests/README.md names is there.

In its tables a test is named as `Suite.Name`, or as the script of tests/chaos
that it is (`scale.py`). Tests are renamed and removed: what the tables promise
must not be lost with them.
"""

import re

import source_tree
from source_tree import Finding

README = "tests/README.md"
NAMED = re.compile(r"`([A-Z]\w+)\.(\w+)`")
SCRIPT = re.compile(r"`(\w+\.py)`")
TEST = re.compile(r"^TEST(?:_F|_P)?\(\s*(\w+),\s*(\w+)\s*\)", re.MULTILINE)


def tests(root):
    """(suite, name) of each test in C++."""
    found = set()
    for path in source_tree.files(root, (".cc",), ("tests",)):
        found.update(TEST.findall(source_tree.read(root, path)))
    return found


def check(root):
    found = tests(root)
    findings = []
    for number, line in enumerate(
        source_tree.read(root, README).splitlines(), 1
    ):
        if not line.startswith("|"):
            continue
        for suite, name in NAMED.findall(line):
            if (suite, name) not in found:
                findings.append(
                    Finding(README, number, "test", f"no {suite}.{name}")
                )
        for script in SCRIPT.findall(line):
            if not (root / "tests/chaos" / script).is_file():
                findings.append(
                    Finding(README, number, "script", f"no {script}")
                )
    return findings


class NamedTestsTest(source_tree.LintTestCase):
    def test_what_is_there_is_clean(self):
        self.write(
            README, "| 1 | `ATest.Holds`, `kill.py` |\n`BTest.No` in text\n"
        )
        self.write("tests/a_test.cc", "TEST_F(ATest, Holds) {}\n")
        self.write("tests/chaos/kill.py", "")
        self.assertEqual([], self.rules(check))

    def test_what_is_gone_is_found(self):
        self.write(README, "| 1 | `ATest.Holds`, `kill.py` |\n")
        self.write("tests/a_test.cc", "TEST_F(ATest, HoldsNot) {}\n")
        self.assertEqual(["test", "script"], self.rules(check))


if __name__ == "__main__":
    source_tree.run(check, __doc__)
