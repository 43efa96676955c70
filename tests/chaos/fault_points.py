#!/usr/bin/env python3
"""Crashes controller, worker, and both at every named point of the controller.

`penstock run --crash-at POINT:N` kills itself with SIGKILL there; then the same
command runs to the end, which must find every record exactly once. Or it stops
there, the worker is killed and replaced, and the run goes on to its end. So every
edge of a step's life is cut: flush, journal, release, commit, prepare,
checkpoint, CommitCheckpoint, and once every journaled step was committed.

The worker's own points, between the commit of one shard and of the next and
between commit and acknowledgement, have no name here: the simulation crashes
workers at any event, and the tests of the file sink cut its commit at every
write and sync (tests/simulation, tests/core/sinks/file).
"""
import argparse
import os
import signal
import sys

import harness

RECORDS = 200_000
SEED = 20
CONTROLLER, WORKER, BOTH = "the controller", "the worker", "both"
STEP_POINTS = ("result_received", "before_journal", "after_journal")
# Releases are grouped: there are fewer of them than steps.
RELEASE_POINTS = ("before_release", "after_release")
CHECKPOINT_POINTS = ("before_prepare", "after_prepare",
                     "after_checkpoint_stored", "after_commit_checkpoint")
STEP_COUNTS = (1, 2, 7)
RELEASE_COUNTS = (1, 2, 4)
CHECKPOINT_COUNTS = (1, 2)
# Small steps and chunks, so that each point is passed often.
LIMITS = {"block_bytes": "64KiB", "step_bytes": "128KiB", "step_bytes_max": "256KiB",
          "chunk_bytes_max": "32KiB", "step_linger": "20ms"}


class Case:
    """One pipeline of its own, crashed and brought to its end."""

    def __init__(self, programs, directory, source, source_print,
                 checkpoint="20ms"):
        self.programs = programs
        self.source_print = source_print
        self.socket = os.path.join(directory, "w.sock")
        self.state = os.path.join(directory, "worker")
        harness.fresh(directory)
        self.pipeline = harness.write_pipeline(
            directory, source, socket=self.socket, checkpoint=checkpoint,
            limits=LIMITS)
        self.worker = programs.start_worker(self.socket, self.state)

    def play(self, who, crashes):
        """Crashes `who` in turn at each point, then runs to the end."""
        if who == WORKER:
            # One run, which lives on: only its first point is ever passed.
            point, count = crashes[0]
            run = self.programs.start_run(
                self.pipeline, "--crash-how", "stop", "--crash-at",
                f"{point}:{count}")
            harness.wait_until_stopped(run)
            self.replace_worker()
            run.send_signal(signal.SIGCONT)
        else:
            for point, count in crashes:
                run = self.programs.start_run(
                    self.pipeline, "--crash-at", f"{point}:{count}")
                harness.wait_for_end(run, -signal.SIGKILL)
                if who == BOTH:
                    self.replace_worker()
            run = self.programs.start_run(self.pipeline)
        self.finish(run)

    def replace_worker(self):
        harness.kill(self.worker)
        self.worker = self.programs.start_worker(self.socket, self.state)

    def finish(self, run):
        harness.wait_for_end(run, 0)
        harness.verify(self.programs, self.pipeline, self.source_print)
        harness.kill(self.worker)


def cases():
    """(name, checkpoint interval, crashes), a crash: (point, N)."""
    for points, counts in ((STEP_POINTS, STEP_COUNTS),
                           (RELEASE_POINTS, RELEASE_COUNTS),
                           (CHECKPOINT_POINTS, CHECKPOINT_COUNTS)):
        for point in points:
            for count in counts:
                yield f"{point}:{count}", "20ms", [(point, count)]
    # Only one checkpoint, at the end: everything is journaled and committed,
    # nothing is checkpointed, and recovery finds every step held already.
    yield "all committed", "0s", [("after_prepare", 1)]
    # The recovery crashes as well, before and after its first new step.
    yield "crash in recovery", "20ms", [("after_journal", 3),
                                        ("before_journal", 1),
                                        ("after_release", 1)]
    yield "all committed, twice", "0s", [("after_prepare", 1),
                                         ("after_prepare", 1)]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--only", help="only cases whose name begins so")
    arguments = parser.parse_args()

    def test(programs, directory):
        source = os.path.join(directory, "in.ndjson")
        harness.make_records(source, RECORDS, SEED)
        source_print = harness.fingerprint_of_file(source)
        passed = 0
        for name, checkpoint, crashes in cases():
            if arguments.only and not name.startswith(arguments.only):
                continue
            for who in (CONTROLLER, WORKER, BOTH):
                try:
                    Case(programs, os.path.join(directory, "c"), source,
                         source_print, checkpoint).play(who, crashes)
                except harness.Failure as failure:
                    raise harness.Failure(f"{name}, {who}: {failure}")
                passed += 1
            print(f"{name}: exactly once, whoever crashed", flush=True)
        if passed == 0:
            raise harness.Failure("no such case")
        print(f"fault_points: {passed} cases, exactly once in each")

    return harness.main("fault_points", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
