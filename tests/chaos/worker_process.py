#!/usr/bin/env python3
"""Ends real workers by SIGTERM in the middle of their work, and the
controller of one that is to notice.

A worker that is told to go has until --drain-timeout to have its steps queued,
released and committed. It is then not ready but alive, refuses new connectors,
and ends with 0, or with 5 if something was left. A second signal ends it at
once, with 6. One whose sink never returns from a call does not wait for it, and
ends with 7. Whatever it left comes again from the source: exactly once. One
without a controller pauses after its --orphan-timeout, and goes on with the
next. One that still starts is alive and not ready.
"""
import argparse
import functools
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request

import harness

RECORDS = 1_000_000
SEED = 22
COMPLETE, LEFT_OVER, INTERRUPTED, CALL_HANGS = 0, 5, 6, 7
# From the drain's deadline to the end of a worker, as its --help says.
END_MAX = 10


def probe(port, path):
    """The HTTP status, or 0 if nobody answers."""
    try:
        url = f"http://127.0.0.1:{port}{path}"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def metric(port, name):
    """The first sample of `name`, or None."""
    url = f"http://127.0.0.1:{port}/metrics"
    with urllib.request.urlopen(url, timeout=5) as answer:
        for line in answer.read().decode().splitlines():
            if line.startswith(name + "{"):
                return float(line.rsplit(" ", 1)[1])
    return None


