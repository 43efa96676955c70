#!/usr/bin/env python3
"""How long a pipeline stands still when its worker is killed and replaced.

A file that grows all the time is followed by a connector with four shards. Each
round kills the worker by SIGKILL, starts another one at once, and takes the time
from the moment when that one listens until the first step that was not committed
at the kill is: all of reconnecting, opening, replaying and the first steps. In
turn the replacement listens at the same address (TCP), and at another one of the
worker's list (a Unix socket). It prints each figure, and the median of each.

Figures are of a quiet machine only, so by default nothing is demanded of them:

  PENSTOCK_CHAOS_ROUNDS  rounds (4); the figures in tests/bench are of 40
  --median-max SECONDS   fails when a median is above this
"""
import argparse
import os
import socket
import statistics
import sys
import threading
import time

import harness

SHARDS = 4
# What the source gets, again and again.
LINES, EVERY = 200, 0.01


class Growth:
    """Appends records to a file for as long as it lives."""

    def __init__(self, path):
        self._path = path
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._append, daemon=True)
        open(path, "wb").close()
        self._thread.start()

    def _append(self):
        number = 0
        with open(self._path, "ab", buffering=0) as out:
            while not self._ended.wait(EVERY):
                lines = b"".join(
                    b'{"id":%d,"key":"k%d","pad":"%080d"}\n' % (
                        number + i, (number + i) % 997, i)
                    for i in range(LINES))
                out.write(lines)
                number += LINES

    def end(self):
        self._ended.set()
        self._thread.join()


class Scene:
    def __init__(self, programs, site):
        self.programs, self.site = programs, harness.fresh(site)
        self.out = os.path.join(site, "out")
        self.source = os.path.join(site, "in.ndjson")
        self.growth = Growth(self.source)
        self.places = [f"127.0.0.1:{harness.free_port()}",
                       f"unix:{os.path.join(site, 'w.sock')}"]
        self.pipeline = os.path.join(site, "pipeline.yaml")
        with open(self.pipeline, "w", encoding="utf-8") as out:
            out.write(f"""name: replaced
store: '{harness.default_store(site)}'
checkpoint_interval: 1s
workers: [{{name: w, address: '{self.places[0]}',
            other_addresses: ['{self.places[1]}']}}]
connectors:
  - name: growing
    source: {{file: {{path: '{self.source}', follow: true}}}}
    format: {{ndjson: {{key: key}}}}
    sink: {{file: {{path: '{self.out}'}}}}
    shards: {SHARDS}
""")
        self.start_worker(0)
        self.run = programs.start_run(self.pipeline)

    def start_worker(self, place):
        self.place = place
        address = self.places[place]
        self.worker = self.programs.start_worker_at(
            address, os.path.join(self.site, f"state{place}"))

    def listens(self):
        address = self.places[self.place]
        if address.startswith("unix:"):
            probe = socket.socket(socket.AF_UNIX)
            where = address[len("unix:"):]
        else:
            probe = socket.socket()
            host, port = address.split(":")
            where = (host, int(port))
        with probe:
            return probe.connect_ex(where) == 0

    def committed_steps(self):
        """Below this every shard holds every step."""
        return min(harness.progress(self.out), default=0)

    def replace(self, place):
        """Seconds from listening to the first new step."""
        before = self.committed_steps()
        harness.wait_until("steps", lambda: self.committed_steps() > before + 5,
                           alive=[self.run, self.worker])
        harness.kill(self.worker)
        before = self.committed_steps()
        self.start_worker(place)
        harness.wait_until("the replacement", self.listens,
                           alive=[self.run, self.worker])
        listened = time.monotonic()
        harness.wait_until("a new step",
                           lambda: self.committed_steps() > before,
                           alive=[self.run, self.worker])
        return time.monotonic() - listened


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--median-max", type=float)
    arguments = parser.parse_args()

    def test(programs, directory):
        scene = Scene(programs, os.path.join(directory, "r"))
        seconds = {"same address": [], "another address": []}
        try:
            for number in range(harness.setting("ROUNDS", 4)):
                # Same, other, same (there), other (back).
                moves = number % 2 == 1
                place = scene.place ^ moves
                took = scene.replace(place)
                kind = "another address" if moves else "same address"
                seconds[kind].append(took)
                print(f"round {number + 1}: {kind}: {took * 1000:.0f} ms",
                      flush=True)
        finally:
            scene.growth.end()
        for kind, each in seconds.items():
            if not each:
                continue
            median = statistics.median(each)
            print(f"{kind}: median {median * 1000:.0f} ms of {len(each)}, "
                  f"{min(each) * 1000:.0f} to {max(each) * 1000:.0f} ms")
            if arguments.median_max and median > arguments.median_max:
                raise harness.Failure(f"{kind}: the median is above "
                                      f"{arguments.median_max} s")

    return harness.main("replacement", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
