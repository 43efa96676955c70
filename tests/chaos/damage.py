#!/usr/bin/env python3
"""Damages fence, store and manifest between two runs of real processes.

A run is killed midway, worker included; one file is damaged; the same command
runs again. It must either go on from a previous generation and end exactly
once, or stop with the exit code of damage (3) or of a decision to be made (6).
It is never a silent first run, and nothing is ever doubled.
"""
import argparse
import collections
import os
import random
import shutil
import signal
import sys

import harness

RECORDS = 300_000
SEED = 21
OK, DAMAGED, SUPERSEDED, DECISION = 0, 3, 5, 6
TRIES = 10
# Some 400 steps, so that the kills come in the middle.
LIMITS = {"step_bytes": "64KiB", "step_bytes_max": "128KiB",
          "chunk_bytes_max": "32KiB", "step_linger": "20ms"}


# --- Damages -----------------------------------------------------------------

def empty(path, _rng):
    os.truncate(path, 0)


def nul_filled(path, _rng):
    size = os.path.getsize(path)
    with open(path, "r+b") as file:
        file.write(bytes(size))


def cut_in_half(path, _rng):
    os.truncate(path, os.path.getsize(path) // 2)


def flipped(path, rng):
    at = rng.randrange(os.path.getsize(path))
    with open(path, "r+b") as file:
        file.seek(at)
        byte = file.read(1)[0]
        file.seek(at)
        file.write(bytes([byte ^ 1 << rng.randrange(8)]))


def flipped_early(path, _rng):
    with open(path, "r+b") as file:
        file.seek(21)
        byte = file.read(1)[0]
        file.seek(21)
        file.write(bytes([byte ^ 16]))


def deleted(path, _rng):
    os.unlink(path)


DAMAGES = (empty, nul_filled, cut_in_half, flipped_early, flipped, deleted)


# --- What is damaged, and how the next run may end ---------------------------

def in_worker(*names):
    return lambda site: [os.path.join(site, "worker", n) for n in names]


def store(site):
    return [os.path.join(site, "state.db")]


def store_and_log(site):
    return [path for path in (os.path.join(site, "state.db"),
                              os.path.join(site, "state.db-wal"))
            if os.path.exists(path)]


def highest(prefix):
    def find(site):
        out = os.path.join(site, "out")
        return [os.path.join(out, max(
            name for name in os.listdir(out) if name.startswith(prefix)))]
    return find


def every(prefix):
    def find(site):
        out = os.path.join(site, "out")
        return [os.path.join(out, name) for name in sorted(os.listdir(out))
                if name.startswith(prefix)]
    return find


# The codes with which the second run may end, {} for every damage alike.
TARGETS = {
    # The previous generation serves; the epoch in it is lower than the next.
    "fence": (in_worker("fence"), {OK, DAMAGED}),
    "both generations of the fence": (
        in_worker("fence", "fence.previous"), {DAMAGED}),
    "store": (store, {OK, DAMAGED, DECISION}),
    "store and its log": (store_and_log, {DAMAGED, DECISION}),
    "highest manifest": (highest("manifest."), {OK, DAMAGED, DECISION}),
    "every manifest": (every("manifest."), {DAMAGED, DECISION}),
    "highest data file": (highest("data-"), {OK, DAMAGED, DECISION}),
}
# Bytes of the data are the reader's to check, not the sink's; one wrong byte in
# a page of the store may lie where nothing is kept.
NOT_ALL = {
    "highest data file": {cut_in_half, empty, deleted},
    "store and its log": {empty, nul_filled, deleted},
    "every manifest": {empty, nul_filled, flipped_early, deleted},
    "both generations of the fence": set(DAMAGES),
}


class Trial:
    def __init__(self, programs, directory, source):
        self.programs = programs
        self.source = source
        self.source_print = harness.fingerprint_of_file(source)
        with open(source, "rb") as lines:
            self.records = collections.Counter(lines)
        self.site = os.path.join(directory, "s")
        self.template = os.path.join(directory, "template")
        self.socket = os.path.join(directory, "w.sock")

    def prepare(self):
        """Leaves journaled, committed and checkpointed steps behind."""
        for _ in range(TRIES):
            harness.fresh(self.site)
            if self._run_into_kills():
                os.rename(self.site, self.template)
                return
        raise harness.Failure("each run was over before it was killed")

    def _run_into_kills(self):
        """False: on a loaded machine a run may be over before its kill."""
        pipeline = harness.write_pipeline(
            self.site, self.source, socket=self.socket, checkpoint="100ms",
            limits=LIMITS)
        # The second open is so that there is a previous generation of all.
        for share in (4, 2):
            worker = self._start_worker()
            run = self.programs.start_run(pipeline)
            harness.wait_until(
                f"1/{share} of the output", lambda:
                run.poll() is not None or harness.committed_bytes(
                    os.path.join(self.site, "out"))
                > self.source_print.bytes // share, alive=[worker])
            harness.kill(run)
            harness.kill(worker)
            if run.returncode == 0:
                return False
            if run.returncode != -signal.SIGKILL:
                raise harness.Failure(f"the run ended with {run.returncode}")
        return True

    def _start_worker(self):
        return self.programs.start_worker(
            self.socket, os.path.join(self.site, "worker"))

    def play(self, damage, find, rng):
        """Returns the code with which things ended."""
        shutil.rmtree(self.site, ignore_errors=True)
        shutil.copytree(self.template, self.site)
        for path in find(self.site):
            damage(path, rng)
        before = self._output()
        worker = self._start_worker()
        run = self.programs.start_run(os.path.join(self.site, "pipeline.yaml"))
        # A worker that refuses to start says so; the run could wait for ever.
        harness.wait_until(
            "an end", lambda: run.poll() is not None or
            worker.poll() is not None)
        if worker.poll() is not None:
            harness.kill(run)
            code = worker.returncode
        else:
            code = run.returncode
            harness.kill(worker)
        if code == OK:
            harness.verify(self.programs,
                           os.path.join(self.site, "pipeline.yaml"),
                           self.source_print)
        else:
            doubled = self._output() - self.records
            if doubled and not before - self.records:
                raise harness.Failure(
                    f"stopped with {code}, {len(doubled)} records doubled")
        return code

    def _output(self):
        found = collections.Counter()
        out = os.path.join(self.site, "out")
        for name, size in harness.committed(out).items():
            path = os.path.join(out, name)
            if os.path.exists(path):
                # A flipped length may claim more than memory holds.
                size = min(size, os.path.getsize(path))
                with open(path, "rb") as data:
                    found.update(data.read(size).splitlines(keepends=True))
        return found

    def lost_store_stops(self):
        """A store that is gone without a trace is no first run either."""
        for keep_fence, code in ((True, SUPERSEDED), (False, DECISION)):
            site = harness.fresh(self.site)
            pipeline = harness.write_pipeline(site, self.source)
            harness.wait_for_end(self.programs.start_run(pipeline), OK)
            before = harness.snapshot(os.path.join(site, "out"))
            for name in ("state.db", "state.db-wal", "state.db-shm"):
                if os.path.exists(os.path.join(site, name)):
                    os.remove(os.path.join(site, name))
            if not keep_fence:
                shutil.rmtree(os.path.join(site, "state.db.worker"))
            harness.wait_for_end(self.programs.start_run(pipeline), code)
            if harness.snapshot(os.path.join(site, "out")) != before:
                raise harness.Failure("a run without its store wrote")

    def local_worker_stops(self):
        """`penstock run` with a worker of its own says so and ends with 3."""
        site = harness.fresh(self.site)
        pipeline = harness.write_pipeline(site, self.source)
        harness.wait_for_end(self.programs.start_run(pipeline), OK)
        state = os.path.join(site, "state.db.worker")
        for name in ("fence", "fence.previous"):
            if os.path.exists(os.path.join(state, name)):
                os.truncate(os.path.join(state, name), 3)
        harness.wait_for_end(self.programs.start_run(pipeline), DAMAGED)
        harness.verify(self.programs, pipeline, self.source_print)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()

    def test(programs, directory):
        source = os.path.join(directory, "in.ndjson")
        harness.make_records(source, RECORDS, SEED)
        rng = random.Random(SEED)
        trial = Trial(programs, directory, source)
        trial.prepare()
        wrong = []
        for target, (find, codes) in TARGETS.items():
            for damage in DAMAGES:
                if damage not in NOT_ALL.get(target, DAMAGES):
                    continue
                try:
                    code = trial.play(damage, find, rng)
                except harness.Failure as failure:
                    wrong.append(f"{target} {damage.__name__}: {failure}")
                    continue
                print(f"{target} {damage.__name__}: ended with {code}",
                      flush=True)
                if code not in codes:
                    wrong.append(f"{target} {damage.__name__}: ended with "
                                 f"{code}, allowed is {sorted(codes)}")
        trial.lost_store_stops()
        trial.local_worker_stops()
        if wrong:
            raise harness.Failure("; ".join(wrong))

    return harness.main("damage", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
