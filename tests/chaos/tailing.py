#!/usr/bin/env python3
"""Files that are followed while they are appended to, renamed, compressed, cut
off, deleted: nothing lost, nothing doubled, whenever SIGKILL comes.

Each directory of tests/chaos/tailing is a script: `steps.json` (operations in
order) and `expected.json` (what must have come out). A script is played once as
it is, and again with kills of worker and controller between random operations,
each followed by another start. At last a storm: operations drawn at random.
Exactly once, one shard, raw lines, from files to files.
"""
import argparse
import collections
import gzip
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time

import harness

SCRIPTS = os.path.join(os.path.dirname(os.path.realpath(__file__)), "tailing")
SEED = harness.setting("TAILING_SEED", 39)
KILL_ROUNDS = harness.setting("TAILING_ROUNDS", 2)
STORM_OPERATIONS = harness.setting("TAILING_STORM", 60)


class Tail:
    """A directory of logs, a pipeline that follows them, and its output."""

    def __init__(self, programs, directory, pattern):
        self._programs = programs
        self._logs = os.path.join(directory, "in")
        self._out = os.path.join(directory, "out")
        self._run = None
        os.makedirs(self._logs)
        self._pipeline = os.path.join(directory, "pipeline.yaml")
        with open(self._pipeline, "w", encoding="utf-8") as out:
            out.write(
                "name: tailing\n"
                f"store: '{harness.default_store(directory)}'\n"
                "checkpoint_interval: 100ms\n"
                "connectors:\n"
                "  - name: logs\n"
                "    source: {file: {path: '" + self.path(pattern) +
                "', follow: true}}\n"
                "    format: {raw: {}}\n"
                "    sink: {file: {path: '" + self._out + "'}}\n"
                "    shards: 1\n")

    def path(self, name):
        return os.path.join(self._logs, name)

    def start(self):
        """And waits for its worker: from then on it stops in good order."""
        if self._run is None:
            self._run = self._programs.start_run(self._pipeline)
            harness.wait_until("a local worker",
                               lambda: harness.child_of(self._run),
                               alive=[self._run])

    def stop(self):
        if self._run is None:
            return
        self._run.send_signal(signal.SIGTERM)
        harness.wait_for_end(self._run, 0, harness.NOT_CHECKPOINTED)
        self._run = None

    def kill(self):
        """The worker, then the controller, as if the machine had died."""
        if self._run is None:
            return
        if self._run.poll() is not None:
            raise harness.Failure(f"the run ended with {self._run.returncode}")
        child = harness.child_of(self._run)
        if child is not None:
            os.kill(child, signal.SIGKILL)
        harness.kill(self._run)
        self._run = None

    def lines(self):
        counts = collections.Counter()
        if os.path.isdir(self._out):
            for lines in harness.committed_lines(self._out):
                counts.update(line.rstrip(b"\n").decode() for line in lines)
        return counts

    def await_records(self, count):
        harness.wait_until(
            f"{count} records, of which there are {dict(self.lines())}",
            lambda: sum(self.lines().values()) >= count,
            alive=[self._run] if self._run else [])
        found = sum(self.lines().values())
        if found > count:
            raise harness.Failure(f"{found} records came, not {count}: "
                                  f"{dict(self.lines())}")

    def settle(self, milliseconds):
        before = self.lines()
        time.sleep(milliseconds / 1000)
        if self.lines() != before:
            raise harness.Failure(f"more came: {self.lines() - before}")


# --- Operations --------------------------------------------------------------

def append(tail, path, data):
    with open(tail.path(path), "ab") as out:
        out.write(data)


def write_lines(prefix, count):
    return "".join(f"{prefix}{number}\n" for number in range(count)).encode()


def rewrite(tail, path, data):
    with open(tail.path(path), "r+b") as out:
        out.truncate(0)
        out.write(data)


def gzip_rotate(tail, path, to):
    """As gzip does: the original goes when the copy is whole."""
    with open(tail.path(path), "rb") as plain:
        with gzip.open(tail.path(to), "wb") as packed:
            packed.write(plain.read())
    os.unlink(tail.path(path))


def copytruncate(tail, path, to, late):
    """`late` comes behind what was read, and before the copy is made."""
    append(tail, path, late)
    shutil.copyfile(tail.path(path), tail.path(to))
    os.truncate(tail.path(path), 0)


def symlink_replace(tail, path, to):
    os.symlink(to, tail.path(path + ".new~"))
    os.replace(tail.path(path + ".new~"), tail.path(path))


