#!/usr/bin/env python3
"""clang-format 14 would change nothing. Skipped out loud when it is absent."""

import concurrent.futures
import os
import re
import shutil
import subprocess
import unittest

import source_tree
from source_tree import Finding

TOOL = "clang-format-14"
BATCH = 16
COMPLAINT = re.compile(r"^(.*?):(\d+):\d+: error: ")


def complaints(root, batch):
    command = [TOOL, "--dry-run", "-Werror", "--style=file", *batch]
    done = subprocess.run(
        command, cwd=root, capture_output=True, text=True, check=False
    )
    found = {}
    for line in done.stderr.split("\n"):
        match = COMPLAINT.match(line)
        if match:
            path, number = match.groups()
            found.setdefault(
                path,
                Finding(path, int(number), "format", f"{TOOL} -i {path}"),
            )
    if done.returncode != 0 and not found:
        found[""] = Finding(TOOL, 0, "format", done.stderr.strip())
    return list(found.values())


def check(root):
    paths = source_tree.files(
        root, source_tree.CPP_SUFFIXES, source_tree.CODE_DIRS
    )
    batches = [paths[i : i + BATCH] for i in range(0, len(paths), BATCH)]
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        results = list(pool.map(lambda b: complaints(root, b), batches))
    return [finding for result in results for finding in result]


@unittest.skipUnless(shutil.which(TOOL), f"{TOOL} is not installed")
class ClangFormatTest(source_tree.LintTestCase):
    def setUp(self):
        super().setUp()
        self.write(".clang-format", "BasedOnStyle: Google\n")

    def test_formatted_source_is_clean(self):
        self.write("core/base/a.cc", "int f() { return 1; }\n")
        self.assertEqual([], self.rules(check))

    def test_unformatted_source_is_found_once(self):
        self.write("core/base/a.cc", "int  f( ){return 1 ;}\n")
        self.assertEqual(["format"], self.rules(check))

    def test_broken_configuration_is_found(self):
        self.write(".clang-format", "BasedOnStyle: Nonsense\n")
        self.write("core/base/a.cc", "int f() { return 1; }\n")
        self.assertEqual(["format"], self.rules(check))


def skip(_):
    return None if shutil.which(TOOL) else f"{TOOL} is not installed"


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
