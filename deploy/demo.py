#!/usr/bin/env python3
"""Shows Penstock at work: a pipeline that is killed, and loses nothing.

Called by ./run.sh. Everything it writes is below --dir, made anew each time;
it kills only what it started.
"""
import argparse
import os
import shutil
import signal
import subprocess
import sys
import time

sys.dont_write_bytecode = True
sys.path.insert(0, os.path.join(os.path.dirname(os.path.realpath(__file__)),
                                "examples"))
from make_records import write_records  # noqa: E402

# Who is killed, each time after so large a share of the input was written.
KILLS = ("worker", "worker", "controller", "controller")
SHARE = 0.15
# Seconds; nothing may take longer.
WAIT_MAX = 120

PIPELINE = """\
name: demo
store: sqlite:state.db
checkpoint_interval: 500ms
connectors:
  - name: orders
    source: {{file: {{path: '{source}'}}}}
    format: {{ndjson: {{key: user.id}}}}
    sink:   {{file: {{path: '{sink}'}}}}
    shards: 4
"""


def say(text):
    print(f"demo: {text}", flush=True)


class Demo:
    def __init__(self, programs, directory, records):
        self.penstock = os.path.join(programs, "penstock")
        self.records = records
        self.source = os.path.join(directory, f"orders-{records}.ndjson")
        self.site = os.path.join(directory, "run")
        self.sink = os.path.join(self.site, "out")
        self.pipeline = os.path.join(self.site, "pipeline.yaml")
        self.log = None
        self.run = None

    def prepare(self):
        os.makedirs(os.path.dirname(self.source), exist_ok=True)
        if not os.path.exists(self.source):
            say(f"writing {self.records:,} orders to {self.source}")
            write_records(self.source, self.records)
        self.size = os.path.getsize(self.source)
        shutil.rmtree(self.site, ignore_errors=True)
        os.makedirs(self.site)
        with open(self.pipeline, "w", encoding="utf-8") as out:
            out.write(PIPELINE.format(source=self.source, sink=self.sink))
        self.log = open(os.path.join(self.site, "log"), "ab")
        say(f"the pipeline is {self.pipeline}: {self.size / 1e6:.0f} MB of "
            "NDJSON into 4 shards, exactly once")

    def start(self):
        self.run = subprocess.Popen(
            [self.penstock, "run", self.pipeline, "--output", "json"],
            stdin=subprocess.DEVNULL, stdout=self.log, stderr=self.log)

    def written(self):
        try:
            return sum(entry.stat().st_size for entry in os.scandir(self.sink)
                       if entry.name.startswith("data-"))
        except FileNotFoundError:
            return 0

    def wait(self, what, condition):
        deadline = time.monotonic() + WAIT_MAX
        while True:
            value = condition()
            if value:
                return value
            if self.run.poll() is not None:
                raise SystemExit(f"demo: {what}: the run ended early with "
                                 f"{self.run.returncode}; {self.log.name}")
            if time.monotonic() > deadline:
                raise SystemExit(f"demo: {what}: not within {WAIT_MAX} s; "
                                 f"{self.log.name}")
            time.sleep(0.01)

    def worker(self):
        try:
            with open(f"/proc/{self.run.pid}/task/{self.run.pid}/children",
                      encoding="ascii") as children:
                pids = children.read().split()
        except FileNotFoundError:
            return None
        return int(pids[0]) if pids else None

    def kill(self, who):
        enough = self.written() + SHARE * self.size
        self.wait(f"waiting to kill the {who}",
                  lambda: self.written() >= enough)
        if who == "worker":
            pid = self.wait("looking for the worker", self.worker)
            os.kill(pid, signal.SIGKILL)
            say(f"killed the worker (pid {pid}, SIGKILL) at "
                f"{self.written() / 1e6:.0f} MB written; the controller "
                "starts another and replays")
        else:
            self.run.kill()
            self.run.wait()
            say(f"killed the controller (pid {self.run.pid}, SIGKILL) at "
                f"{self.written() / 1e6:.0f} MB written; the same command "
                "again")
            self.start()

    def drive(self):
        started = time.monotonic()
        say("penstock run: a controller with a worker of its own")
        self.start()
        for who in KILLS:
            self.kill(who)
        if self.run.wait(WAIT_MAX) != 0:
            raise SystemExit(f"demo: the run failed; {self.log.name}")
        seconds = time.monotonic() - started
        say(f"the run has reached the end of its input, {seconds:.1f} s")
        return seconds

    def verify(self):
        say("penstock verify: every record of the input against the output")
        return subprocess.run([self.penstock, "verify", self.pipeline],
                              stdin=subprocess.DEVNULL, check=False,
                              stdout=subprocess.PIPE, text=True)

    def end(self):
        if self.run is not None and self.run.poll() is None:
            self.run.kill()
            self.run.wait()


def count_of(report, name):
    for line in report.splitlines():
        if line.strip().startswith(name):
            return int(line.split()[-1])
    return 0


def summarise(demo, report, seconds):
    counts = {name: count_of(report, name) for name in (
        "records in", "records out", "lost", "doubled", "out of order")}
    relative = os.path.relpath(demo.pipeline)
    print(f"""
  records in      {counts['records in']:,}
  records out     {counts['records out']:,}
  kills survived  {len(KILLS)} (worker {KILLS.count('worker')}, controller \
{KILLS.count('controller')})
  lost            {counts['lost']}
  doubled         {counts['doubled']}
  out of order    {counts['out of order']}
  rate            {counts['records out'] / seconds:,.0f} records/s, \
{demo.size / 1e6 / seconds:.0f} MB/s, kills and recoveries included

Try next:
  {os.path.relpath(demo.penstock)} verify {relative}
  {os.path.relpath(demo.penstock)} run {relative}       # nothing left to do
  {os.path.relpath(demo.penstock)} --help               # a pipeline of yours
  README.md and deploy/examples have more.
""")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", required=True, help="where the programs are")
    parser.add_argument("--dir", required=True, help="where it may write")
    parser.add_argument("--records", type=int, default=1_000_000)
    arguments = parser.parse_args()
    demo = Demo(os.path.abspath(arguments.bin),
                os.path.abspath(arguments.dir), arguments.records)
    try:
        demo.prepare()
        seconds = demo.drive()
        verdict = demo.verify()
    finally:
        demo.end()
    if verdict.returncode != 0:
        print(verdict.stdout)
        print("demo: FAILED: the output is not what it must be")
        return 1
    summarise(demo, verdict.stdout, seconds)
    return 0


if __name__ == "__main__":
    sys.exit(main())
