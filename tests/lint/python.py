#!/usr/bin/env python3
"""Scripts name only what exists. Skipped out loud when pylint is absent.

A script's end runs after minutes of others, if at all: a function that moved to
another module, a name without its import and a call with an argument too few
are found here at once.
"""

import collections
import os
import re
import shutil
import subprocess
import unittest

import source_tree
from source_tree import Finding

TOOL = "pylint"
MESSAGES = (
    "bad-string-format-type",
    "function-redefined",
    "no-member",
    "no-name-in-module",
    "no-value-for-parameter",
    "redundant-keyword-arg",
    "syntax-error",
    "too-few-format-args",
    "too-many-format-args",
    "too-many-function-args",
    "undefined-variable",
    "unexpected-keyword-arg",
    "unused-import",
    "unused-variable",
    "used-before-assignment",
)
# Where scripts of other directories find their modules, and how they say so.
SHARED = "tests/chaos"
SHARED_USE = re.compile(r'"tests",\s*"chaos"')
COMPLAINT = re.compile(r"^(.+?):(\d+):([a-z-]+):(.*)$")


def complaints(root, directory, paths):
    """What pylint finds in the scripts of one directory.

    They see each other, and SHARED where one of them says so.
    """
    places = ["."]
    if any(SHARED_USE.search(source_tree.read(root, path)) for path in paths):
        places.append(str(root / SHARED))
    command = [
        TOOL,
        "--disable=all",
        f"--enable={','.join(MESSAGES)}",
        "--score=no",
        "--persistent=no",
        "--jobs=0",
        # What is raised is a grpc.Call besides.
        "--ignored-classes=RpcError",
        "--msg-template={path}:{line}:{symbol}:{msg}",
        *(os.path.relpath(path, directory) for path in paths),
    ]
    done = subprocess.run(
        command,
        cwd=root / directory,
        env={**os.environ, "PYTHONPATH": os.pathsep.join(places)},
        capture_output=True,
        text=True,
        check=False,
    )
    found = []
    for line in done.stdout.split("\n"):
        match = COMPLAINT.match(line)
        if match:
            path, number, symbol, text = match.groups()
            path = os.path.normpath(os.path.join(directory, path))
            found.append(Finding(path, int(number), symbol, text))
    if done.returncode != 0 and not found:
        found.append(Finding(TOOL, 0, "python", done.stderr.strip()))
    return found


def check(root):
    directories = collections.defaultdict(list)
    for path in source_tree.files(root, (".py",)):
        directories[os.path.dirname(path) or "."].append(path)
    return [
        finding
        for directory, paths in directories.items()
        for finding in complaints(root, directory, paths)
    ]


@unittest.skipUnless(shutil.which(TOOL), f"{TOOL} is not installed")
class PythonTest(source_tree.LintTestCase):
    def test_what_exists_is_clean(self):
        self.write("tests/chaos/blows.py", "def strike(site):\n    pass\n")
        self.write(
            "tests/chaos/one.py", "import blows\n\nblows.strike(site=1)\n"
        )
        self.assertEqual([], self.rules(check))

    def test_what_has_moved_is_found(self):
        self.write("tests/chaos/blows.py", "def strike(site):\n    pass\n")
        self.write("tests/chaos/other.py", "X = 1\n")
        self.write(
            "tests/chaos/one.py", "import other\n\nother.strike(1)\n"
        )
        self.assertEqual(["no-member"], self.rules(check))

    def test_a_missing_argument_is_found(self):
        self.write("tests/chaos/blows.py", "def strike(site):\n    pass\n")
        self.write("tests/chaos/one.py", "import blows\n\nblows.strike()\n")
        self.assertEqual(["no-value-for-parameter"], self.rules(check))

    def test_a_module_of_another_directory_is_not_seen(self):
        self.write("tests/bench/blows.py", "X = 1\n")
        self.write("tests/chaos/blows.py", "Y = 1\n")
        self.write("tests/chaos/one.py", "import blows\n\nprint(blows.X)\n")
        self.assertEqual(["no-member"], self.rules(check))

    def test_the_shared_modules_are_seen_where_they_are_asked_for(self):
        self.write("tests/chaos/blows.py", "Y = 1\n")
        self.write(
            "tests/bench/one.py",
            "import sys\n"
            'sys.path.append("/".join([sys.path[0], "..", "tests", "chaos"]))\n'
            "import blows\n\nprint(blows.X)\n",
        )
        self.assertEqual(["no-member"], self.rules(check))

    def test_a_name_without_its_import_is_found(self):
        self.write("tests/chaos/one.py", "print(os.sep)\n")
        self.assertEqual(["undefined-variable"], self.rules(check))

    def test_a_tool_that_fails_is_a_finding(self):
        self.write("tests/chaos/one.py", "def f(:\n")
        self.assertEqual(["syntax-error"], self.rules(check))


def skip(_):
    return None if shutil.which(TOOL) else f"{TOOL} is not installed"


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
