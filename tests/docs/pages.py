#!/usr/bin/env python3
"""Does what a page tells its reader to do, in a directory of its own.

    pages.py --bin DIR [--keep] [--given SCRIPT] PAGE
    pages.py --self-test

A comment right above a fenced block says what becomes of it:

    <!-- file NAME -->          its text is that file from there on
    <!-- run -->                it is run by bash, as typed into one terminal
    <!-- run in background -->  another terminal, as long as the page lasts
    <!-- run in background until COMMAND -->
                                and the page goes on when that succeeds
    <!-- output -->             its lines came from the block before, in order;
                                `...` stands for anything, also whole lines
    <!-- not run: WHY -->       a person's business

A block of commands (```sh) without one is a mistake: a lint says so. What a page
takes for granted, such as a worker that is at work, SCRIPT makes (given/), in the
same shell, before its first block (`in_background LOG COMMAND`): 77 skips the page, its last line says why. A
page that clones the project gets this tree, with the programs that were built.
Each part's time is told.

Where the kernel lets us, the page has a network of its own, so that the ports it
names are free; elsewhere they must be.
"""

import argparse
import os
import pathlib
import re
import shlex
import shutil
import socket
import subprocess
import sys
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SKIPPED = 77
PORTS = (7070, 7071)
BLOCK = re.compile(
    r"(?:^<!-- (?P<mark>[^\n]*?) -->\n)?^```(?P<kind>\w*)\n(?P<text>.*?)^```$",
    re.MULTILINE | re.DOTALL,
)
HEADING = re.compile(r"^#+ ([^\n]*)$", re.MULTILINE)
UNTIL_S = 60

# Sources each block in one shell; $1 is the directory with the blocks.
SHELL = """\
set -euo pipefail
blocks=$1
background=()
where= shown=
# What ends in the middle of a block still has that block's output.
exec 3>&1
in_background() {  # LOG COMMAND...
  setsid "${@:2}" >"$1" 2>&1 </dev/null &
  background+=($!)
}
part() {
  local now=$EPOCHREALTIME
  if [ -n "$part" ]; then
    printf 'part "%s": %.1f s\n' "$part" \
      "$(((${now/./} - ${began/./}) / 100000))e-1"
  fi
  part=$1 began=$now
}
part= began=
end() {
  code=$?
  if [ "$code" -ne 0 ]; then
    echo "ended with $code: $where" >&3
    cat "$shown" >&3
  fi
  for pid in "${background[@]}"; do kill -- "-$pid" 2>/dev/null || true; done
  wait
  exit "$code"
}
trap end EXIT
"""


class Block:
    """A fenced block, what the comment above it says, and its heading."""

    def __init__(self, match, text):
        self.mark = match.group("mark") or ""
        self.kind = match.group("kind")
        self.text = match.group("text")
        self.line = text.count("\n", 0, match.start("kind")) + 1
        headings = HEADING.findall(text, 0, match.start("kind"))
        self.part = headings[-1] if headings else ""


def blocks_of(text):
    return [Block(match, text) for match in BLOCK.finditer(text)]


def unmarked(text):
    """Lines of command blocks that nobody says anything about."""
    known = ("run", "run in background", "not run: ", "output", "file ")
    return [
        block.line
        for block in blocks_of(text)
        if block.kind == "sh" and not block.mark.startswith(known)
    ]


def is_expected(expected, said):
    """Whether the lines of `expected` are in `said`, in order."""
    parts = [
        re.escape(line.strip()).replace(r"\.\.\.", ".*")
        for line in expected.strip().splitlines()
    ]
    said = "\n".join(line.strip() for line in said.splitlines())
    return re.search(r"(?:.*\n)*?".join(f"{part}(?:\n|$)" for part in parts),
                     said) is not None


