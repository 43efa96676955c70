#!/usr/bin/env python3
"""Fills the disk below a sink while its source could go on for long.

The output's directory is a small tmpfs. When it is full, writing fails with
STORAGE_FULL, which is tried again: the connector is DEGRADED and says when, the
source is held back, memory stays where it is. Once there is room, everything
arrives, exactly once or at least once, and a run after that finds nothing to do.
In a second scene worker and controller are killed while the disk is full; in a
third one, commands are given meanwhile, and obeyed as ever; in a fourth one the
run is told to stop: it ends, and says what was not checkpointed.

Mounting takes root: without it this is skipped, with exit code 77.

  PENSTOCK_STALL_SECONDS  how long the disk stays full (15)
"""
import argparse
import collections
import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
import urllib.error
import urllib.request

import harness

SKIPPED = 77
SEED = 23
RECORDS = 600_000  # 60 MB: several times all that disk and limits can take.
DISK = "12m"
LARGER_DISK = "160m"
MIB = 1 << 20
# Some 100 steps; 8 + 4 + 4 MiB is all that the connector may hold.
LIMITS = {"step_bytes": "512KiB", "step_bytes_max": "1MiB",
          "chunk_bytes_max": "64KiB", "in_flight_bytes_max": "8MiB",
          "queued_bytes_max": "4MiB", "block_bytes": "256KiB",
          "retained_bytes_max": "4MiB", "memory_max": "16MiB"}
MEMORY_MAX = 16 * MIB
# A worker that has held that much may keep this much more: what it had before
# it opened anything, and what the allocator does not give back.
WORKER_ALLOWANCE = 48 * MIB
# From the moment when the disk is full and the source held back, to the end of
# the stall: reports of errors that are kept (100 of each kind), and no data.
GROWTH_MAX = 2 * MIB


def resident(process):
    with open(f"/proc/{process.pid}/status", encoding="ascii") as status:
        for line in status:
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
    raise harness.Failure(f"process {process.pid} is gone")


class SmallDisk:
    """A tmpfs that is unmounted whatever happens."""

    def __init__(self, path):
        os.makedirs(path)
        self.path = path

    def __enter__(self):
        mount = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={DISK}", "tmpfs", self.path],
            capture_output=True, check=False)
        if mount.returncode != 0:
            raise PermissionError(mount.stderr.decode().strip())
        return self

    def __exit__(self, *_):
        # Lazily: a program that a failure left behind may still write there.
        subprocess.run(["umount", "-l", self.path], check=True)

    def enlarge(self):
        subprocess.run(["mount", "-o", f"remount,size={LARGER_DISK}",
                        self.path], check=True)

    def fill(self):
        """Until nothing can be written any more."""
        with open(os.path.join(self.path, "filler"), "wb", buffering=0) as out:
            with contextlib.suppress(OSError):
                while True:
                    out.write(bytes(1 << 16))

    def empty(self):
        os.remove(os.path.join(self.path, "filler"))

    def free(self):
        found = os.statvfs(self.path)
        return found.f_bfree * found.f_bsize


class Scene:
    def __init__(self, programs, site, source, level):
        self.programs = programs
        self.socket = os.path.join(site, "w.sock")
        self.state = os.path.join(site, "worker")
        self.out = os.path.join(site, "out")
        self.level = level
        self.pipeline = harness.write_pipeline(
            site, source, socket=self.socket, limits=LIMITS, level=level)
        self.worker = self.run = None

    def start(self):
        self.start_worker()
        self.run = self.programs.start_run(self.pipeline)

    def start_worker(self):
        self.admin = f"127.0.0.1:{harness.free_port()}"
        self.worker = self.programs.start_worker(self.socket, self.state,
                                                 admin=self.admin)

    def probe(self, path):
        """(status, body)"""
        try:
            with urllib.request.urlopen(f"http://{self.admin}{path}",
                                        timeout=10) as answer:
                return answer.status, answer.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def status(self):
        """What the worker says of the connector, or None."""
        answer = self.programs.call(
            "connectors", "orders", "--worker", f"unix:{self.socket}",
            "--output", "json")
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def wait_for_stall(self):
        """Returns the status once the disk is full and the source held back."""
        seen = []

        def stalled():
            status = self.status()
            if status is None or not is_full(status):
                seen.clear()
                return None
            seen.append(read_so_far(status))
            # The source has stopped when three looks find the same.
            return status if seen[-3:] == [seen[-1]] * 3 else None

        return harness.wait_until("the sink to stall", stalled,
                                  alive=[self.run, self.worker])

    def finish(self, source, killed):
        """Returns how many records are there twice."""
        harness.wait_for_end(self.run, 0)
        doubled = 0
        if killed and self.level == "at_least_once":
            doubled = harness.verify_at_least_once(
                self.programs, self.pipeline, source.counts())
        else:
            harness.verify(self.programs, self.pipeline, source.print)
        before = harness.committed(self.out)
        harness.wait_for_end(self.programs.start_run(self.pipeline), 0)
        if harness.committed(self.out) != before:
            raise harness.Failure("another run wrote something")
        harness.kill(self.worker)
        return doubled


