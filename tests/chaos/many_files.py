#!/usr/bin/env python3
"""Very many small files, with SIGKILL: each line comes out exactly once.

More files than one step's result has room for: steps say what they changed,
and a checkpoint takes the whole position. Worker and controller are killed while
all is read, and again while some files grow and others come. Looked at besides:
how long the journaled steps are, and how much memory the worker took.
"""
import argparse
import contextlib
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time

import harness

SEED = harness.setting("MANY_FILES_SEED", 7)
FILES = harness.setting("MANY_FILES", 12_000)
KILLS = harness.setting("MANY_FILES_KILLS", 4)
PER_DIRECTORY = 1000
# What StepResult has room for.
STEP_RESULT_BYTES_MAX = 256 << 10
# Beside what a worker takes that has nothing to do: the file that is known, its
# place behind the last step, and its share of a whole position, three times
# (made, retained, being read).
WORKER_BYTES_MAX = (160 << 20) + 2_500 * FILES


class ManyFiles:
    def __init__(self, programs, directory):
        self._programs = programs
        self._logs = os.path.join(directory, "in")
        self._out = os.path.join(directory, "out")
        self._store = os.path.join(directory, "state.db")
        self._pipeline = os.path.join(directory, "pipeline.yaml")
        self._run = None
        self.written = 0
        self.step_bytes = 0
        self.worker_bytes = 0
        with open(self._pipeline, "w", encoding="utf-8") as out:
            out.write(
                "name: many\n"
                f"store: '{harness.default_store(directory)}'\n"
                "checkpoint_interval: 500ms\n"
                "connectors:\n"
                "  - name: logs\n"
                f"    source: {{file: {{path: '{self._logs}/*/*.log', "
                "follow: true}}\n"
                "    format: {raw: {}}\n"
                f"    sink: {{file: {{path: '{self._out}'}}}}\n"
                "    shards: 2\n")

    def append(self, number):
        """A line of its own to file `number`, which may be new."""
        directory = os.path.join(self._logs, f"d{number // PER_DIRECTORY}")
        os.makedirs(directory, exist_ok=True)
        with open(os.path.join(directory, f"{number}.log"), "ab") as out:
            out.write(b"line %d\n" % self.written)
        self.written += 1

    def start(self):
        self._run = self._programs.start_run(self._pipeline)
        harness.wait_until("a local worker",
                           lambda: harness.child_of(self._run),
                           alive=[self._run])

    def look(self):
        """Longest step in the journal, and the worker's peak."""
        with contextlib.suppress(sqlite3.Error, FileNotFoundError):
            with contextlib.closing(sqlite3.connect(
                    f"file:{self._store}?mode=ro", uri=True)) as store:
                (longest,) = store.execute(
                    "SELECT max(length(seek) + length(watermarks)) "
                    "FROM journal").fetchone()
                self.step_bytes = max(self.step_bytes, longest or 0)
        worker = harness.child_of(self._run)
        with contextlib.suppress(FileNotFoundError, TypeError):
            with open(f"/proc/{worker}/status", encoding="ascii") as status:
                for line in status:
                    if line.startswith("VmHWM:"):
                        self.worker_bytes = max(self.worker_bytes,
                                                int(line.split()[1]) << 10)

    def kill(self):
        self.look()
        if self._run.poll() is not None:
            raise harness.Failure(f"the run ended with {self._run.returncode}")
        child = harness.child_of(self._run)
        if child is not None:
            os.kill(child, signal.SIGKILL)
        harness.kill(self._run)

    def stop(self):
        self._run.send_signal(signal.SIGTERM)
        harness.wait_for_end(self._run, 0, harness.NOT_CHECKPOINTED)

    def bytes_out(self):
        return harness.committed_bytes(self._out)

    def await_bytes(self, count):
        def reached():
            self.look()
            return self.bytes_out() >= count
        harness.wait_until(f"{count} bytes", reached, alive=[self._run])

    def check(self):
        numbers = sorted(int(line.split()[1])
                         for lines in harness.committed_lines(self._out)
                         for line in lines)
        if numbers != list(range(self.written)):
            raise harness.Failure(
                f"{self.written} lines went in, {len(numbers)} came out, "
                f"{len(set(numbers))} of them different")


def bytes_of(lines):
    return sum(len(b"line %d\n" % n) for n in range(lines))


def play(programs, directory, rng):
    many = ManyFiles(programs, directory)
    for number in range(FILES):
        many.append(number)
    begun = time.monotonic()
    many.start()
    total = bytes_of(many.written)
    for kill in range(1, KILLS + 1):
        many.await_bytes(total * kill // (KILLS + 1))
        many.kill()
        many.start()
    many.await_bytes(total)
    print(f"{FILES} files were read in {time.monotonic() - begun:.1f} s",
          flush=True)
    for _ in range(2):
        for _ in range(300):
            many.append(rng.randrange(FILES + 50))
        many.kill()
        many.start()
        many.await_bytes(bytes_of(many.written))
    many.stop()
    many.check()
    if many.step_bytes > STEP_RESULT_BYTES_MAX:
        raise harness.Failure(f"a step took {many.step_bytes} bytes")
    if many.worker_bytes > WORKER_BYTES_MAX:
        raise harness.Failure(f"the worker took {many.worker_bytes} bytes, "
                              f"more than {WORKER_BYTES_MAX}")
    print(f"{many.written} lines, {KILLS + 2} kills, longest step "
          f"{many.step_bytes} bytes, worker {many.worker_bytes >> 20} MiB",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="penstock-many-files-") as root:
        log = open(os.path.join(root, "log"), "wb")
        programs = harness.Programs(arguments.bin, log)
        try:
            play(programs, root, random.Random(SEED))
        except harness.Failure as failure:
            log.flush()
            with open(os.path.join(root, "log"), "rb") as text:
                sys.stderr.buffer.write(text.read()[-6000:])
            print(f"FAILED: {failure}", file=sys.stderr)
            return 1
        finally:
            programs.end_all()
    return 0


if __name__ == "__main__":
    sys.exit(main())
