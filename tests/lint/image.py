#!/usr/bin/env python3
"""The Dockerfile: its steps parse, what it copies exists, it ends without root,
and its runtime stage installs exactly the packages that the programs need.

The last part needs the programs (PENSTOCK_BIN: where they are) and dpkg, and is
said to be left out without them.
"""

import os
import re
import shutil
import subprocess
import unittest.mock

import source_tree
from source_tree import Finding

IMAGE = "Dockerfile"
PROGRAMS = ("penstock", "penstock-worker")
# What they read and are not linked with: the public authorities.
READ = {"ca-certificates"}
# Libraries of sanitizers, which the image's build does not use.
SANITIZERS = ("libasan", "libtsan", "libubsan")


def instructions(text):
    """[(line, word, rest)], continuation lines joined, comments left out."""
    found = []
    line = word = None
    rest = []
    for number, raw in enumerate(text.split("\n"), 1):
        if raw.lstrip().startswith("#") or (word is None and not raw.strip()):
            continue
        if word is None:
            line = number
            word, _, raw = raw.strip().partition(" ")
        more = raw.rstrip().endswith("\\")
        rest.append(raw.rstrip()[:-1] if more else raw)
        if not more:
            found.append((line, word.upper(), " ".join(rest).strip()))
            word = None
            rest = []
    return found


def runtime_packages(steps):
    """What the last stage installs."""
    last = max(
        (i for i, step in enumerate(steps) if step[1] == "FROM"), default=0
    )
    for _, word, rest in steps[last:]:
        match = re.search(r"apt-get install ([^&]*)", rest)
        if word == "RUN" and match:
            return {
                name
                for name in match.group(1).split()
                if not name.startswith("-")
            }
    return set()


def packages_of(program):
    """The Debian packages of the libraries that `program` is linked with."""
    linked = subprocess.run(
        ["ldd", program], capture_output=True, text=True, check=True
    ).stdout
    # Debian's merged /usr: the owner may know a file by either name.
    names = {
        path: {path, "/usr" + path, os.path.realpath(path)}
        for path in re.findall(r"=> (/\S+)", linked)
    }
    # One question for all: each takes long. Fails if it knows not every name.
    answers = subprocess.run(
        ["dpkg-query", "-S", *sorted(set().union(*names.values()))],
        capture_output=True,
        text=True,
        check=False,
    ).stdout
    owners = {
        path: owner.split(":")[0]
        for owner, _, path in (
            line.partition(": ") for line in answers.split("\n")
        )
    }
    found = {
        next((owners[name] for name in known if name in owners), path)
        for path, known in names.items()
    }
    return {name for name in found if not name.startswith(SANITIZERS)}


def needed_packages():
    """None, said out loud, where that cannot be found out."""
    place = os.environ.get("PENSTOCK_BIN", "")
    programs = [os.path.join(place, name) for name in PROGRAMS]
    if not place or not all(map(os.path.exists, programs)):
        print("packages not compared: PENSTOCK_BIN has no programs")
        return None
    if not shutil.which("dpkg-query") or not shutil.which("ldd"):
        print("packages not compared: this is not Debian")
        return None
    return set().union(*map(packages_of, programs))


def check_step(root, line, word, rest):
    if word == "RUN":
        parsed = subprocess.run(
            ["sh", "-n", "-c", rest], capture_output=True, text=True, check=False
        )
        if parsed.returncode != 0:
            yield Finding(IMAGE, line, "image-shell", parsed.stderr.strip())
        for script in re.findall(r"(?:^|&& )(\.?[\w/.-]+\.sh)\b", rest):
            if not os.access(root / script, os.X_OK):
                yield Finding(IMAGE, line, "image-script", f"no {script}")
    if word in ("COPY", "ADD") and "--from=" not in rest:
        for source in rest.split()[:-1]:
            if not (root / source).exists():
                yield Finding(IMAGE, line, "image-copy", f"no {source}")


def check(root):
    steps = instructions(source_tree.read(root, IMAGE))
    findings = []
    for line, word, rest in steps:
        findings.extend(check_step(root, line, word, rest))
    users = [rest for _, word, rest in steps if word == "USER"]
    if not users or not re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[-1]):
        findings.append(
            Finding(IMAGE, 0, "image-user", "the last USER is uid:gid, no root")
        )
    installed = runtime_packages(steps)
    needed = needed_packages()
    for name in sorted((READ | (needed or set())) - installed):
        findings.append(Finding(IMAGE, 0, "image-package", f"{name} is needed"))
    if needed is not None:
        needed |= READ
        for name in sorted(installed - needed):
            findings.append(
                Finding(IMAGE, 0, "image-package", f"{name} is not needed")
            )
    return findings


class ImageTest(source_tree.LintTestCase):
    GOOD = (
        "FROM debian:12 AS build\nCOPY core core\n"
        "RUN ./run.sh && \\\n  # why\n  true\n"
        "FROM debian:12-slim\n"
        "RUN apt-get update \\\n && apt-get install -y a b ca-certificates \\\n && rm -rf x\n"
        "USER 10001:10001\n"
    )

    def setUp(self):
        super().setUp()
        os.environ.pop("PENSTOCK_BIN", None)
        self.write("core/a.h", "")
        self.write("run.sh", "")
        (self.root / "run.sh").chmod(0o755)

    def image(self, old="", new=""):
        self.assertIn(old, self.GOOD)
        self.write(IMAGE, self.GOOD.replace(old, new))

    def test_a_good_file_is_clean(self):
        self.image()
        self.assertEqual([], self.rules(check))

    def test_a_step_that_does_not_parse_is_found(self):
        self.image("rm -rf x", "(rm -rf x")
        self.assertEqual(["image-shell"], self.rules(check))

    def test_a_missing_source_is_found(self):
        self.image("COPY core core", "COPY cor core")
        self.assertEqual(["image-copy"], self.rules(check))

    def test_a_missing_script_is_found(self):
        self.image("./run.sh", "./walk.sh")
        self.assertEqual(["image-script"], self.rules(check))

    def test_root_is_found(self):
        for user in ("0:0", "root", "10001"):
            self.image("10001:10001", user)
            self.assertEqual(["image-user"], self.rules(check))

    def test_packages_are_those_of_the_last_stage(self):
        self.assertEqual({"a", "b"} | READ, runtime_packages(instructions(self.GOOD)))

    def test_what_is_read_is_needed_wherever_this_runs(self):
        self.image(" ca-certificates", "")
        self.assertEqual(["image-package"], self.rules(check))

    def test_packages_that_differ_are_found(self):
        self.image()
        with unittest.mock.patch(
            f"{__name__}.needed_packages", return_value={"a", "c"}
        ):
            self.assertEqual(["image-package"] * 2, self.rules(check))

    @unittest.skipUnless(
        shutil.which("dpkg-query") and shutil.which("ldd"), "not Debian"
    )
    def test_packages_of_a_program_are_found(self):
        self.assertIn("libc6", packages_of("/bin/sh"))


def skip(root):
    return None if (root / IMAGE).exists() else f"no {IMAGE} yet"


if __name__ == "__main__":
    source_tree.run(check, __doc__, skip)