class Source:
    def __init__(self, path):
        self.path = path
        harness.make_records(path, RECORDS, SEED)
        self.print = harness.fingerprint_of_file(path)

    def counts(self):
        return collections.Counter(harness.lines_of(self.path))


def is_full(status):
    health = status["health"]
    return (health["condition"] == "CONDITION_DEGRADED" and
            "STORAGE_FULL" in health.get("reason", "") and
            "next_attempt" in health)


def read_so_far(status):
    return int(status["totals"]["buffered"].get("bytes", 0))


def mib(size):
    return f"{size / MIB:.1f} MiB"


def stalled(scene, disk, source, seconds):
    """The disk stays full for `seconds`; then there is room."""
    scene.start_worker()
    harness.wait_until("a worker", lambda: os.path.exists(scene.socket))
    idle = resident(scene.worker)
    scene.run = scene.programs.start_run(scene.pipeline)
    status = scene.wait_for_stall()
    check_probes(scene)
    read = read_so_far(status)
    if not 0 < read < source.print.bytes // 2:
        raise harness.Failure(f"{read} of {source.print.bytes} bytes were read "
                              "before the source was held back")
    committed = harness.committed_bytes(scene.out)
    worker, run = [resident(scene.worker)], [resident(scene.run)]
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        time.sleep(min(1.0, seconds / 10))
        worker.append(resident(scene.worker))
        run.append(resident(scene.run))
        # Asked seldom, so that asking is not what is measured.
        if len(worker) % 10 == 0:
            status = scene.status()
            if status is None or not is_full(status):
                raise harness.Failure(f"not DEGRADED while full: {status}")
            if read_so_far(status) != read:
                raise harness.Failure("the source went on reading")
    if harness.committed_bytes(scene.out) != committed:
        raise harness.Failure("something was committed on a full disk")
    check_memory(idle, worker, run)
    disk.enlarge()
    scene.finish(source, killed=False)
    return (f"{seconds:.0f} s full at {mib(committed)} of "
            f"{mib(source.print.bytes)}; worker {mib(idle)} before, "
            f"{mib(worker[0])} when stalled, {mib(max(worker))} at most, "
            f"{mib(worker[-1])} at the end; controller {mib(run[0])}, "
            f"{mib(max(run))}, {mib(run[-1])}")


def check_probes(scene):
    """A target that is dead is no reason to restart a worker, nor to send
    controllers elsewhere; but nobody is told that all is well."""
    for path in ("/livez", "/readyz"):
        status, body = scene.probe(path)
        if status != 200:
            raise harness.Failure(f"{path} says {status} {body}")
    status, body = scene.probe("/healthz?verbose")
    if status != 503 or "RUNNING degraded for" not in body:
        raise harness.Failure(f"/healthz says {status} {body}")


def check_memory(idle, worker, run):
    if max(worker) > idle + MEMORY_MAX + WORKER_ALLOWANCE:
        raise harness.Failure(f"the worker took {mib(max(worker))}, idle "
                              f"{mib(idle)}, memory_max {mib(MEMORY_MAX)}")
    for name, samples in (("worker", worker), ("controller", run)):
        if max(samples) > samples[0] + GROWTH_MAX:
            raise harness.Failure(f"the {name} grew from {mib(samples[0])} to "
                                  f"{mib(max(samples))} during the stall")


def killed_while_full(scene, disk, source, rng):
    """Both are killed on a full disk, come up on it, and still get done."""
    scene.start()
    scene.wait_for_stall()
    for _ in range(2):
        time.sleep(rng.uniform(0, 0.3))
        harness.kill(scene.worker)
        harness.kill(scene.run)
        scene.start()
        # Long enough to fail to open, or to write, again and again.
        time.sleep(3)
        if scene.run.poll() is not None:
            raise harness.Failure("a run gave up on a full disk: "
                                  f"{scene.run.returncode}")
    disk.enlarge()
    doubled = scene.finish(source, killed=True)
    return f"killed twice while full; {doubled} records doubled"


# A command is answered without waiting for the sink; Disconnect alone waits for
# what is released, until its deadline.
ANSWER_MAX = 3.0
DISCONNECT_DEADLINE = 5.0
NO_STEP_PAUSED = 2
DEGRADED = 1