def script_of(blocks, place, given=""):
    """What bash does; writes what it needs into `place`."""
    lines = [SHELL]
    if given:
        (place / "given.sh").write_text(given, encoding="utf-8")
        lines.append('where="what is given" shown="$blocks/given.out"\n'
                     '. "$blocks/given.sh" >"$shown" 2>&1 </dev/null\n')
    part = ""
    for number, block in enumerate(blocks):
        where = f"the block at line {block.line}"
        source = place / f"{number}.sh"
        if block.part != part and block.mark.startswith("run"):
            part = block.part
            lines.append(f"part {shlex.quote(part)}\n")
        if block.mark.startswith("file "):
            source.write_text(block.text, encoding="utf-8")
            name = shlex.quote(block.mark[len("file "):])
            lines.append(f'mkdir -p "$(dirname {name})"\n'
                         f'cp "$blocks/{number}.sh" {name}\n')
        elif block.mark == "run":
            source.write_text(block.text, encoding="utf-8")
            lines.append(
                f'echo "== {where}"\n'
                f'where="{where}" shown="$blocks/{number}.out"\n'
                f'. "$blocks/{number}.sh" >"$shown" 2>&1 </dev/null\n'
                f'tail -n 40 "$blocks/{number}.out"\n'
            )
        elif block.mark.startswith("run in background"):
            source.write_text(block.text, encoding="utf-8")
            lines.append(
                f'echo "== {where}, in the background"\n'
                f'setsid bash -eu "$blocks/{number}.sh" '
                f'>"$blocks/{number}.out" 2>&1 </dev/null &\n'
                "background+=($!)\n"
            )
            until = block.mark.partition(" until ")[2]
            if until:
                lines.append(
                    f"tries=0; until {until} >/dev/null 2>&1; do\n"
                    f"  tries=$((tries + 1))\n"
                    f'  where="{where}" shown="$blocks/{number}.out"\n'
                    f'  [ "$tries" -lt {UNTIL_S * 5} ]\n'
                    "  sleep 0.2\ndone\n"
                )
    lines.append('part ""\n')
    return "".join(lines)


def environment_of(binaries, scratch):
    """Programs on the path; and whoever clones the project gets this tree."""
    cloned = {
        f"url.{ROOT}.insteadOf": "https://git.example/penstock",
        "safe.directory": "*",
        "advice.detachedHead": "false",
    }
    settings = {"GIT_CONFIG_COUNT": str(len(cloned))}
    for number, (name, value) in enumerate(cloned.items()):
        settings[f"GIT_CONFIG_KEY_{number}"] = name
        settings[f"GIT_CONFIG_VALUE_{number}"] = value
    return dict(os.environ, PATH=f"{binaries}:{os.environ['PATH']}",
                TMPDIR=str(scratch), PENSTOCK_ROOT=str(ROOT), **settings)


def wrong_outputs(blocks, place):
    """What a page says was printed, and was not."""
    said = ""
    for number, block in enumerate(blocks):
        out = place / f"{number}.out"
        if out.exists():
            said = out.read_text(encoding="utf-8", errors="replace")
        if block.mark == "output" and not is_expected(block.text, said):
            yield f"line {block.line}: not what was printed:\n{said}"


def network():
    """The command by which a page has its ports; None if it cannot."""
    alone = ["unshare", "--net", "sh", "-c", 'ip link set lo up && exec "$@"',
             "sh"]
    if shutil.which("unshare") and shutil.which("ip"):
        if subprocess.run([*alone, "true"], capture_output=True,
                          check=False).returncode == 0:
            return alone
    for port in PORTS:
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return None
    return []