OPERATIONS = {
    "append": lambda t, s: append(t, s["path"], s["text"].encode()),
    "append_lines": lambda t, s: append(
        t, s["path"], write_lines(s["prefix"], s["count"])),
    "append_nuls": lambda t, s: append(t, s["path"], b"\0" * s["count"]),
    "rewrite_lines": lambda t, s: rewrite(
        t, s["path"], write_lines(s["prefix"], s["count"])),
    "truncate": lambda t, s: os.truncate(t.path(s["path"]), 0),
    "rename": lambda t, s: os.rename(t.path(s["path"]), t.path(s["to"])),
    "unlink": lambda t, s: os.unlink(t.path(s["path"])),
    "create": lambda t, s: append(t, s["path"], b""),
    "symlink": lambda t, s: os.symlink(s["to"], t.path(s["path"])),
    "symlink_replace": lambda t, s: symlink_replace(t, s["path"], s["to"]),
    "gzip_rotate": lambda t, s: gzip_rotate(t, s["path"], s["to"]),
    "copytruncate": lambda t, s: copytruncate(
        t, s["path"], s["to"], s["text"].encode()),
    "mkdir": lambda t, s: os.makedirs(t.path(s["path"])),
    "start": lambda t, s: t.start(),
    "stop": lambda t, s: t.stop(),
    "await": lambda t, s: t.await_records(s["records"]),
    "settle": lambda t, s: t.settle(s["ms"]),
}


# --- Scripts -----------------------------------------------------------------

def load(name):
    def read(file):
        with open(os.path.join(SCRIPTS, name, file), encoding="utf-8") as text:
            return json.load(text)
    return read("steps.json"), read("expected.json")


def expected_lines(expected):
    counts = collections.Counter(expected.get("records") or [])
    for part in expected.get("records_compact", []):
        counts.update(f"{part['prefix']}{n}" for n in range(part["count"]))
    return counts


def play(programs, directory, name, rng):
    """`rng`: draws where to kill; None: nowhere."""
    steps, expected = load(name)
    pattern = expected.get("glob") or steps[0].get("glob") or "a.log"
    tail = Tail(programs, directory, pattern)
    if steps[0]["op"] != "start":
        tail.start()
    kills = 0
    running = True
    for step in steps:
        OPERATIONS[step["op"]](tail, step)
        running = {"start": True, "stop": False}.get(step["op"], running)
        if rng is not None and running and rng.random() < 0.5:
            tail.kill()
            kills += 1
            tail.start()
    wanted = expected_lines(expected)
    tail.await_records(sum(wanted.values()))
    if tail.lines() != wanted:
        raise harness.Failure(f"lost {wanted - tail.lines()}, "
                              f"doubled {tail.lines() - wanted}")
    tail.stop()
    return kills


def storm(programs, directory, rng):
    """A log that is written and rotated, at random, by a chain of names."""
    tail = Tail(programs, directory, "a.log*")
    tail.start()
    written = 0
    kept = 5  # Generations, of which the last is a compressed one.

    def write(name):
        nonlocal written
        count = rng.randrange(1, 200)
        append(tail, name, b"".join(
            b"line %d %s\n" % (written + n, b"x" * rng.randrange(80))
            for n in range(count)))
        written += count

    for _ in range(STORM_OPERATIONS):
        drawn = rng.random()
        if drawn < 0.6:
            write("a.log")
        elif drawn < 0.7 and os.path.exists(tail.path("a.log.1")):
            write("a.log.1")  # By a writer that has not noticed yet.
        elif drawn < 0.85 and os.path.exists(tail.path("a.log")):
            last = f"a.log.{kept}.gz"
            if os.path.exists(tail.path(last)):
                tail.await_records(written)
                os.unlink(tail.path(last))
            for number in range(kept - 1, 0, -1):
                name = f"a.log.{number}"
                if not os.path.exists(tail.path(name)):
                    continue
                if number == kept - 1:
                    gzip_rotate(tail, name, last)
                else:
                    os.rename(tail.path(name),
                              tail.path(f"a.log.{number + 1}"))
            os.rename(tail.path("a.log"), tail.path("a.log.1"))
        elif drawn < 0.95:
            tail.kill()
            tail.start()
        else:
            time.sleep(rng.random())
    tail.await_records(written)
    tail.settle(1500)
    numbers = sorted(int(line.split()[1]) for line in tail.lines().elements())
    if numbers != list(range(written)):
        raise harness.Failure("other lines came out than went in")
    tail.stop()
    return written


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--only", help="one script, or storm")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-tailing-") as root:
        log = open(os.path.join(root, "log"), "wb")
        programs = harness.Programs(arguments.bin, log)
        names = sorted(os.listdir(SCRIPTS))
        trials = [(name, round) for name in names
                  for round in range(KILL_ROUNDS + 1)] + [("storm", 1)]
        try:
            for name, round in trials:
                if arguments.only and arguments.only != name:
                    continue
                rng = random.Random(SEED + round) if round else None
                directory = os.path.join(root, f"{name}-{round}")
                os.makedirs(directory)
                begun = time.monotonic()
                if name == "storm":
                    what = f"{storm(programs, directory, rng)} lines"
                else:
                    what = f"{play(programs, directory, name, rng)} kills"
                print(f"{name}: {what}, {time.monotonic() - begun:.1f} s",
                      flush=True)
                programs.end_all()
        except harness.Failure as failure:
            log.flush()
            with open(os.path.join(root, "log"), "rb") as text:
                sys.stderr.buffer.write(text.read()[-6000:])
            print(f"FAILED: {name}, round {round}: {failure}", file=sys.stderr)
            return 1
        finally:
            programs.end_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