def promptly(hand, *words, limit=ANSWER_MAX):
    answer = hand.do(*words)
    if answer["seconds"] > limit:
        raise harness.Failure(f"{words} took {answer['seconds']:.1f} s")
    return answer


def fill_by_hand(hand):
    """Queues and releases until there is no room; returns the steps made."""
    hand.do("open")
    hand.do("extend")
    for step in range(1000):
        answer = hand.say("queue", step, step, 1)
        if answer["error"] != "OK" or "no_step" in answer:
            return step
        hand.do("release", step + 1)
    raise harness.Failure("the sink never stalled")


def commanded_while_full(scene, _disk, source, _rng):
    """Pause, Extend, Get and Disconnect by hand, while nothing can be written.

    A Queue waits for room all the time; Pause makes it answer.
    """
    scene.start_worker()
    harness.wait_until("a worker", lambda: os.path.exists(scene.socket))
    hand = harness.Hand(scene.programs, scene.socket, scene.pipeline)
    steps = fill_by_hand(hand)
    status = promptly(hand, "get")
    if status["condition"] != DEGRADED or "STORAGE_FULL" not in status["reason"]:
        raise harness.Failure(f"not DEGRADED: {status}")
    hand.do("ask", steps, steps, 60)
    pause = promptly(hand, "pause")
    answer = promptly(hand, "answer")
    if answer.get("no_step") != NO_STEP_PAUSED:
        raise harness.Failure(f"Pause did not end the Queue: {answer}")
    buffered = promptly(hand, "get")["buffered"]
    time.sleep(1)
    status = promptly(hand, "get")
    if status["state"] != "PAUSED" or status["buffered"] != buffered:
        raise harness.Failure(f"a paused source went on: {status}")
    promptly(hand, "extend")
    promptly(hand, "pause")
    ended = promptly(hand, "disconnect",
                     limit=DISCONNECT_DEADLINE + ANSWER_MAX)
    if not ended["unconfirmed"]:
        raise harness.Failure(f"nothing is said to be uncommitted: {ended}")
    promptly(hand, "delete")
    # What is there is a part of the input, once.
    found = collections.Counter()
    for lines in harness.committed_lines(scene.out):
        found.update(lines)
    if found - source.counts():
        raise harness.Failure("there is more than was in the input")
    harness.kill(scene.worker)
    return (f"Pause answered in {pause['seconds'] * 1000:.0f} ms, Disconnect in "
            f"{ended['seconds']:.1f} s with {len(ended['unconfirmed'])} steps "
            "not committed")


def stopped_while_full(scene, disk, source, _rng):
    """SIGTERM to the run ends it in time and says which steps are left."""
    scene.start_worker()
    harness.wait_until("a worker", lambda: os.path.exists(scene.socket))
    told = scene.pipeline + ".errors"
    with open(told, "wb") as errors:
        scene.run = scene.programs.start_run(scene.pipeline, errors=errors)
    scene.wait_for_stall()
    started = time.monotonic()
    scene.run.send_signal(signal.SIGTERM)
    harness.wait_for_end(scene.run, harness.NOT_CHECKPOINTED)
    took = time.monotonic() - started
    with open(told, encoding="utf-8") as errors:
        said = errors.read()
    for words in ("connector 'orders' has steps from ",
                  "that were not checkpointed", "run it again"):
        if words not in said:
            raise harness.Failure(f"'{words}' is not in: {said}")
    disk.enlarge()
    scene.run = scene.programs.start_run(scene.pipeline)
    scene.finish(source, killed=False)
    return f"stopped while full in {took:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    seconds = float(os.environ.get("PENSTOCK_STALL_SECONDS", "15"))
    skipped = []

    def test(programs, directory):
        source = Source(os.path.join(directory, "in.ndjson"))
        rng = random.Random(SEED)
        site = os.path.join(directory, "s")
        for level, scenes in (
                ("exactly_once", (stalled, killed_while_full,
                                  commanded_while_full, stopped_while_full)),
                ("at_least_once", (stalled, killed_while_full))):
            for play in scenes:
                harness.fresh(site)
                try:
                    with SmallDisk(os.path.join(site, "out")) as disk:
                        scene = Scene(programs, site, source.path, level)
                        more = seconds if play is stalled else rng
                        try:
                            told = play(scene, disk, source, more)
                        except harness.Failure as failure:
                            raise harness.Failure(
                                f"{level}, {play.__name__}: {failure}")
                        print(f"{level}: {told}", flush=True)
                except PermissionError as error:
                    skipped.append(str(error))
                    return

    code = harness.main("stall", test, arguments.bin)
    if skipped:
        print(f"stall: SKIPPED, NOTHING WAS TESTED: mounting a tmpfs takes "
              f"root: {skipped[0]}")
        return SKIPPED
    return code


if __name__ == "__main__":
    sys.exit(main())
