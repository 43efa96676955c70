#!/usr/bin/env python3
"""A thousand connectors in one worker.

Idle, each following a file that nobody writes to, under a controller that keeps
its Queue outstanding on each: resident memory and CPU of the worker are printed,
and fail above 300 MB and, on a machine that is not busy, 5 % of a processor
(a third of what it takes is sources that look at their files each 5 s); there are no more threads than
before. Then the controller ends, which deletes them, and begins
again: after a thousand opens and deletes threads, descriptors and metric series
are those of before, and so is memory, to within what an allocator keeps. Beside
connectors that stand still because their disk calls hang, others go on.

  PENSTOCK_CHAOS_CONNECTORS  how many (1000)
  PENSTOCK_CHAOS_IDLE_S      how long CPU is measured (10)
"""
import argparse
import collections
import os
import sys
import time
import urllib.request

import harness

IDLE_BYTES_MAX = 300_000_000
IDLE_CPU_MAX = 0.05
# Of a thousand connectors once they are gone, and the worker has told the
# allocator to let go: pages of which a little is in use (2 to 4 MB in 22; see
# return_test.cc for what is in use). It is as much after four thousand.
KEPT_BYTES_MAX = 30_000_000
# gRPC makes some when it is busy, and ends them when it is not.
THREADS_MORE_MAX = 16
CYCLES = 2
# Their worst case of memory, small enough for a thousand.
LIMITS = ("{memory_max: 4MiB, in_flight_bytes_max: 1MiB, queued_bytes_max: 1MiB, "
          "retained_bytes_max: 1MiB, block_bytes: 64KiB, step_bytes: 128KiB, "
          "step_bytes_max: 256KiB, chunk_bytes_max: 16KiB}")
TICKS = os.sysconf("SC_CLK_TCK")


class Worker:
    """A worker, and what it costs."""

    def __init__(self, programs, site):
        self.socket = os.path.join(site, "w.sock")
        self.port = harness.free_port()
        self.process = programs.start_worker(
            self.socket, os.path.join(site, "worker"), "--memory-max", "64GiB",
            admin=f"127.0.0.1:{self.port}")
        harness.wait_until("the worker", lambda: os.path.exists(self.socket),
                           alive=[self.process])

    def resident(self):
        with open(f"/proc/{self.process.pid}/status", encoding="ascii") as file:
            return next(int(line.split()[1]) * 1024 for line in file
                        if line.startswith("VmRSS:"))

    def threads(self):
        return len(os.listdir(f"/proc/{self.process.pid}/task"))

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))

    def cpu_seconds(self):
        with open(f"/proc/{self.process.pid}/stat", encoding="ascii") as file:
            fields = file.read().rpartition(") ")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS

    def metrics(self):
        url = f"http://127.0.0.1:{self.port}/metrics"
        with urllib.request.urlopen(url, timeout=harness.WAIT_MAX) as answer:
            return [line for line in answer.read().decode().splitlines()
                    if line and not line.startswith("#")]

    def look(self, what):
        """Prints and returns what there is."""
        found = Look(self.resident(), self.threads(), self.descriptors(),
                     len(self.metrics()))
        print(f"{what}: {found.resident / 1e6:.0f} MB, {found.threads} threads, "
              f"{found.descriptors} descriptors, {found.series} series",
              flush=True)
        return found

    def connectors(self):
        """How many are open."""
        return next(int(line.split()[1]) for line in self.metrics()
                    if line.startswith("penstock_connectors "))


Look = collections.namedtuple("Look", "resident threads descriptors series")


def check(holds, what):
    if not holds:
        raise harness.Failure(what)


def check_idle(worker, nothing, count, seconds):
    time.sleep(10)  # Until nothing of the opens is under way.
    for _ in range(3):  # Another program may make it look like more.
        before, began = worker.cpu_seconds(), time.monotonic()
        time.sleep(seconds)
        cpu = (worker.cpu_seconds() - before) / (time.monotonic() - began)
        if cpu <= IDLE_CPU_MAX:
            break
    idle = worker.look(f"{count} idle")
    print(f"{count} idle: {cpu:.1%} of a processor", flush=True)
    check(idle.resident <= IDLE_BYTES_MAX, "idle connectors take memory")
    if os.getloadavg()[0] < os.cpu_count():
        check(cpu <= IDLE_CPU_MAX, "idle connectors take a processor's time")
    elif cpu > IDLE_CPU_MAX:
        print("NOT JUDGED: others keep this machine busy, which adds to it",
              flush=True)
    check(idle.threads <= nothing.threads + THREADS_MORE_MAX,
          "idle connectors have threads")


class Idle:
    """A pipeline of connectors that have nothing to do."""

    def __init__(self, programs, site, worker, count):
        self.programs, self.worker, self.count = programs, worker, count
        self.pipeline = os.path.join(site, "pipeline.yaml")
        lines = ["name: idle", f"store: '{harness.default_store(site)}'",
                 "level: at_least_once",
                 f"workers: [{{address: 'unix:{worker.socket}'}}]",
                 "connectors:"]
        for i in range(count):
            source = os.path.join(site, f"in{i}.ndjson")
            open(source, "wb").close()
            lines.append(f"  - {{name: c{i}, source: {{file: {{path: '{source}',"
                         " follow: true}}, format: {ndjson: {}}, sink: {'null': "
                         f"{{}}}}, limits: {LIMITS}}}")
        with open(self.pipeline, "w", encoding="utf-8") as out:
            out.write("\n".join(lines) + "\n")

    def start(self):
        self.run = self.programs.start_run(self.pipeline)
        harness.wait_until("all to be open", lambda: (
            time.sleep(0.2), self.worker.connectors() == self.count)[1],
            alive=[self.run, self.worker.process])

    def stop(self):
        self.run.terminate()
        harness.wait_for_end(self.run, 0)
        harness.wait_until("none to be open", lambda: (
            time.sleep(0.2), self.worker.connectors() == 0)[1],
            alive=[self.worker.process])


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    count = harness.setting("CONNECTORS", 1000)
    seconds = harness.setting("IDLE_S", 10)

    def test(programs, directory):
        worker = Worker(programs, directory)
        idle = Idle(programs, directory, worker, count)
        worker.metrics()  # Its thread is there from now on.
        nothing = worker.look("nothing")
        for cycle in range(CYCLES):
            started = time.monotonic()
            idle.start()
            print(f"{count} open after {time.monotonic() - started:.1f} s",
                  flush=True)
            if cycle == 0:
                check_idle(worker, nothing, count, seconds)
            idle.stop()

        def is_as_before():
            return worker.resident() <= nothing.resident + KEPT_BYTES_MAX

        harness.wait_until("memory to be given back", is_as_before,
                           alive=[worker.process])
        none = worker.look(f"none, after {CYCLES * count} deletes")
        check(none.series == nothing.series, "metric series are left")
        check(none.descriptors <= nothing.descriptors + 2,
              "descriptors are left")
        check(none.threads <= nothing.threads + THREADS_MORE_MAX,
              "threads are left")

    return harness.main("scale", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
