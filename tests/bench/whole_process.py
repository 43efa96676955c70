#!/usr/bin/env python3
"""Real processes over a large file, each beside the limit that it is held to.

  whole_process.py --bin build/release/bin --reference ONDEMAND_REFERENCE

In turn, round after round:
  reference  simdjson on demand, three fields, by line, one thread, in memory
  ndjson     NDJSON -> validated -> hashed -> 4 shards -> files, exactly-once,
             a controller and a worker over gRPC, all syncs included
  raw        lines -> files, exactly-once, the same way
  cp         cp --reflink=never, then sync FILE

Prints a table: median and spread of MB/s (10^6), CPU seconds a GB (10^9), peak
memory, and the ratios ndjson/reference and raw/cp, taken within each round.
See tests/bench/README.md.
"""
import argparse
import contextlib
import json
import os
import shutil
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
TICKS = os.sysconf("SC_CLK_TCK")
NDJSON_RATIO_MIN = 0.3
RAW_RATIO_MIN = 0.6
WORKER_MB_MAX = 160
WAIT_S = 30
POLL_S = 0.02


class Failure(Exception):
    """A run that did not do what it is measured for."""


def make_corpus(script, directory, size, seed):
    """The path of the corpus, made unless it is there."""
    if not os.path.exists(script):
        script = os.path.join(HERE, "make_corpus.py")
    name = os.path.splitext(os.path.basename(script))[0]
    where = os.path.join(directory, f"{name}-{size}-{seed}")
    path = os.path.join(where, "data.ndjson")
    if not os.path.exists(path):
        making = where + ".part"
        shutil.rmtree(making, ignore_errors=True)
        subprocess.run([sys.executable, script, making, str(size), str(seed)],
                       check=True, stdout=subprocess.DEVNULL)
        for other in os.listdir(making):
            if other != "data.ndjson":
                os.remove(os.path.join(making, other))
        os.replace(making, where)
    return path


# --- Processes ---------------------------------------------------------------

def machine_busy_s():
    """Seconds that all processors worked since the machine started."""
    with open("/proc/stat", encoding="ascii") as stat:
        ticks = [int(word) for word in stat.readline().split()[1:9]]
    return (sum(ticks) - ticks[3] - ticks[4]) / TICKS  # But idle and iowait.


def peak_memory(pid):
    """Peak resident bytes of a living process; 0 if it is gone."""
    try:
        with open(f"/proc/{pid}/status", encoding="ascii") as status:
            for line in status:
                if line.startswith("VmHWM:"):
                    return int(line.split()[1]) * 1024
    except (FileNotFoundError, ProcessLookupError):
        pass
    return 0


class Child:
    """A process whose time and memory are known in the end."""

    def __init__(self, arguments, log):
        self._log = log
        self.cpu_s = 0.0
        self.peak_bytes = 0
        with open(log, "w", encoding="utf-8") as out:
            # pylint: disable=consider-using-with
            self._process = subprocess.Popen(arguments, stdout=out, stderr=out)
        self.pid = self._process.pid

    def wait(self):
        _, status, usage = os.wait4(self.pid, 0)
        self._process.returncode = os.waitstatus_to_exitcode(status)
        self.cpu_s = usage.ru_utime + usage.ru_stime
        if self._process.returncode != 0:
            with open(self._log, encoding="utf-8") as log:
                raise Failure(f"{self._process.args[0]} ended with "
                              f"{self._process.returncode}: {log.read()[-800:]}")

    def stop(self):
        """Asks it to end, having looked at its memory."""
        self.peak_bytes = max(self.peak_bytes, peak_memory(self.pid))
        self._process.send_signal(signal.SIGTERM)
        self.wait()

    def kill(self):
        if self._process.returncode is None:
            self._process.kill()
            self._process.wait()

    def watch_memory(self):
        """Looks again and again, until it is waited for."""
        def look():
            while self._process.returncode is None:
                self.peak_bytes = max(self.peak_bytes, peak_memory(self.pid))
                time.sleep(POLL_S)
        threading.Thread(target=look, daemon=True).start()


