#!/usr/bin/env python3
"""Does the steps of the Dockerfile in a bare Debian root, where there is no
container engine: debootstrap makes the base, RUN is chroot, COPY is cp. Then the
image is used as it is meant to be: not as root, nothing writable but its volume.

    sudo tests/image/bare_root.py --programs build/release/bin
        the runtime stage around programs that are built already: minutes
    sudo tests/image/bare_root.py --build
        the build stage as well, from the sources: as long as a build takes

Needs root, debootstrap, unshare and a Debian mirror. Not part of ctest: it
downloads a distribution.
"""

import argparse
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SUITE = "bookworm"
IGNORED = shutil.ignore_patterns("build", ".git", ".cache", "__pycache__")
PIPELINE = """\
name: image
connectors:
  - name: lines
    source: {file: {path: /data/in.txt}}
    format: {raw: {}}
    sink: {file: {path: /data/out}}
"""


def say(text):
    print(f"== {text}", flush=True)


def run(*command, **more):
    done = subprocess.run([str(part) for part in command], check=False, **more)
    if done.returncode != 0:
        sys.exit(f"FAILED ({done.returncode}): {' '.join(map(str, command))}")
    return done


def stages(text):
    """{name: [(instruction, arguments)]}, FROM first."""
    text = re.sub(r"^#.*\n", "", text, flags=re.MULTILINE)
    text = re.sub(r"\\\n\s*", "", text)
    found = {}
    for line in filter(None, text.splitlines()):
        instruction, _, arguments = line.partition(" ")
        arguments = arguments.strip()
        if instruction == "FROM":
            steps = found.setdefault(arguments.split(" AS ")[1].strip(), [])
        steps.append((instruction, arguments))
    return found


class Stage:
    """One root directory, and where its steps are."""

    def __init__(self, name, place, roots):
        self.name = name
        self.root = place / name
        self.roots = roots
        self.directory = "/"
        self.user = "0:0"
        self.entrypoint = []

    def do(self, instruction, arguments):
        if instruction not in ("FROM", "ENTRYPOINT"):
            say(f"{self.name}: {instruction} {arguments[:70]}")
        getattr(self, f"do_{instruction.lower()}")(arguments)

    def make_base(self, image):
        if image.removesuffix("-slim") != "debian:12":
            sys.exit(f"FAILED: no base for {image}")
        say(f"{self.name}: debootstrap {SUITE}")
        run("debootstrap", "--variant=minbase", SUITE, self.root,
            stdout=subprocess.DEVNULL)
        shutil.copy("/etc/resolv.conf", self.root / "etc/resolv.conf")
        # What this machine asks packages of, and nothing besides.
        (self.root / "etc/apt/sources.list").unlink(missing_ok=True)
        for name in ("sources.list", "sources.list.d", "apt.conf.d",
                     "preferences.d", "trusted.gpg.d"):
            source, target = pathlib.Path("/etc/apt", name), (
                self.root / "etc/apt" / name)
            if source.is_dir():
                shutil.copytree(source, target, dirs_exist_ok=True)
            elif source.exists():
                shutil.copy(source, target)

    def chroot(self, command, **more):
        # Not this machine's processes, and what is mounted ends with it.
        script = ("mount -t proc proc proc && mount --rbind /dev dev && "
                  'exec chroot . /bin/sh -c "$1"')
        inside = f"cd {shlex.quote(self.directory)} && {command}"
        return run("unshare", "--mount", "--pid", "--fork", "--kill-child",
                   "sh", "-ec", script, "sh", inside, cwd=self.root, **more)

    # Instructions.

    def do_from(self, arguments):
        self.make_base(arguments.split(" AS ")[0].strip())

    def do_run(self, arguments):
        self.chroot(arguments)

    def do_workdir(self, arguments):
        self.directory = arguments
        (self.root / arguments.lstrip("/")).mkdir(parents=True, exist_ok=True)

    def do_copy(self, arguments):
        source, target = arguments.rsplit(" ", 1)
        match = re.match(r"--from=(\w+) (.*)", source)
        base = self.roots[match.group(1)] if match else ROOT
        name = (match.group(2) if match else source).lstrip("/")
        there = self.root / pathlib.PurePosixPath(
            self.directory, target).as_posix().lstrip("/")
        shutil.copytree(base / name, there, dirs_exist_ok=True, ignore=IGNORED)

    def do_user(self, arguments):
        self.user = arguments

    def do_entrypoint(self, arguments):
        self.entrypoint = json.loads(arguments)


def build_stage(stage, steps):
    for step in steps:
        stage.do(*step)


def use(stage, scratch):
    """The image's own user, a root that is read only, and one volume."""
    say("use: read-only root, no capabilities, not root")
    data = scratch / "data"
    state = scratch / "state"
    for place in (data, state):
        place.mkdir()
        os.chown(place, 10001, 10001)
    (data / "in.txt").write_text("one\ntwo\nthree\n", encoding="utf-8")
    (data / "image.yaml").write_text(PIPELINE, encoding="utf-8")
    (stage.root / "data").mkdir(exist_ok=True)
    user, group = stage.user.split(":")
    inside = (
        "cd /data && penstock run image.yaml --worker-state-dir "
        "/var/lib/penstock && penstock verify image.yaml && "
        '[ "$(id -u)" = 10001 ] && ! touch /written 2>/dev/null'
    )
    script = (
        "mount --bind . . && cd . && mount -t proc proc proc && "
        "mount --rbind /dev dev && mount -t tmpfs tmpfs tmp && "
        f"mount --bind {data} data && mount --bind {state} var/lib/penstock && "
        "mount -o remount,bind,ro . && "
        # chroot needs a capability: it comes first, then all are given up.
        f"exec chroot . /usr/bin/setpriv --reuid {user} --regid {group} "
        '--clear-groups --bounding-set=-all --no-new-privs /bin/sh -ec "$1"'
    )
    run("unshare", "--mount", "--pid", "--fork", "--kill-child", "sh", "-ec",
        script, "sh", inside, cwd=stage.root)
    program = stage.entrypoint[0]
    stage.chroot(f"{program} --help >/dev/null && command -v {program}")


def main():
    parser = argparse.ArgumentParser(
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter)
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--programs", type=pathlib.Path)
    what.add_argument("--build", action="store_true")
    parser.add_argument("--directory", type=pathlib.Path,
                        help="where the roots are made (default: a new one)")
    options = parser.parse_args()
    for tool in ("debootstrap", "unshare", "chroot", "strip"):
        if shutil.which(tool) is None:
            print(f"SKIPPED: no {tool} here")
            sys.exit(77)
    if os.geteuid() != 0:
        print("SKIPPED: needs root")
        sys.exit(77)
    steps = stages((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    with tempfile.TemporaryDirectory(
        prefix="penstock-image-", dir=options.directory
    ) as scratch:
        place = pathlib.Path(scratch)
        roots = {name: place / name for name in steps}
        if options.build:
            build_stage(Stage("build", place, roots), steps["build"])
        else:
            out = roots["build"] / "out"
            out.mkdir(parents=True)
            for program in ("penstock", "penstock-worker"):
                run("strip", "--strip-debug", "-o", out / program,
                    options.programs / program)
        runtime = Stage("runtime", place, roots)
        build_stage(runtime, steps["runtime"])
        use(runtime, place)
        run("du", "-sh", runtime.root)
    print("PASSED")


if __name__ == "__main__":
    main()
