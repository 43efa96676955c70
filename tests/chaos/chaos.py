#!/usr/bin/env python3
"""Kills worker and controller at random moments; proves the delivery level.

Each round: a fresh pipeline over one large file, one to three SIGKILLs while
output is being committed, then the run goes on to its end and is verified by
`penstock verify` and by an independent count. In rounds at exactly_once every
record must be there once, in rounds at at_least_once none may be lost, and what
is doubled is counted. Then: processes that are stopped, replaced and woken.

  PENSTOCK_CHAOS_ROUNDS   rounds of each level (25)
  PENSTOCK_CHAOS_RECORDS  records of the file (2,000,000 at exactly_once,
                          400,000 elsewhere)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import collections
import os
import random
import signal
import sqlite3
import sys
import time

import harness
import strikes

# Hundreds of steps instead of 5, so that kills meet many commits, and the run is
# not over before they come.
LIMITS = {"block_bytes": "128KiB", "step_bytes": "64KiB",
          "step_bytes_max": "128KiB", "chunk_bytes_max": "32KiB"}
# Below exactly-once a commit is a batch.
DELIVERY = {"batch_bytes_max": "128KiB"}
EXACTLY_ONCE, AT_LEAST_ONCE = "exactly_once", "at_least_once"
KINDS = ("worker", "controller", "both", "local worker", "local both")


class Site:
    """One fresh pipeline with the processes that drive it."""

    def __init__(self, programs, directory, source, local,
                 level=EXACTLY_ONCE, sink=None):
        self.programs = programs
        self.level = level
        self.directory = harness.fresh(directory)
        self.out = os.path.join(directory, "out")
        self.socket = None if local else os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, source.path, socket=self.socket, limits=LIMITS,
            delivery=DELIVERY, level=level, sink=sink)
        self.worker = self.run = None
        if not local:
            self.start_worker()
        self.start_run()

    def start_worker(self):
        self.worker = self.programs.start_worker(
            self.socket, os.path.join(self.directory, "worker"))

    def start_run(self, *more):
        self.run = self.programs.start_run(self.pipeline, *more)

    def committed(self):
        return harness.committed_bytes(self.out)

    def wait_for(self, size):
        return harness.wait_until(
            f"{size} committed bytes", lambda: self.committed() >= size,
            alive=[self.run])

    def finish(self, source):
        """Returns how many records are doubled."""
        harness.wait_for_end(self.run, 0)
        doubled = 0
        if self.level == AT_LEAST_ONCE:
            doubled = harness.verify_at_least_once(
                self.programs, self.pipeline, source.counts())
        else:
            harness.verify(self.programs, self.pipeline, source.print)
        if self.worker is not None:
            harness.kill(self.worker)
        return doubled


def play_round(programs, directory, source, rng, kind, level):
    """Returns the shares at which it was killed, and how much is doubled."""
    site = Site(programs, directory, source, kind.startswith("local"), level)
    moments = sorted(rng.uniform(0.02, 0.85)
                     for _ in range(rng.choice((1, 1, 2, 3))))
    seen = []
    for moment in moments:
        site.wait_for(int(moment * source.print.bytes))
        # Anywhere between two commits, not only just behind one.
        time.sleep(rng.uniform(0, 0.03))
        done = site.committed()
        if not strikes.strike(site, kind):
            break
        # What was committed at the kill: the end must not have come before.
        seen.append(done / source.print.bytes)
    doubled = site.finish(source)
    in_time = [share for share in seen if share < 1]
    if not in_time:
        raise harness.TooLate("every kill came after the last commit")
    return in_time, doubled


def stop_between_transactions(process, directory):
    """SIGSTOP, but not while it holds the lock of its SQLite store.

    With that lock it would hold up every other controller of this store until
    it is woken or killed: SQLite has no lease that runs out.
    """
    store = sqlite3.connect(os.path.join(directory, "state.db"), timeout=0,
                            isolation_level=None)
    try:
        deadline = time.monotonic() + harness.WAIT_MAX
        while time.monotonic() < deadline:
            harness.stop(process)
            try:
                store.execute("BEGIN IMMEDIATE")
                store.execute("ROLLBACK")
                return
            except sqlite3.OperationalError:
                process.send_signal(signal.SIGCONT)
                time.sleep(0.003)
        raise harness.Failure("the controller never leaves its store alone")
    finally:
        store.close()


def stopped_worker(programs, directory, source):
    """A worker sleeps, another takes its place; woken, it harms nothing."""
    site = Site(programs, directory, source, local=False)
    site.wait_for(source.print.bytes // 4)
    sleeper = site.worker
    harness.stop(sleeper)
    harness.kill(site.run)
    before = site.committed()
    if before >= source.print.bytes:
        raise harness.TooLate("the worker was stopped after the last commit")
    # Another host has another state directory.
    site.worker = programs.start_worker(
        site.socket, os.path.join(directory, "worker2"))
    site.start_run()
    site.wait_for((before + source.print.bytes) // 2)
    sleeper.send_signal(signal.SIGCONT)
    site.finish(source)
    # Everything it does after waking up must leave the output as it is.
    time.sleep(2)
    harness.verify(programs, site.pipeline, source.print)
    if sleeper.poll() is not None:
        raise harness.Failure(f"the woken worker died: {sleeper.returncode}")
    harness.kill(sleeper)


def stopped_controller(programs, directory, source):
    """A controller sleeps, a second one overtakes it; woken, it ends with 5."""
    site = Site(programs, directory, source, local=False)
    site.wait_for(source.print.bytes // 4)
    sleeper = site.run
    stop_between_transactions(sleeper, site.directory)
    if site.committed() >= source.print.bytes:
        raise harness.TooLate("the controller was stopped after the last commit")
    site.start_run()
    harness.wait_for_end(site.run, 0)
    harness.verify(programs, site.pipeline, source.print)
    before = harness.snapshot(site.out)
    store = store_content(site.directory)
    sleeper.send_signal(signal.SIGCONT)
    harness.wait_for_end(sleeper, 5)
    if harness.snapshot(site.out) != before:
        raise harness.Failure("the woken controller changed the target")
    if store_content(site.directory) != store:
        raise harness.Failure("the woken controller changed its store")
    harness.kill(site.worker)


def overtaken_midway(programs, directory, source):
    """As above, but it wakes while the second one is at work."""
    site = Site(programs, directory, source, local=False)
    site.wait_for(source.print.bytes // 5)
    sleeper = site.run
    stop_between_transactions(sleeper, site.directory)
    before = site.committed()
    site.start_run()
    site.wait_for((before + source.print.bytes) // 2)
    sleeper.send_signal(signal.SIGCONT)
    harness.wait_for_end(sleeper, 5)
    site.finish(source)


def store_content(directory):
    """Every row of every table, read without writing."""
    path = os.path.join(directory, "state.db")
    with sqlite3.connect(f"file:{path}?mode=ro", uri=True) as store:
        tables = [name for (name,) in store.execute(
            "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY 1")]
        return {table: sorted(store.execute(f'SELECT * FROM "{table}"'),
                              key=repr) for table in tables}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    rounds = harness.setting("ROUNDS", 25)
    many = harness.setting("RECORDS", 2_000_000)
    few = harness.setting("RECORDS", 400_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    print(f"chaos: seed {seed}, {rounds} rounds of each level, {many} and "
          f"{few} records", flush=True)

    def play_rounds(programs, site, sources, rng, level):
        kills = collections.Counter()
        doubled = 0
        for number in range(rounds):
            kind = KINDS[number % len(KINDS)]
            started = time.monotonic()
            shares, found = harness.strike_in_time(
                programs, lambda trial, kind=kind: play_round(
                    programs, site, sources[trial], rng, kind, level))
            kills[kind] += len(shares)
            doubled += found
            print(f"round {number + 1:2}: {kind} killed at "
                  f"{', '.join(f'{share:.0%}' for share in shares)}; {level}, "
                  f"{found} doubled; {time.monotonic() - started:.1f} s",
                  flush=True)
        print(f"chaos: {sources[0].print} {level} in each of {rounds} "
              f"rounds, {doubled} doubled; {sum(kills.values())} strikes: "
              f"{dict(kills)}", flush=True)
        # Kills that never catch a step between commit and checkpoint would
        # prove nothing.
        if level == AT_LEAST_ONCE and rounds >= 5 and doubled == 0:
            raise harness.Failure("no kill was followed by a repetition")

    def test(programs, directory):
        rng = random.Random(seed)
        sources = harness.growing_source(directory, few, seed)
        large = harness.growing_source(directory, many, seed)
        site = os.path.join(directory, "s")
        play_rounds(programs, site, large, rng, EXACTLY_ONCE)
        play_rounds(programs, site, sources, rng, AT_LEAST_ONCE)
        for scene in (stopped_worker, stopped_controller, overtaken_midway):
            harness.strike_in_time(
                programs, lambda trial, scene=scene: scene(
                    programs, site, sources[trial]))
            print(f"{scene.__name__}: no harm done", flush=True)

    return harness.main("chaos", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