def run_page(page, binaries, given, keep):
    text = (ROOT / page).read_text(encoding="utf-8")
    blocks = blocks_of(text)
    alone = network()
    if alone is None:
        print(f"SKIPPED: no network of its own, and a port of {PORTS} is taken")
        return SKIPPED
    scratch = pathlib.Path(tempfile.mkdtemp(prefix="penstock-page-"))
    try:
        place, marks = scratch / "place", scratch / "blocks"
        place.mkdir()
        marks.mkdir()
        # As it looks from the top of the tree.
        for name in ("deploy", "proto", "tests"):
            (place / name).symlink_to(ROOT / name)
        script = scratch / "page.sh"
        script.write_text(script_of(blocks, marks, given), encoding="utf-8")
        done = subprocess.run(
            [*alone, "bash", script, marks], cwd=place,
            env=environment_of(binaries, scratch), stdin=subprocess.DEVNULL,
            check=False,
        )
        if done.returncode == SKIPPED:
            print(f"SKIPPED, NOTHING WAS TESTED: {page}")
            return SKIPPED
        if done.returncode != 0:
            print(f"FAILED: {page}")
            return 1
        wrong = list(wrong_outputs(blocks, marks))
        for problem in wrong:
            print(f"FAILED: {page}: {problem}")
        ran = sum(block.mark.startswith("run") for block in blocks)
        print(f"{page}: {ran} blocks were run")
        return 1 if wrong or ran == 0 else 0
    finally:
        if keep:
            print(f"kept: {scratch}")
        else:
            shutil.rmtree(scratch, ignore_errors=True)


class PagesTest(unittest.TestCase):
    def test_a_block_has_the_mark_above_it(self):
        (block,) = blocks_of("text\n\n<!-- run -->\n```sh\nls\n```\n")
        self.assertEqual(("run", "sh", "ls\n", 4),
                         (block.mark, block.kind, block.text, block.line))

    def test_a_block_belongs_to_the_heading_before_it(self):
        one, two = blocks_of("# A\n```sh\nls\n```\n## B, c\n```sh\nls\n```\n")
        self.assertEqual(("A", "B, c"), (one.part, two.part))

    def test_a_file_is_there_once_the_page_has_shown_it(self):
        text = ("<!-- run -->\n```sh\n! [ -e b ]; mkdir a; cd a\n```\n"
                "<!-- file d/b -->\n```yaml\nx: y\n```\n"
                '<!-- run -->\n```sh\n[ "$(cat d/b)" = "x: y" ]\n```\n')
        self.assertEqual(0, self.bash(text).returncode)

    def test_what_is_given_comes_first_and_may_skip(self):
        text = '<!-- run -->\n```sh\n[ "$a" = 1 ]\n```\n'
        self.assertEqual(0, self.bash(text, "a=1\n").returncode)
        done = self.bash(text, "echo no such thing\nexit 77\n")
        self.assertEqual(SKIPPED, done.returncode)
        self.assertIn("no such thing", done.stdout)

    @staticmethod
    def bash(text, given=""):
        with tempfile.TemporaryDirectory() as scratch:
            place = pathlib.Path(scratch)
            script = place / "page.sh"
            script.write_text(script_of(blocks_of(text), place, given),
                              encoding="utf-8")
            return subprocess.run(["bash", script, place], cwd=place,
                                  capture_output=True, text=True, check=False)

    def test_a_command_without_mark_is_told(self):
        self.assertEqual([3], unmarked("a\n\n```sh\nls\n```\n"))
        self.assertEqual([], unmarked("<!-- not run: why -->\n```sh\nls\n```\n"))
        self.assertEqual([], unmarked("```yaml\na: b\n```\n"))

    def test_output_is_compared_line_by_line(self):
        self.assertTrue(is_expected("a ... c\nlast", "x\na b c\ny\nlast\n"))
        self.assertFalse(is_expected("last\na", "a\nlast\n"))
        self.assertFalse(is_expected("b", "a b c"))

    def test_a_command_that_fails_fails_the_page(self):
        for text, code in (("false\na=1\n", 1), ("a=1\n", 0)):
            done = self.bash(f"<!-- run -->\n```sh\n{text}```\n"
                             '<!-- run -->\n```sh\n[ "$a" = 1 ]\n```\n')
            self.assertEqual(code, done.returncode, done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", type=pathlib.Path)
    parser.add_argument("--given", type=pathlib.Path)
    parser.add_argument("--keep", action="store_true")
    parser.add_argument("--self-test", action="store_true")
    parser.add_argument("page", nargs="?")
    options = parser.parse_args()
    if options.self_test:
        unittest.main(argv=[sys.argv[0]])
    given = options.given.read_text(encoding="utf-8") if options.given else ""
    sys.exit(run_page(options.page, options.bin.resolve(), given,
                      options.keep))


if __name__ == "__main__":
    main()
