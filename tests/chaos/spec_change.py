#!/usr/bin/env python3
"""Edits the pipeline file in the middle of its input, with SIGKILL around it.

Part one changes shards (4 to 2), key and limits while steps wait to be
replayed, and kills the controller, alone and together with the worker, at each
named point on the way: replay under the old specification, the clean
checkpoint, the reopening, the first new step.

Part two edits the file again and again, as often as it kills. In the end every
record is there once, and in order within its shard, whichever shards there
were. Part three changes what may not change: a clear refusal, no trace.
"""
import argparse
import os
import random
import signal
import subprocess
import sys

import harness

RECORDS = 200_000
SEED = 31
ROUNDS = harness.setting("ROUNDS", 25)
# Small steps and chunks, so that there is a middle.
LIMITS = {"block_bytes": "64KiB", "step_bytes": "128KiB",
          "step_bytes_max": "256KiB", "chunk_bytes_max": "32KiB",
          "step_linger": "20ms"}
BEFORE = {"shards": 4, "key": "key", "limits": LIMITS}
AFTER = {"shards": 2, "key": "id",
         "limits": {**LIMITS, "chunk_bytes_max": "16KiB", "step_bytes": "64KiB"}}
# Steps of 1 MiB, to be replayed where no more than 512 KiB may be in flight; few
# at a time, or one transaction might journal all there are.
LARGE = {**BEFORE, "limits": {**LIMITS, "step_bytes": "1MiB",
                              "step_bytes_max": "1MiB", "step_linger": "2s",
                              "steps_outstanding_max": 2}}
AT_ONCE = {**BEFORE, "limits": {
    **LIMITS, "step_bytes": "64KiB", "step_bytes_max": "128KiB",
    "block_bytes": "32KiB", "queued_bytes_max": "256KiB",
    "in_flight_bytes_max": "512KiB", "retained_bytes_max": "1MiB",
    "memory_max": "2MiB", "steps_outstanding_max": 1}}
# The life that takes the clean checkpoint sends no CommitCheckpoint any more.
POINTS = ("before_prepare", "after_prepare", "after_checkpoint_stored",
          "result_received", "before_journal", "after_journal", "after_release")


class Pipeline:
    """One pipeline, its worker, and the file as it was edited last."""

    def __init__(self, programs, directory, source, checkpoint):
        self.programs = programs
        self.directory = harness.fresh(directory)
        self.source = source
        self.checkpoint = checkpoint
        self.socket = os.path.join(directory, "w.sock")
        self.state = os.path.join(directory, "worker")
        self.worker = programs.start_worker(self.socket, self.state)

    def edit(self, spec):
        self.path = harness.write_pipeline(
            self.directory, self.source, socket=self.socket,
            checkpoint=self.checkpoint, **spec)

    def crash_at(self, point, count=1):
        run = self.programs.start_run(self.path, "--crash-at",
                                      f"{point}:{count}")
        harness.wait_for_end(run, -signal.SIGKILL)

    def kill_worker(self):
        harness.kill(self.worker)
        self.worker = self.programs.start_worker(self.socket, self.state)

    def finish(self, source_print):
        harness.wait_for_end(self.programs.start_run(self.path), 0)
        harness.verify(self.programs, self.path, source_print)
        harness.kill(self.worker)


def crash_around_the_change(programs, directory, source, source_print):
    passed = 0
    for name, before, steps, after in (("clean checkpoint", BEFORE, 7, AFTER),
                                       ("at once", LARGE, 2, AT_ONCE)):
        for point in POINTS:
            for with_worker in (False, True):
                try:
                    pipeline = Pipeline(programs, directory, source, "0s")
                    pipeline.edit(before)
                    # Nothing is checkpointed: all of it waits to be replayed.
                    pipeline.crash_at("after_journal", steps)
                    pipeline.edit(after)
                    pipeline.crash_at(point)
                    if with_worker:
                        pipeline.kill_worker()
                    pipeline.finish(source_print)
                except harness.Failure as failure:
                    raise harness.Failure(
                        f"{name}, {point}, "
                        f"{'with the worker' if with_worker else 'alone'}: "
                        f"{failure}") from None
                shards = len(harness.progress(
                    os.path.join(directory, "out")))
                if shards != after["shards"]:
                    raise harness.Failure(f"{name}, {point}: the target has "
                                          f"{shards} shards")
                passed += 1
    print(f"around the change: {passed} crashes, exactly once after each",
          flush=True)


