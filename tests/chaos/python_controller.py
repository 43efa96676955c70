#!/usr/bin/env python3
"""The controller of deploy/examples/python, and the worker, are killed.

It is made from the protos alone, without a line of ours below it. Each round: a
fresh pipeline of two connectors, SIGKILL of worker, controller or both, midway;
then it goes on to its end, and every record must be there exactly once, counted
by Python alone.

  PENSTOCK_CHAOS_ROUNDS   rounds (6)
  PENSTOCK_CHAOS_RECORDS  records of each file (200,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import json
import os
import random
import subprocess
import sys
import time

import harness

HERE = os.path.dirname(os.path.realpath(__file__))
EXAMPLE = os.path.join(HERE, "..", "..", "deploy", "examples", "python")
PYTHON = "/usr/bin/python3"  # Debian's, which finds Debian's modules.
NAMES = ("orders", "returns")
LIMITS = {"block_bytes": "131072", "step_bytes": "65536",
          "step_bytes_max": "131072", "chunk_bytes_max": "32768"}
KINDS = ("worker", "controller", "both")
# Neither blank nor comment.
LINES_MAX = 150


def need_grpc():
    asked = subprocess.run(
        [PYTHON, "-c", "import grpc, google.protobuf, xxhash"],
        capture_output=True, text=True, check=False)
    if asked.returncode != 0:
        print(f"NOTHING WAS TESTED: {asked.stderr.splitlines()[-1]}")
        raise SystemExit(77)


def check_length():
    with open(os.path.join(EXAMPLE, "controller.py"), encoding="utf-8") as file:
        lines = [line for line in map(str.strip, file)
                 if line and not line.startswith("#")]
    if len(lines) >= LINES_MAX:
        raise harness.Failure(f"the controller has {len(lines)} lines, and is "
                              f"said to have less than {LINES_MAX}")


class Site:
    def __init__(self, programs, directory, source, modules):
        self.programs = programs
        self.directory = harness.fresh(directory)
        self.source = source
        self.socket = os.path.join(directory, "w.sock")
        self.pipeline = os.path.join(directory, "pipeline.json")
        self._modules = modules
        self._write_pipeline()
        self.start_worker()
        self.start_controller()

    def _write_pipeline(self):
        with open(self.pipeline, "w", encoding="utf-8") as out:
            json.dump({
                "name": "python", "store": f"sqlite:{self.directory}/state.db",
                "checkpointInterval": "0.2s",
                "workers": [{"address": f"unix:{self.socket}"}],
                "connectors": [{
                    "name": name, "source": {"file": {"path": self.source.path}},
                    "format": {"ndjson": {"key": "key"}},
                    "sink": {"file": {"path": self.out(name)}},
                    "shards": harness.SHARDS, "limits": LIMITS}
                               for name in NAMES]}, out)

    def out(self, name):
        return os.path.join(self.directory, name)

    def start_worker(self):
        self.worker = self.programs.start_worker(
            self.socket, os.path.join(self.directory, "worker"))

    def start_controller(self):
        self.run = self.programs.start(
            [PYTHON, "-B", os.path.join(EXAMPLE, "controller.py"),
             self.pipeline], {"PYTHONPATH": self._modules})

    def committed(self):
        return sum(harness.committed_bytes(self.out(name)) for name in NAMES)

    def strike(self, kind):
        if kind in ("worker", "both"):
            harness.kill(self.worker)
        if kind in ("controller", "both"):
            harness.kill(self.run)
        if kind in ("worker", "both"):
            self.start_worker()
        if kind in ("controller", "both"):
            self.start_controller()

    def finish(self):
        harness.wait_for_end(self.run, 0)
        for name in NAMES:
            found = harness.fingerprint_of_output(self.out(name))
            if found != self.source.print:
                raise harness.Failure(
                    f"{name} has {found}, the file {self.source.print}")
        harness.kill(self.worker)


def play_round(site, rng, kind):
    """Returns the shares at which it was killed."""
    shares = []
    whole = site.source.print.bytes * len(NAMES)
    for moment in sorted(rng.uniform(0.05, 0.8)
                         for _ in range(rng.choice((1, 2)))):
        harness.wait_until("commits", lambda moment=moment: site.committed() >=
                           moment * whole or site.run.poll() is not None)
        time.sleep(rng.uniform(0, 0.03))
        if site.run.poll() is not None:
            break
        site.strike(kind)
        shares.append(site.committed() / whole)
    site.finish()
    if not shares or shares[0] >= 1:
        raise harness.TooLate("every kill came after the last commit")
    return shares


def stale(site):
    """Two controllers of one pipeline: the older one ends by itself."""
    older = site.run
    harness.wait_until("commits", lambda: site.committed() > 0, alive=[older])
    site.start_controller()
    # Both of its connectors, whichever heard of it.
    code = harness.wait_for_end(older, 0, 1)
    site.finish()
    if code == 0:
        raise harness.TooLate("it had done all before the other one began")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    rounds = harness.setting("ROUNDS", 6)
    records = harness.setting("RECORDS", 200_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    need_grpc()
    print(f"python_controller: seed {seed}, {rounds} rounds, {records} records",
          flush=True)

    def test(programs, directory):
        check_length()
        rng = random.Random(seed)
        sources = harness.growing_source(directory, records, seed)
        modules = os.path.join(directory, "modules")
        subprocess.run([os.path.join(EXAMPLE, "generate.sh"), modules],
                       check=True)
        place = os.path.join(directory, "s")
        for number in range(rounds):
            kind = KINDS[number % len(KINDS)]
            shares = harness.strike_in_time(
                programs, lambda trial, kind=kind: play_round(
                    Site(programs, place, sources[trial], modules), rng, kind))
            print(f"round {number + 1}: {kind} killed at "
                  f"{', '.join(f'{share:.0%}' for share in shares)}, exactly "
                  "once", flush=True)
        harness.strike_in_time(programs, lambda trial: stale(
            Site(programs, place, sources[trial], modules)))
        print("stale: the older controller ended, exactly once", flush=True)

    return harness.main("python_controller", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
