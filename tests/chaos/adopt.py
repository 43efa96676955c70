#!/usr/bin/env python3
"""Kills the controller where the connector lives: it is adopted, exactly once.

Each round: one or more SIGKILLs of the controller while output is committed;
the worker lives on. The next controller goes on with the living connector, its
last line says so (`adopted`), and every record is there once. A last round has
the worker killed, too: then nothing can be adopted, and all is as exact.

  PENSTOCK_CHAOS_ADOPT_ROUNDS  rounds (4)
  PENSTOCK_CHAOS_SEED          seed (from the clock; printed)
"""
import argparse
import json
import os
import random
import sys
import time

import harness

RECORDS = 150_000
LIMITS = {"block_bytes": "32KiB", "step_bytes": "64KiB",
          "step_bytes_max": "128KiB", "chunk_bytes_max": "32KiB"}


class Site:
    def __init__(self, programs, directory, source, *more):
        self.programs = programs
        self.more = more
        self.directory = harness.fresh(directory)
        self.socket = os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, source.path, socket=self.socket, limits=LIMITS)
        self.runs = 0
        self.start_worker()
        self.start_run()

    def start_worker(self):
        self.worker = self.programs.start_worker(
            self.socket, os.path.join(self.directory, "worker"))

    def start_run(self):
        self.runs += 1
        self.output = os.path.join(self.directory, f"run-{self.runs}.json")
        with open(self.output, "wb") as output:
            self.run = self.programs.start_run(self.pipeline, *self.more,
                                               output=output)

    def wait_for_share(self, share, source):
        size = int(share * source.print.bytes)
        out = os.path.join(self.directory, "out")
        harness.wait_until(
            f"{size} committed bytes", alive=[self.run],
            condition=lambda: harness.committed_bytes(out) >= size)

    def finish(self, source):
        """Returns how many connectors the last run had adopted; it says as
        well how many it had not, and why."""
        harness.wait_for_end(self.run, 0)
        harness.verify(self.programs, self.pipeline, source.print)
        harness.kill(self.worker)
        with open(self.output, "rb") as output:
            end = json.loads(output.read().splitlines()[-1])
        print(f"adopt: adopted {end['adopted']}, not adopted "
              f"{end['not_adopted']}", flush=True)
        if end["adopted"] + sum(end["not_adopted"].values()) > 1:
            raise harness.Failure("one connector, and more were counted")
        return end["adopted"]


def play(programs, directory, source, rng, kill_worker=False, more=()):
    site = Site(programs, directory, source, *more)
    for moment in sorted(rng.uniform(0.05, 0.8)
                         for _ in range(rng.choice((1, 1, 2)))):
        site.wait_for_share(moment, source)
        time.sleep(rng.uniform(0, 0.03))
        if site.run.poll() is not None:
            break
        harness.kill(site.run)
        if kill_worker:
            harness.kill(site.worker)
            site.start_worker()
        site.start_run()
    if site.runs == 1:
        raise harness.TooLate("the run was over before it was killed")
    return site.finish(source)


def test(programs, directory):
    seed = int(os.environ.get("PENSTOCK_CHAOS_SEED", time.time_ns() % 10**9))
    rounds = harness.setting("ADOPT_ROUNDS", 4)
    print(f"adopt: PENSTOCK_CHAOS_SEED={seed}", flush=True)
    rng = random.Random(seed)
    sources = harness.growing_source(directory, RECORDS, seed)
    adopted = sum(
        harness.strike_in_time(programs, lambda trial: play(
            programs, os.path.join(directory, "r"), sources[trial], rng))
        for _ in range(rounds))
    print(f"adopt: {adopted} of {rounds} rounds ended with an adopted "
          "connector", flush=True)
    # A kill while it is being opened leaves nothing to adopt.
    if adopted == 0:
        raise harness.Failure("no controller adopted a living connector")
    # The same by single calls; one that adopts is enough.
    for turn in range(rounds):
        if harness.strike_in_time(programs, lambda trial: play(
                programs, os.path.join(directory, "c"), sources[trial], rng,
                more=("--single-calls",))):
            print(f"adopt: by single calls in round {turn + 1}", flush=True)
            break
    else:
        raise harness.Failure(
            "no controller adopted a living connector by single calls")
    if harness.strike_in_time(programs, lambda trial: play(
            programs, os.path.join(directory, "k"), sources[trial], rng,
            kill_worker=True)):
        raise harness.Failure("a killed worker's connector was adopted")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    sys.exit(harness.main("adopt", test, arguments.bin))
