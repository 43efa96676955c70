#!/usr/bin/env python3
"""Inputs at the edge: skewed, idle, empty, tiny, huge, without a last line end.

Each trial is a pipeline of its own, exactly once, 4 shards, from file to file.
It must end (or stay idle), be complete, have everything completed and
checkpointed, in the answer, in the store and in every shard's progress in the
target, also of shards that never had a record; another run must find nothing to
do. Most are also killed with SIGKILL on the way.
"""
import argparse
import contextlib
import json
import os
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import harness

SEED = 24
SHARDS = harness.SHARDS
# Small steps and chunks: 200 of them in a file of 15 MB.
LIMITS = {"block_bytes": "64KiB", "step_bytes": "64KiB",
          "step_bytes_max": "128KiB", "chunk_bytes_max": "32KiB",
          "step_linger": "20ms"}
POINTS = ("result_received", "before_journal", "after_journal",
          "before_release", "after_release", "before_prepare", "after_prepare",
          "after_checkpoint_stored", "after_commit_checkpoint")
FEW_POINTS = ("before_journal", "after_journal", "after_prepare")
TRIALS = []


def trial(function):
    TRIALS.append(function)
    return function


def require(condition, message):
    if not condition:
        raise harness.Failure(message)


# --- Records -----------------------------------------------------------------

def shard_of(key):
    """FNV-1a 64 modulo shards, as the route `key_hash` is documented."""
    value = 0xcbf29ce484222325
    for byte in key.encode():
        value = (value ^ byte) * 0x100000001b3 & 0xffffffffffffffff
    return value % SHARDS


def keys_of_shard(shard, count):
    found, number = [], 0
    while len(found) < count:
        if shard_of(f"k{number}") == shard:
            found.append(f"k{number}")
        number += 1
    return found


def record(number, key, size=100):
    line = f'{{"id":{number},"key":"{key}","pad":"'
    return line + "x" * max(1, size - len(line) - 3) + '"}\n'


def write(path, records, end=""):
    with open(path, "w", encoding="ascii") as out:
        out.writelines(records)
        out.write(end)
    return path


# --- One pipeline ------------------------------------------------------------

class Site:
    def __init__(self, programs, directory, source, *, limits=None, **options):
        self.programs = programs
        self.directory = directory
        self.source = source
        self.events = os.path.join(directory, "events")
        self.errors = os.path.join(directory, "errors")
        self.socket = os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, source, checkpoint="50ms", limits=limits or LIMITS,
            **options)
        self.process = None

    def out(self, name="out"):
        return os.path.join(self.directory, name)

    def start(self, *more):
        with open(self.events, "wb") as events:
            self.process = self.programs.start_run(self.pipeline, *more,
                                                   output=events)

    def end(self):
        """Waits for it; returns its last event."""
        harness.wait_for_end(self.process, 0)
        with open(self.events, "rb") as events:
            event = json.loads(events.read().splitlines()[-1])
        require(event["outcome"] == "done", f"ended with {event}")
        return event

    def wait_for(self, size):
        harness.wait_until(
            f"{size} committed bytes", alive=[self.process], condition=lambda:
            harness.committed_bytes(self.out()) >= size)

    def kill_midway(self, size):
        """SIGKILL of controller and worker once `size` bytes are committed."""
        self.wait_for(size)
        harness.kill(self.process)
        require(self.process.returncode == -signal.SIGKILL,
                "the run was over before it was killed")
        # The worker goes with it, in its own time.
        for name, connector in self.stored().items():
            out = self.out("out" if name == "orders" else name)
            progress = harness.progress(out)
            require(all(connector["base"] <= steps <= connector["journaled"]
                        for steps in progress),
                    f"{name} stands at {progress}, the store at {connector}")

    def stored(self):
        """{connector: checkpointed and journaled steps, rows}."""
        path = os.path.join(self.directory, "state.db")
        with contextlib.closing(
                sqlite3.connect(f"file:{path}?mode=ro", uri=True)) as store:
            found = {name: {"base": base, "journaled": base, "rows": 0}
                     for name, base in store.execute(
                         "SELECT name, base_steps FROM connectors")}
            for name, last, rows in store.execute(
                    "SELECT connector, MAX(step), COUNT(*) FROM journal "
                    "GROUP BY connector"):
                found[name]["journaled"] = last + 1
                found[name]["rows"] = rows
        return found

    def check_settled(self, event):
        """completed = checkpointed = last step + 1, everywhere."""
        steps = event["step"]
        for field in ("released", "completed", "checkpointed"):
            require(event[field] == steps,
                    f"{field} is {event[field]} and not {steps}: {event}")
        bases = []
        for name, connector in self.stored().items():
            base = connector["base"]
            require(connector["rows"] == 0,
                    f"{name}: {connector['rows']} steps are still journaled")
            out = self.out("out" if name == "orders" else name)
            progress = harness.progress(out)
            require(progress == [base] * SHARDS,
                    f"{name}: shards stand at {progress}, the checkpoint at "
                    f"{base}")
            bases.append(base)
        require(max(bases) == steps, f"the store has {bases}, the end {event}")

    def finish(self, started=False):
        """To the end; verified; and again, with nothing left to do."""
        if not started:
            self.start()
        event = self.end()
        self.check_settled(event)
        source_print = harness.fingerprint_of_file(self.source)
        harness.verify(self.programs, self.pipeline, source_print)
        before = {name: harness.committed(self.out(name))
                  for name in ("out", "beside")}
        self.start()
        again = self.end()
        self.check_settled(again)
        require(again["records"] == 0, f"another run read something: {again}")
        for name, committed in before.items():
            require(harness.committed(self.out(name)) == committed,
                    f"another run wrote to {name}")
        return event