class Timer:
    """Wall seconds, and those of processors that others used meanwhile."""

    def __enter__(self):
        self._busy = machine_busy_s()
        self._start = time.monotonic()
        return self

    def __exit__(self, *_):
        self.wall_s = time.monotonic() - self._start
        self._busy = machine_busy_s() - self._busy

    def measured(self, size, cpu_s, **more):
        return {"mb_s": size / 1e6 / self.wall_s, "wall_s": self.wall_s,
                "cpu_s_gb": cpu_s / (size / 1e9),
                "others_cpu_s": max(0.0, self._busy - cpu_s), **more}


# --- What is measured --------------------------------------------------------

class Bench:
    def __init__(self, options, corpus):
        self._options = options
        self._corpus = corpus
        self._size = os.path.getsize(corpus)
        self._verified = set()

    def reference(self, directory):
        child = Child([self._options.reference, self._corpus],
                      os.path.join(directory, "log"))
        busy = machine_busy_s()
        child.wait()
        busy = machine_busy_s() - busy
        with open(os.path.join(directory, "log"), encoding="utf-8") as log:
            told = json.load(log)
        return {"mb_s": told["bytes"] / 1e6 / told["wall_s"],
                "wall_s": told["wall_s"],
                "cpu_s_gb": told["cpu_s"] / (told["bytes"] / 1e9),
                "others_cpu_s": max(0.0, busy - child.cpu_s)}

    def cp(self, directory):
        to = os.path.join(directory, "copy")
        with Timer() as timer:
            copy = Child(["cp", "--reflink=never", self._corpus, to],
                         os.path.join(directory, "cp.log"))
            copy.wait()
            sync = Child(["sync", to], os.path.join(directory, "sync.log"))
            sync.wait()
        return timer.measured(self._size, copy.cpu_s + sync.cpu_s)

    def ndjson(self, directory):
        return self._pipeline(directory, "{ndjson: {key: user}}", 4)

    def raw(self, directory):
        return self._pipeline(directory, "{raw: {}}", 1)

    def _pipeline(self, directory, file_format, shards):
        client = os.path.join(self._options.bin, "penstock")
        pipeline = os.path.join(directory, "pipeline.yaml")
        socket = os.path.join(directory, "w.sock")
        with open(pipeline, "w", encoding="utf-8") as out:
            out.write(f"name: bench\nstore: sqlite:{directory}/state.db\n"
                      f"level: EXACTLY_ONCE\n"
                      f"workers: [{{address: 'unix:{socket}'}}]\n"
                      f"connectors:\n"
                      f"  - name: lines\n"
                      f"    source: {{file: {{path: '{self._corpus}'}}}}\n"
                      f"    format: {file_format}\n"
                      f"    sink: {{file: {{path: '{directory}/out'}}}}\n"
                      f"    shards: {shards}\n")
        worker = Child([client + "-worker", "--listen", f"unix:{socket}",
                        "--admin-listen", "", "--state-dir",
                        os.path.join(directory, "worker"), "--log-level",
                        "warning"], os.path.join(directory, "worker.log"))
        try:
            give_up = time.monotonic() + WAIT_S
            while not os.path.exists(socket):
                if time.monotonic() > give_up:
                    raise Failure("the worker does not listen")
                time.sleep(POLL_S)
            with Timer() as timer:
                controller = Child([client, "run", pipeline],
                                   os.path.join(directory, "run.log"))
                controller.watch_memory()
                controller.wait()
            worker.stop()
        finally:
            worker.kill()
        self._verify(client, pipeline, file_format)
        return timer.measured(self._size, worker.cpu_s + controller.cpu_s,
                              worker_cpu_s=worker.cpu_s,
                              controller_cpu_s=controller.cpu_s,
                              worker_mb=worker.peak_bytes / 1e6,
                              controller_mb=controller.peak_bytes / 1e6)

    def _verify(self, program, pipeline, file_format):
        """A fast wrong answer is none: once for each kind of pipeline."""
        if file_format in self._verified:
            return
        subprocess.run([program, "verify", pipeline], check=True,
                       stdout=subprocess.DEVNULL)
        self._verified.add(file_format)


