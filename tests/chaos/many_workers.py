#!/usr/bin/env python3
"""One pipeline over three workers, of which some are lost and replaced.

Nine connectors go to three workers by rank. In each round a worker is killed by
SIGKILL and comes back where it was; or at another address of its list, with a
state directory of its own as on another host; or at an address that nobody had
heard of before the pipeline file was edited, while the controller goes on. Now
and then the controller is killed, too. In a last scene one worker is not there
until the others' connectors have delivered everything: it holds nobody back. In
the end every record of every connector is there exactly once.

  PENSTOCK_CHAOS_ROUNDS  rounds (6)
  PENSTOCK_CHAOS_SEED    draws kinds and moments (29)
"""
import argparse
import os
import random
import sys

import harness

WORKERS = 3
CONNECTORS = 9
RECORDS = 120_000
LIMITS = ("{block_bytes: 32KiB, step_bytes: 64KiB, step_bytes_max: 128KiB, "
          "chunk_bytes_max: 16KiB, queued_bytes_max: 128KiB, "
          "in_flight_bytes_max: 2MiB}")


class Worker:
    """One of the pipeline's workers, whichever process that is just now."""

    def __init__(self, scene, number):
        self.scene, self.name = scene, f"w{number}"
        self.places = 0
        self.addresses = [self.new_address(), self.new_address()]
        self.process = None

    def new_address(self):
        self.places += 1
        return os.path.join(self.scene.site, f"{self.name}-{self.places}.sock")

    def start(self, address):
        # Whoever comes to another address knows no fence.
        self.process = self.scene.programs.start_worker(
            address, address + ".state")
        self.address = address

    def elsewhere(self):
        return next(a for a in self.addresses if a != self.address)


class Scene:
    def __init__(self, programs, site, source):
        self.programs, self.site = programs, harness.fresh(site)
        self.source = source
        self.pipeline = os.path.join(site, "pipeline.yaml")
        self.workers = [Worker(self, i) for i in range(WORKERS)]
        self.write()
        for worker in self.workers:
            worker.start(worker.addresses[0])
        self.run = None

    def outs(self):
        return [os.path.join(self.site, f"out{i}") for i in range(CONNECTORS)]

    def write(self):
        lines = ["name: many", f"store: '{harness.default_store(self.site)}'",
                 "checkpoint_interval: 200ms", "workers:"]
        for worker in self.workers:
            first, *others = [f"'unix:{a}'" for a in worker.addresses]
            lines.append(f"  - {{name: {worker.name}, address: {first}, "
                         f"other_addresses: [{', '.join(others)}]}}")
        lines.append("connectors:")
        for i, out in enumerate(self.outs()):
            lines += [f"  - name: c{i}",
                      f"    source: {{file: {{path: '{self.source.path}'}}}}",
                      "    format: {ndjson: {key: key}}",
                      f"    sink: {{file: {{path: '{out}'}}}}", "    shards: 2",
                      f"    limits: {LIMITS}"]
        # Whoever reads it meanwhile finds the one or the other.
        with open(self.pipeline + ".new", "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")
        os.replace(self.pipeline + ".new", self.pipeline)

    def start_run(self):
        self.run = self.programs.start_run(self.pipeline)

    def delivered(self):
        return [harness.committed_bytes(out) for out in self.outs()]

    def wait_for_progress(self, share, of_total):
        """Until `share` of all that `of_total` connectors read is delivered."""
        goal = share * self.source.print.bytes * of_total
        harness.wait_until(
            f"{share:.0%} of the output", lambda: self.run.poll() is not None
            or sum(sorted(self.delivered())[-of_total:]) >= goal)

    def finish(self):
        harness.wait_for_end(self.run, 0)
        for i, out in enumerate(self.outs()):
            found = harness.fingerprint_of_output(out)
            if found != self.source.print:
                raise harness.Failure(f"c{i}: output has {found}, input "
                                      f"{self.source.print}")
        verdict = self.programs.call("verify", self.pipeline)
        if verdict.returncode != 0:
            raise harness.Failure(f"penstock verify: {verdict.stdout.decode()}"
                                  f"{verdict.stderr.decode()}")


def same_place(scene, worker):
    del scene
    worker.start(worker.address)


def another_address(scene, worker):
    del scene
    worker.start(worker.elsewhere())


def edited_file(scene, worker):
    """Moves to an address that no list had until now."""
    fresh = worker.new_address()
    worker.addresses = [fresh, worker.addresses[0]]
    scene.write()
    worker.start(fresh)


def killed_controller(scene, worker):
    """And the worker, which comes to another address meanwhile."""
    harness.kill(scene.run)
    worker.start(worker.elsewhere())
    scene.start_run()


KINDS = [same_place, another_address, edited_file, killed_controller]


def rounds(programs, site, source, rng, count):
    scene = Scene(programs, site, source)
    scene.start_run()
    for number in range(count):
        scene.wait_for_progress((number + 1) / (count + 2), CONNECTORS)
        if scene.run.poll() is not None:
            raise harness.TooLate("all was delivered already")
        worker = rng.choice(scene.workers)
        kind = KINDS[number % len(KINDS)]
        harness.kill(worker.process)
        kind(scene, worker)
        print(f"round {number + 1}: {worker.name}, {kind.__name__}", flush=True)
    scene.finish()


def one_stays_away(programs, site, source):
    scene = Scene(programs, site, source)
    lost = scene.workers[0]
    harness.kill(lost.process)
    scene.start_run()
    everything = source.print.bytes

    def others_are_done():
        """All that are open have delivered all; and they are some."""
        delivered = scene.delivered()
        return (set(delivered) == {0, everything}
                and delivered.count(0) < CONNECTORS)

    harness.wait_until("the others", others_are_done, alive=[scene.run])
    held = scene.delivered().count(0)
    lost.start(lost.elsewhere())
    scene.finish()
    print(f"{lost.name} stayed away with {held} connectors; the other "
          f"{CONNECTORS - held} delivered everything meanwhile", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    count = harness.setting("ROUNDS", 6)
    seed = harness.setting("SEED", 29)

    def test(programs, directory):
        sources = harness.growing_source(directory, RECORDS, seed)
        rng = random.Random(seed)
        site = os.path.join(directory, "m")
        harness.strike_in_time(
            programs, lambda trial: rounds(
                programs, site, sources[trial], rng, count))
        programs.end_all()
        one_stays_away(programs, site, sources[0])

    return harness.main("many_workers", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