def run_with_kills(site, shares):
    size = os.path.getsize(site.source)
    site.start()
    for share in shares:
        site.kill_midway(int(size * share))
        site.start()
    return site.finish(started=True)


def shards_with_data(out):
    return {int(name.split(".")[0].split("-")[1])
            for name in harness.committed(out)}


# --- Skew --------------------------------------------------------------------

@trial
def key_skew(programs, directory, rng):
    """Shard 0 never has a record, shard 3 only at the end."""
    busy = keys_of_shard(1, 20) + keys_of_shard(2, 3)
    late = keys_of_shard(3, 2)
    count = 150_000
    source = write(os.path.join(directory, "in"), (
        record(i, rng.choice(late if i > count - 500 else busy))
        for i in range(count)))
    site = Site(programs, directory, source)
    run_with_kills(site, (0.2, 0.5, 0.8))
    found = shards_with_data(site.out())
    require(found == {1, 2, 3}, f"shards {found} have data")


@trial
def one_shard(programs, directory, _rng):
    """Every record has the same key."""
    key = keys_of_shard(2, 1)[0]
    source = write(os.path.join(directory, "in"),
                   (record(i, key) for i in range(100_000)))
    site = Site(programs, directory, source)
    run_with_kills(site, (0.3, 0.7))
    found = shards_with_data(site.out())
    require(found == {2}, f"shards {found} have data")


@trial
def no_keys(programs, directory, _rng):
    """No record has the key: all go by their partition, to one shard."""
    source = write(os.path.join(directory, "in"),
                   (f'{{"id":{i}}}\n' for i in range(100_000)))
    site = Site(programs, directory, source)
    run_with_kills(site, (0.4,))
    require(len(shards_with_data(site.out())) == 1, "one shard has all")


# --- Idle --------------------------------------------------------------------
#
# The source `file` cannot wait for data: it reads one plain file to its end, a
# FIFO is refused, and nothing is followed. What is idle here is a connector that
# is open and was never extended, one that is paused, one whose input has ended;
# and in a pipeline one that has ended beside one that goes on.

@trial
def fifo_is_refused(programs, directory, _rng):
    """A pipe could not be read again, so it is no source."""
    source = os.path.join(directory, "in")
    os.mkfifo(source)
    site = Site(programs, directory, source)
    ended = programs.call("run", site.pipeline)
    require(ended.returncode == 2, f"ended with {ended.returncode}")
    require(b"name a plain file" in ended.stderr, ended.stderr.decode())