@contextlib.contextmanager
def clean_directory(parent):
    """An empty directory on a disk that has nothing left to write."""
    directory = tempfile.mkdtemp(prefix="round-", dir=parent)
    os.sync()
    try:
        yield directory
    finally:
        shutil.rmtree(directory)


# --- The report --------------------------------------------------------------

def spread(values):
    return {"median": statistics.median(values), "min": min(values),
            "max": max(values)}


def summary(rounds):
    """{"ndjson": {"mb_s": spread, ...}, ..., "ratio": {...}}."""
    result = {}
    for name in rounds[0]:
        result[name] = {field: spread([one[name][field] for one in rounds])
                        for field in rounds[0][name]}
    for above, below in (("ndjson", "reference"), ("raw", "cp")):
        if above in rounds[0] and below in rounds[0]:
            result[f"{above}/{below}"] = spread(
                [one[above]["mb_s"] / one[below]["mb_s"] for one in rounds])
    return result


def table(result):
    lines = [f"{'':10} {'MB/s':>20} {'CPU s/GB':>18} {'others CPU s':>13} "
             f"{'worker MB':>10} {'controller MB':>13}"]
    for name, figures in result.items():
        if "/" in name:
            continue
        rate, cpu = figures["mb_s"], figures["cpu_s_gb"]
        line = (f"{name:10} {rate['median']:6.0f} "
                f"({rate['min']:4.0f}-{rate['max']:5.0f}) "
                f"{cpu['median']:6.2f} ({cpu['min']:.2f}-{cpu['max']:.2f}) "
                f"{figures['others_cpu_s']['median']:13.2f}")
        if "worker_mb" in figures:
            line += (f" {figures['worker_mb']['max']:10.0f} "
                     f"{figures['controller_mb']['max']:13.0f}")
        lines.append(line)
    for name, least in (("ndjson/reference", NDJSON_RATIO_MIN),
                        ("raw/cp", RAW_RATIO_MIN)):
        if name in result:
            ratio = result[name]
            lines.append(f"{name}: {ratio['median']:.2f} ({ratio['min']:.2f}-"
                         f"{ratio['max']:.2f}), wanted {least}")
    memory = max((figures["worker_mb"]["max"] for figures in result.values()
                  if "worker_mb" in figures), default=None)
    if memory is not None:
        lines.append(f"worker: at most {memory:.0f} MB resident, wanted below "
                     f"{WORKER_MB_MAX}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"),
                        help="directory of penstock and penstock-worker")
    parser.add_argument("--reference", default=os.path.join(
        ROOT, "build/release/tests/bench/ondemand_reference"))
    parser.add_argument("--corpus-script", default="",
                        help="called with DIRECTORY BYTES SEED, writes "
                             "DIRECTORY/data.ndjson; default: make_corpus.py")
    parser.add_argument("--bytes", type=int, default=1 << 30)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="reference,ndjson,cp,raw",
                        help="what to measure, in this order")
    parser.add_argument("--directory", default=os.path.join(ROOT, "build/bench"),
                        help="for the corpus and the output; on a real disk")
    parser.add_argument("--json", help="file for all figures")
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    corpus = make_corpus(options.corpus_script, options.directory,
                         options.bytes, options.seed)
    bench = Bench(options, corpus)
    with open(corpus, "rb") as warm:
        while warm.read(1 << 20):
            pass
    rounds = []
    for number in range(options.rounds):
        one = {}
        for name in options.only.split(","):
            with clean_directory(options.directory) as directory:
                one[name] = getattr(bench, name)(directory)
        rounds.append(one)
        print(f"round {number + 1}: " + ", ".join(
            f"{name} {figures['mb_s']:.0f} MB/s"
            for name, figures in one.items()), file=sys.stderr)
    result = summary(rounds)
    print(table(result))
    if options.json:
        with open(options.json, "w", encoding="utf-8") as out:
            json.dump({"bytes": os.path.getsize(corpus), "rounds": rounds,
                       "summary": result}, out, indent=1)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except Failure as failure:
        print(failure, file=sys.stderr)
        sys.exit(1)