class Scene:
    def __init__(self, programs, directory, source, source_print):
        self.programs = programs
        self.source_print = source_print
        self.site = harness.fresh(os.path.join(directory, "s"))
        self.socket = os.path.join(self.site, "w.sock")
        self.port = harness.free_port()
        # Slow enough to be met midway.
        self.pipeline = harness.write_pipeline(
            self.site, source, socket=self.socket,
            limits={"block_bytes": "64KiB", "step_bytes": "128KiB",
                    "step_bytes_max": "256KiB",
                    "chunk_bytes_max": "32KiB"})

    def start_worker(self, drain_seconds, *more, environment=None):
        return self.programs.start_worker(
            self.socket, os.path.join(self.site, "worker"),
            "--drain-timeout", str(drain_seconds), *more,
            admin=f"127.0.0.1:{self.port}", environment=environment)

    def start_run(self):
        run = self.programs.start_run(self.pipeline)
        harness.wait_until(
            "some output", alive=[run], condition=lambda:
            harness.committed_bytes(os.path.join(self.site, "out")) >
            self.source_print.bytes // 10)
        return run

    def finish(self, run):
        worker = self.start_worker(5)
        harness.wait_for_end(run, 0)
        harness.verify(self.programs, self.pipeline, self.source_print)
        worker.send_signal(signal.SIGTERM)
        harness.wait_for_end(worker, COMPLETE)


def drained(scene):
    """SIGTERM while a controller is there: it ends, the rest comes again."""
    worker = scene.start_worker(5)
    run = scene.start_run()
    if probe(scene.port, "/readyz") != 200:
        raise harness.Failure("a worker at work must be ready")
    worker.send_signal(signal.SIGTERM)
    code = harness.wait_for_end(worker, COMPLETE, LEFT_OVER)
    if run.poll() is not None:
        raise harness.Failure("the run must wait for another worker")
    scene.finish(run)
    return f"ended with {code}"


def orphaned(scene):
    """SIGTERM without a controller: nothing is released, so something stays."""
    worker = scene.start_worker(3)
    run = scene.start_run()
    run.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    worker.send_signal(signal.SIGTERM)
    harness.wait_until("not ready", alive=[worker], condition=lambda:
                       probe(scene.port, "/readyz") == 503)
    if probe(scene.port, "/livez") != 200:
        raise harness.Failure("a draining worker is alive")
    code = harness.wait_for_end(worker, COMPLETE, LEFT_OVER)
    run.send_signal(signal.SIGCONT)
    scene.finish(run)
    return f"ended with {code}"


def interrupted(scene):
    """A second signal while it drains."""
    worker = scene.start_worker(60)
    run = scene.start_run()
    run.send_signal(signal.SIGSTOP)
    time.sleep(0.3)
    worker.send_signal(signal.SIGTERM)
    harness.wait_until("not ready", alive=[worker], condition=lambda:
                       probe(scene.port, "/readyz") == 503)
    worker.send_signal(signal.SIGTERM)
    started = time.monotonic()
    code = harness.wait_for_end(worker, INTERRUPTED)
    if time.monotonic() - started > 10:
        raise harness.Failure("a second signal must end it at once")
    run.send_signal(signal.SIGCONT)
    scene.finish(run)
    return f"ended with {code}"


def unled(scene):
    """Its controller is killed: it pauses, says so, and goes on with the next."""
    worker = scene.start_worker(5, "--orphan-timeout", "0.5")
    run = scene.start_run()
    harness.kill(run)

    def connector():
        url = f"http://127.0.0.1:{scene.port}/status.json"
        with urllib.request.urlopen(url, timeout=5) as answer:
            return json.load(answer)["connectors"][0]

    harness.wait_until("its orphanhood", alive=[worker], condition=lambda:
                       "orphaned_since" in connector())
    seen = connector()
    if seen["state"] != "PAUSED" or not seen["reason"].startswith("orphaned:"):
        raise harness.Failure(f"it does not say that it is orphaned: {seen}")
    if metric(scene.port, "penstock_orphaned") != 1:
        raise harness.Failure("no metric says that it is orphaned")
    run = scene.programs.start_run(scene.pipeline)
    harness.wait_until("it to be led again", alive=[worker], condition=lambda:
                       run.poll() is not None
                       or "orphaned_since" not in connector())
    harness.wait_for_end(run, 0)
    harness.verify(scene.programs, scene.pipeline, scene.source_print)
    worker.send_signal(signal.SIGTERM)
    harness.wait_for_end(worker, COMPLETE)
    return "paused, and went on"


def starting(scene, hang_sync):
    """Probes while the worker writes its first state to a disk that hangs."""
    mark = os.path.join(scene.site, "hang")
    with open(mark, "w", encoding="ascii"):
        pass
    worker = scene.start_worker(
        5, environment={"LD_PRELOAD": hang_sync, "PENSTOCK_TEST_HANG": mark})
    harness.wait_until("an answer", lambda: probe(scene.port, "/livez") == 200,
                       alive=[worker])
    for path in "/readyz", "/healthz?verbose", "/metrics":
        if (code := probe(scene.port, path)) != 503:
            raise harness.Failure(f"{path} answers {code} while it starts")
    url = f"http://127.0.0.1:{scene.port}/status.json"
    with urllib.request.urlopen(url, timeout=5) as answer:
        status = json.load(answer)
    if status["worker"]["starting"] is not True or status["connectors"]:
        raise harness.Failure(f"the status is {status}")
    os.remove(mark)
    harness.wait_until("the worker to be ready",
                       lambda: probe(scene.port, "/readyz") == 200,
                       alive=[worker])
    run = scene.start_run()
    harness.wait_for_end(run, 0)
    harness.verify(scene.programs, scene.pipeline, scene.source_print)
    worker.send_signal(signal.SIGTERM)
    harness.wait_for_end(worker, COMPLETE)
    return "alive and not ready until its state was there"


def hung(scene, hang_sync):
    """SIGTERM while calls of the sink do not return, all it has threads for."""
    mark = os.path.join(scene.site, "hang")
    worker = scene.start_worker(
        2, environment={"LD_PRELOAD": hang_sync, "PENSTOCK_TEST_HANG": mark})
    run = scene.start_run()
    with open(mark, "w", encoding="ascii"):
        pass
    before = None

    def stuck():
        nonlocal before
        seen, before = before, harness.committed_bytes(
            os.path.join(scene.site, "out"))
        time.sleep(0.5)
        return seen == before

    harness.wait_until("the sink to hang", stuck, alive=[worker, run])
    worker.send_signal(signal.SIGTERM)
    started = time.monotonic()
    code = harness.wait_for_end(worker, CALL_HANGS)
    seconds = time.monotonic() - started
    if seconds > 2 + END_MAX + 3:
        raise harness.Failure(f"it ended after {seconds:.1f} s only")
    os.remove(mark)
    scene.finish(run)
    return f"ended with {code} after {seconds:.1f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--hang-sync", help="the library made of hang_sync.cc; "
                        "without it `starting` and `hung` are left out")
    arguments = parser.parse_args()

    def test(programs, directory):
        source = os.path.join(directory, "in.ndjson")
        harness.make_records(source, RECORDS, SEED)
        source_print = harness.fingerprint_of_file(source)
        plays = [drained, orphaned, interrupted, unled]
        if arguments.hang_sync:
            for hangs in starting, hung:
                plays.append(functools.partial(
                    hangs, hang_sync=arguments.hang_sync))
                plays[-1].__name__ = hangs.__name__
        for play in plays:
            scene = Scene(programs, directory, source, source_print)
            try:
                outcome = play(scene)
            except harness.Failure as failure:
                raise harness.Failure(f"{play.__name__}: {failure}")
            print(f"{play.__name__}: {outcome}; then exactly once",
                  flush=True)

    return harness.main("worker_process", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