def edit_and_kill(programs, directory, source, source_print, seed):
    rng = random.Random(seed)
    pipeline = None
    edits = kills = pipelines = 0
    shards_seen = set()
    for _ in range(ROUNDS):
        if pipeline is None:
            pipeline = Pipeline(programs, directory, source, "50ms")
            pipelines += 1
        # Of one round in four nothing may change but what is at once.
        shards, key = 4, "key"
        if rng.random() < 0.75:
            shards, key = rng.randint(1, 6), rng.choice(["key", "id", "word"])
        pipeline.edit({"shards": shards, "key": key, "limits": {
            **LIMITS, "step_bytes": f"{rng.choice([32, 64, 128])}KiB",
            "chunk_bytes_max": f"{rng.choice([8, 16, 32])}KiB"}})
        edits += 1
        run = programs.start_run(pipeline.path)
        try:
            run.wait(rng.uniform(0.02, 0.25))
            if run.returncode != 0:
                raise harness.Failure(f"a run ended with {run.returncode}")
            # All of it was delivered: another pipeline takes its turn.
            pipeline.finish(source_print)
            pipeline = None
            continue
        except subprocess.TimeoutExpired:
            pass
        if rng.random() < 0.5:
            pipeline.kill_worker()
            kills += 1
        if rng.random() < 0.8:
            harness.kill(run)
            kills += 1
        else:
            # In order: a last checkpoint, under whichever specification; none
            # if it was replaying, or its worker was away; at once if it still
            # opened its store.
            run.terminate()
            harness.wait_for_end(run, 0, harness.NOT_CHECKPOINTED,
                                 -signal.SIGTERM)
        shards_seen.add(len(harness.progress(
            os.path.join(directory, "out"))))
    if len(shards_seen) < 2:
        raise harness.Failure("no edit took effect between the kills")
    if pipeline is not None:
        pipeline.finish(source_print)
    print(f"edits at random: {edits} edits of {pipelines} pipelines, {kills} "
          f"kills, {len(shards_seen)} numbers of shards, exactly once",
          flush=True)


def refuse(programs, directory, source):
    pipeline = Pipeline(programs, directory, source, "0s")
    pipeline.edit(BEFORE)
    pipeline.crash_at("after_journal", 7)
    out = os.path.join(pipeline.directory, "out")
    before = harness.snapshot(out)
    other = os.path.join(pipeline.directory, "other.ndjson")
    harness.make_records(other, 10, SEED)
    pipeline.source = other
    pipeline.edit(AFTER)
    ended = programs.call("run", pipeline.path)
    text = ended.stderr.decode()
    if ended.returncode != 2 or "source.file.path" not in text or (
            "shards" in text):
        raise harness.Failure(f"another input: {ended.returncode}, {text}")
    if harness.snapshot(out) != before:
        raise harness.Failure("a refusal changed the target")
    harness.kill(pipeline.worker)
    print("another input: refused by name, target untouched", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    seed = harness.setting("SEED", SEED)

    def test(programs, directory):
        source = os.path.join(directory, "in.ndjson")
        harness.make_records(source, RECORDS, SEED)
        source_print = harness.fingerprint_of_file(source)
        case = os.path.join(directory, "c")
        crash_around_the_change(programs, case, source, source_print)
        edit_and_kill(programs, case, source, source_print, seed)
        refuse(programs, case, source)

    return harness.main("spec_change", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