@trial
def idle_beside_busy(programs, directory, _rng):
    """One connector has one record, the other goes on: both are checkpointed."""
    source = write(os.path.join(directory, "in"),
                   (record(i, f"k{i % 97}") for i in range(150_000)))
    beside = write(os.path.join(directory, "in2"), [record(0, "k0")])
    site = Site(programs, directory, source, beside=beside)
    site.start()
    seen = 0
    for share in (0.3, 0.6):
        def moved(before=seen):
            stored = site.stored()
            return (stored["beside"]["base"] > 0 and
                    stored["orders"]["base"] > before)

        site.wait_for(int(os.path.getsize(source) * share))
        harness.wait_until("a checkpoint of both", moved, alive=[site.process])
        seen = site.stored()["orders"]["base"]
        site.kill_midway(0)
        site.start()
    site.finish(started=True)
    found = harness.fingerprint_of_output(site.out("beside"))
    require(found == harness.fingerprint_of_file(beside), f"beside has {found}")


def processor_seconds(process):
    with open(f"/proc/{process.pid}/stat", "rb") as stat:
        fields = stat.read().rpartition(b") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def stays_idle(hand, worker, buffered, seconds=3):
    """Nothing is read, nothing is wrong, nothing is burnt."""
    before = processor_seconds(worker)
    time.sleep(seconds)
    status = hand.do("get")
    require(status["buffered"] == buffered and status["condition"] == 0,
            f"not idle: {status}")
    used = processor_seconds(worker) - before
    require(used < seconds / 10, f"idle for {seconds} s took {used} s of CPU")
    return status


@trial
def idle_by_hand(programs, directory, _rng):
    """Opened and never extended; paused; at its end: idle, and goes on."""
    source = write(os.path.join(directory, "in"),
                   (record(i, f"k{i}") for i in range(1000)))
    site = Site(programs, directory, source)
    state = os.path.join(directory, "worker")
    worker = programs.start_worker(site.socket, state)
    hand = harness.Hand(programs, site.socket, site.pipeline)

    def open_it():
        harness.wait_until("the worker to answer", lambda:
                           hand.say("open")["error"] == "OK", alive=[worker])

    open_it()
    stays_idle(hand, worker, buffered=0)
    answer = hand.do("prepare", 0)
    require(answer["ready"], f"nothing is in the way of a checkpoint: {answer}")
    hand.do("commit", 0)
    # Killed while idle; the next life begins where this one did.
    harness.kill(worker)
    worker = programs.start_worker(site.socket, state)
    open_it()
    stays_idle(hand, worker, buffered=0)
    hand.do("extend")
    answer = hand.do("queue", 0, 0, 10)
    require(answer["records"] == 1000, f"a step has {answer}")
    hand.do("pause")
    stays_idle(hand, worker, buffered=1000)
    hand.do("release", 1)
    steps = 1
    while not answer.get("end_of_input"):
        answer = hand.do("queue", steps, steps, 10)
        require("no_step" not in answer, f"no end of input: {answer}")
        steps += 1
        hand.do("release", steps)
    answer = hand.do("prepare", steps)
    require(answer["ready"], f"{answer}")
    hand.do("commit", steps)
    status = stays_idle(hand, worker, buffered=1000)
    require(status["completed"] == status["checkpointed"] == steps ==
            status["made"], f"{status}")
    require(harness.progress(site.out()) == [steps] * SHARDS,
            f"shards stand at {harness.progress(site.out())}")
    # The source has told its end: no further step comes of it.
    answer = hand.do("queue", steps, steps, 10)
    require(answer.get("no_step") == 1, f"after the end: {answer}")
    harness.verify(programs, site.pipeline, harness.fingerprint_of_file(source))
    hand.do("delete")


# --- Ends --------------------------------------------------------------------

@trial
def end_of_input(programs, directory, _rng):
    """At the end all is done; a file that has grown since is gone on with."""
    source = write(os.path.join(directory, "in"),
                   (record(i, f"k{i % 97}") for i in range(20_000)))
    site = Site(programs, directory, source)
    first = site.finish()
    require(first["records"] == 20_000, f"{first}")
    with open(source, "a", encoding="ascii") as more:
        more.writelines(record(i, f"k{i % 97}") for i in range(20_000, 50_000))
    site.start("--crash-at", "after_journal:2")
    harness.wait_for_end(site.process, -signal.SIGKILL)
    site.finish()


def at_points(site, points, restore):
    """Killed at each of the points, then finished; each time from nothing."""
    for point in points:
        restore()
        site.start("--crash-at", f"{point}:1")
        harness.wait_for_end(site.process, -signal.SIGKILL)
        try:
            site.finish()
        except harness.Failure as failure:
            raise harness.Failure(f"after a crash at {point}: {failure}")


def small_file(programs, directory, content, points=POINTS):
    source = os.path.join(directory, "in")
    with open(source, "wb") as out:
        out.write(content)
    site = Site(programs, directory, source)

    def restore():
        for name in ("out", "state.db.worker"):
            shutil.rmtree(site.out(name), ignore_errors=True)
        for name in ("state.db", "state.db-wal", "state.db-shm"):
            with contextlib.suppress(FileNotFoundError):
                os.unlink(site.out(name))

    at_points(site, points, restore)
    restore()
    site.finish()
    return site


@trial
def empty_file(programs, directory, _rng):
    site = small_file(programs, directory, b"")
    require(harness.committed(site.out()) == {}, "an empty file has no data")
    # It is no other file when it gets its first records.
    write(site.source, [record(0, "k0"), record(1, "k1")])
    require(site.finish()["records"] == 2, "the first records were not read")


@trial
def blank_lines(programs, directory, _rng):
    """Nothing but line ends and blanks: NDJSON passes them over."""
    source = os.path.join(directory, "in")
    write(source, ["\n", "  \n", "\r\n", "\t"])
    site = Site(programs, directory, source)
    site.start()
    event = site.end()
    site.check_settled(event)
    require(event["records"] == 0 and not harness.committed(site.out()),
            f"blank lines are no records: {event}")


@trial
def one_record_file(programs, directory, _rng):
    small_file(programs, directory, record(0, "k0").encode(), FEW_POINTS)


@trial
def no_final_newline(programs, directory, _rng):
    site = small_file(programs, directory, (
        record(0, "k0") + record(1, "k1") + record(2, "k2")[:-1]).encode(),
                      FEW_POINTS)
    # Its line end comes later, with more behind it, and is no empty record.
    with open(site.source, "a", encoding="ascii") as more:
        more.write("\n" + record(3, "k3") + record(4, "k4")[:-1])
    event = site.finish()
    require(event["records"] == 2, f"two records came later: {event}")


@trial
def second_signal(programs, directory, _rng):
    """It ends at once, whatever the worker still has in hand."""
    source = write(os.path.join(directory, "in"),
                   (record(i, f"k{i % 97}") for i in range(400_000)))
    site = Site(programs, directory, source)
    with open(site.errors, "wb") as errors:
        site.process = programs.start_run(site.pipeline, errors=errors)
    site.wait_for(1_000_000)
    worker = harness.child_of(site.process)
    os.kill(worker, signal.SIGSTOP)  # It cannot end in order.
    site.process.send_signal(signal.SIGTERM)

    def has_begun_to_stop():
        with open(site.errors, "rb") as errors:
            return b"stopping:" in errors.read()

    harness.wait_until("the first signal's answer", has_begun_to_stop,
                       alive=[site.process])
    started = time.monotonic()
    site.process.send_signal(signal.SIGTERM)
    harness.wait_for_end(site.process, 130)
    took = time.monotonic() - started
    require(took < 5, f"it took {took:.0f} s")
    site.finish()


@trial
def signal_while_the_store_is_opened(programs, directory, _rng):
    """Nothing has been begun yet: it ends at once."""
    source = write(os.path.join(directory, "in"), [record(0, "k0")])
    site = Site(programs, directory, source)
    site.finish()
    path = os.path.join(directory, "state.db")
    with contextlib.closing(sqlite3.connect(path)) as other:
        # Nobody else can even read it: a run waits for 5 s.
        other.execute("PRAGMA locking_mode = EXCLUSIVE")
        other.execute("BEGIN IMMEDIATE")
        site.start()

        def waits():
            opened = f"/proc/{site.process.pid}/fd"
            return any(os.path.realpath(os.path.join(opened, name)) ==
                       os.path.realpath(path) for name in os.listdir(opened))

        harness.wait_until("the store to be opened", waits,
                           alive=[site.process])
        site.process.send_signal(signal.SIGTERM)
        harness.wait_for_end(site.process, -signal.SIGTERM)
        first_process_of_a_container(site, path)
        site.start()
        harness.wait_for_end(site.process, 4)
    site.finish()


def first_process_of_a_container(site, store):
    """No signal ends that one but by a handler of its own."""
    alone = ["unshare", "--user", "--map-root-user", "--pid", "--fork"]
    if subprocess.run([*alone, "true"], capture_output=True,
                      check=False).returncode != 0:
        print("NOT RUN: as process 1, which needs namespaces", flush=True)
        return
    with subprocess.Popen([*alone, site.programs.penstock, "run",
                           site.pipeline]) as outside:
        try:
            run = harness.wait_until("the first process", lambda:
                                     harness.child_of(outside),
                                     alive=[outside])
            harness.wait_until("the store to be opened by it", lambda: any(
                os.path.realpath(name.path) == os.path.realpath(store)
                for name in os.scandir(f"/proc/{run}/fd")), alive=[outside])
            os.kill(run, signal.SIGTERM)
            harness.wait_for_end(outside, 128 + signal.SIGTERM)
        finally:
            if outside.poll() is None:
                os.kill(run, signal.SIGKILL)


@trial
def output_that_nobody_reads(programs, directory, _rng):
    """A full pipe behind stdout holds up neither the pipeline nor its end."""
    source = write(os.path.join(directory, "in"),
                   (record(i, f"k{i % 97}") for i in range(50_000)))
    site = Site(programs, directory, source)
    worker = programs.start_worker(site.socket, os.path.join(directory, "w"))
    harness.wait_until("a worker", lambda: os.path.exists(site.socket))
    reader, writer = os.pipe()
    try:
        os.set_blocking(writer, False)
        with contextlib.suppress(BlockingIOError):
            while True:
                os.write(writer, b"x" * 4096)
        os.set_blocking(writer, True)
        site.process = programs.start_run(site.pipeline, output=writer)
        harness.wait_for_end(site.process, 0)
        watch = programs.start_watch(f"unix:{site.socket}", writer)
        time.sleep(1)  # Until it prints, which nothing shows.
        watch.send_signal(signal.SIGTERM)
        harness.wait_for_end(watch, 0, 130, timeout=30)
    finally:
        os.close(reader)
        os.close(writer)
    harness.kill(worker)
    site.finish()


# --- Size --------------------------------------------------------------------

@trial
def large_records(programs, directory, rng):
    """Records above block, chunk, step, queue and in-flight budget."""
    sizes = [100, 5_000, 40_000, 70_000, 300_000, 1_200_000, 3_000_000]
    source = write(os.path.join(directory, "in"), (
        record(i, f"k{i}", rng.choice(sizes if i % 10 == 0 else sizes[:2]))
        for i in range(300)))
    largest = max(len(line) for line in harness.lines_of(source))
    require(largest > 2_900_000, f"the largest record has {largest} bytes")
    site = Site(programs, directory, source, limits={
        "block_bytes": "16KiB", "queued_bytes_max": "64KiB",
        "chunk_bytes_max": "32KiB", "in_flight_bytes_max": "1MiB",
        "step_bytes": "64KiB", "step_bytes_max": "128KiB",
        "step_linger": "20ms"})
    for point in ("after_journal:2", "after_release:3", "before_journal:5"):
        site.start("--crash-at", point)
        harness.wait_for_end(site.process, -signal.SIGKILL)
    run_with_kills(site, (0.5,))


TOO_LONG_AT = 1000  # Number of the record that is too long, from 0.
SHORT_LIMITS = {**LIMITS, "record_bytes_max": "4KiB"}


def file_with_a_long_record(directory):
    """Returns its path and the byte at which the long record begins."""
    lines = [record(i, f"k{i}", 5000 if i == TOO_LONG_AT else 100)
             for i in range(2 * TOO_LONG_AT)]
    source = write(os.path.join(directory, "in"), lines)
    return source, sum(map(len, lines[:TOO_LONG_AT]))


@trial
def too_long_fails(programs, directory, _rng):
    """Told to stop at a bad record, it says where and what to do, and ends.

    Once that is done, it goes on.
    """
    source, byte = file_with_a_long_record(directory)
    site = Site(programs, directory, source, limits=SHORT_LIMITS,
                on_parse_error="fail")
    for _ in range(2):
        started = time.monotonic()
        ended = programs.call("run", site.pipeline)
        told = ended.stderr.decode()
        require(ended.returncode == 1, f"ended with {ended.returncode}: {told}")
        # At once: no retry can help.
        took = time.monotonic() - started
        require(took < 10, f"it took {took:.0f} s to say so")
        for words in (source, f"line {TOO_LONG_AT + 1},", f"byte {byte}:",
                      "longer than 4096 bytes", "raise limits.record_bytes_max"):
            require(words in told, f"'{words}' is not in: {told}")
    harness.write_pipeline(
        directory, source, checkpoint="50ms", on_parse_error="fail",
        limits={**SHORT_LIMITS, "record_bytes_max": "8KiB"})
    site.finish()


@trial
def too_long_skipped(programs, directory, _rng):
    """By default it costs only itself; watchers are told where it stands."""
    source, byte = file_with_a_long_record(directory)
    site = Site(programs, directory, source, limits=SHORT_LIMITS)
    pipeline = harness.write_pipeline(
        directory, source, socket=site.socket, limits=SHORT_LIMITS)
    worker = programs.start_worker(site.socket, os.path.join(directory, "w"))
    harness.wait_until("a worker", lambda: os.path.exists(site.socket))
    seen = os.path.join(directory, "seen")

    def told(word):
        with open(seen, encoding="utf-8") as lines:
            return [json.loads(line)[word] for line in lines
                    if line.endswith("\n") and word in json.loads(line)]

    with open(seen, "wb") as out:
        watch = programs.start_watch(f"unix:{site.socket}", out, "--kind",
                                     "parse_errors")
        harness.wait_until("a watch", lambda: told("created"), alive=[watch])
        site.start()
        event = site.end()
        harness.wait_until("a report", lambda: told("parse_errors"))
        watch.send_signal(signal.SIGTERM)
        harness.wait_for_end(watch, 0)
    site.check_settled(event)
    require(event["records"] == 2 * TOO_LONG_AT - 1, f"{event}")
    require(event["bad_records"]["total"] == 1 ==
            event["bad_records"]["not_parsed"], f"{event}")
    (report,) = told("parse_errors")
    (sample,) = report["samples"]
    require(sample["input"] == source and
            sample["line"] == str(TOO_LONG_AT + 1) and
            sample["byte_offset"] == str(byte) and
            "raise limits.record_bytes_max" in sample["suggestion"],
            f"watchers were told {sample}")
    verdict = programs.call("verify", pipeline, "--output", "json")
    counts = json.loads(verdict.stdout)
    require(counts["ok"] and counts["skipped"] == 1 and counts["lost"] == 0,
            f"penstock verify: {counts}")
    harness.kill(worker)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--only", help="only trials whose name begins so")
    arguments = parser.parse_args()

    def test(programs, directory):
        passed = 0
        for play in TRIALS:
            if not play.__name__.startswith(arguments.only or ""):
                continue
            started = time.monotonic()
            # Short, for the socket's path; kept if the trial fails.
            site = harness.fresh(os.path.join(directory, "t"))
            try:
                play(programs, site, random.Random(SEED))
            except harness.Failure as failure:
                raise harness.Failure(f"{play.__name__}: {failure}")
            passed += 1
            print(f"{play.__name__}: passed in "
                  f"{time.monotonic() - started:.1f} s", flush=True)
        require(passed > 0, "no such trial")
        print(f"edges: {passed} trials")

    return harness.main("edges", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
