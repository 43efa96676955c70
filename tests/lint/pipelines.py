#!/usr/bin/env python3
"""`penstock validate` takes every pipeline that a page or an example shows.

Those are the ```yaml blocks with `connectors:` of the README files, and
deploy/examples/*.yaml. PENSTOCK_BIN says where the program is; skipped without.
"""

import os
import re
import subprocess
import sys
import tempfile

import source_tree
from source_tree import Finding

BLOCK = re.compile(r"^```yaml\n(.*?)^```", re.MULTILINE | re.DOTALL)
EXAMPLES = "deploy/examples"
FIRST = "README.md"


def program():
    return os.path.join(os.environ.get("PENSTOCK_BIN", ""), "penstock")


def validate(path):
    """What is wrong with the pipeline file, or None."""
    done = subprocess.run(
        [program(), "validate", path],
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    if done.returncode == 0:
        return None
    return (done.stderr or done.stdout).strip() or f"code {done.returncode}"


def blocks(text):
    """[(line, pipeline)]"""
    return [
        (text.count("\n", 0, match.start()) + 2, match.group(1))
        for match in BLOCK.finditer(text)
        if re.search(r"^connectors:", match.group(1), re.MULTILINE)
    ]


def check(root):
    findings = []
    with tempfile.TemporaryDirectory() as scratch:
        for path in source_tree.files(root, (".md",)):
            found = blocks(source_tree.read(root, path))
            if path == FIRST and not found:
                findings.append(
                    Finding(path, 0, "pipeline-none", "no pipeline to begin with")
                )
            for line, text in found:
                file = os.path.join(scratch, "pipeline.yaml")
                with open(file, "w", encoding="utf-8") as out:
                    out.write(text)
                wrong = validate(file)
                if wrong:
                    findings.append(Finding(path, line, "pipeline", wrong))
    for path in source_tree.files(root, (".yaml",), (EXAMPLES,)):
        wrong = validate(str(root / path))
        if wrong:
            findings.append(Finding(path, 0, "pipeline", wrong))
    return findings


class PipelinesTest(source_tree.LintTestCase):
    """With a program that takes every file without the word `wrong`."""

    PAGE = "# A\n\n```yaml\nname: a\nconnectors:\n  - {name: good}\n```\n"

    def setUp(self):
        super().setUp()
        self.write(
            "bin/penstock",
            f"#!{sys.executable}\nimport sys\n"
            "sys.exit(2 if 'wrong' in open(sys.argv[2]).read() else 0)\n",
        )
        (self.root / "bin/penstock").chmod(0o755)
        before = os.environ.get("PENSTOCK_BIN")
        self.addCleanup(os.environ.update, PENSTOCK_BIN=before or "")
        os.environ["PENSTOCK_BIN"] = str(self.root / "bin")

    def test_good_pipelines_are_clean(self):
        self.write(FIRST, self.PAGE)
        self.write("deploy/examples/a.yaml", "name: a\n")
        self.assertEqual([], self.rules(check))

    def test_a_wrong_block_is_found_with_its_line(self):
        self.write(FIRST, self.PAGE.replace("good", "wrong"))
        (finding,) = check(self.root)
        self.assertEqual((FIRST, 4), (finding.path, finding.line))

    def test_a_wrong_example_is_found(self):
        self.write(FIRST, self.PAGE)
        self.write("deploy/examples/a.yaml", "wrong\n")
        self.assertEqual(["pipeline"], self.rules(check))

    def test_a_readme_without_a_pipeline_is_found(self):
        self.write(FIRST, self.PAGE.replace("connectors:", "replicas:"))
        self.assertEqual(["pipeline-none"], self.rules(check))


def skip(root):
    if not os.access(program(), os.X_OK):
        return "PENSTOCK_BIN names no directory with penstock in it"
    return None


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
