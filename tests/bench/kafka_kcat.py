#!/usr/bin/env python3
"""The Kafka source beside kcat, over the same topic of a real broker.

  kafka_kcat.py --bin build/release/bin

In turn, round after round, a topic of four partitions with messages of 1 KiB
is read from its beginning to its end, each time by new processes:
  kcat    kcat -C -e -o beginning, into /dev/null
  raw     penstock: each message a record, as it is, exactly-once, into nothing
  ndjson  penstock: each message parsed as JSON, and routed by a key

Prints MB a second and processor seconds a GB (median and spread), and the
ratios to kcat within each round. Times are of whole processes, their start and
end included: read enough. Needs what tests/kafka needs, and kcat. See
tests/bench/README.md.
"""
import argparse
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "chaos"))
import harness  # pylint: disable=wrong-import-position
import kafka_broker  # pylint: disable=wrong-import-position

TOPIC = "bench"
PARTITIONS = 4
MESSAGE_BYTES = 1024
FORMATS = {"raw": "raw: {}", "ndjson": "ndjson: {key: id}"}


class Bench:
    def __init__(self, options, broker, directory):
        self._options = options
        self._broker = broker
        self._directory = directory
        path = os.path.join(directory, "data")
        with open(path, "w", encoding="ascii") as out:
            for number in range(options.messages):
                line = f'{{"id":{number},"pad":"'
                out.write(line + "x" * (MESSAGE_BYTES - len(line) - 2) + '"}\n')
        broker.make_topic(TOPIC, PARTITIONS)
        subprocess.run(
            ["kcat", "-b", broker.bootstrap, "-P", "-t", TOPIC, "-X",
             "partitioner=random", "-l", path], check=True)
        os.unlink(path)
        self.bytes = options.messages * MESSAGE_BYTES

    def measure(self, name):
        """(bytes a second, processor seconds)"""
        command = (["kcat", "-b", self._broker.bootstrap, "-C", "-q", "-e",
                    "-o", "beginning", "-t", TOPIC] if name == "kcat" else
                   [os.path.join(self._options.bin, "penstock"), "run",
                    self._pipeline(FORMATS[name]), "--output", "json"])
        with open(os.path.join(self._directory, "log"), "ab") as log:
            before = time.monotonic()
            process = subprocess.Popen(
                command, stdin=subprocess.DEVNULL, stderr=log,
                stdout=subprocess.DEVNULL if name == "kcat" else log)
            # Also of those that it has waited for: its worker.
            _, status, used = os.wait4(process.pid, 0)
            process.returncode = os.waitstatus_to_exitcode(status)
            seconds = time.monotonic() - before
        if process.returncode != 0:
            raise harness.Failure(f"{name} ended with {process.returncode}")
        return self.bytes / seconds, used.ru_utime + used.ru_stime

    def _pipeline(self, form):
        site = harness.fresh(os.path.join(self._directory, "site"))
        path = os.path.join(site, "pipeline.yaml")
        with open(path, "w", encoding="utf-8") as out:
            out.write(
                f"name: bench\nstore: '{harness.default_store(site)}'\n"
                "connectors:\n  - name: orders\n"
                f"    source: {{kafka: {{topics: [{TOPIC}], stop_at_end: true, "
                "options: {bootstrap.servers: "
                f"'{self._broker.bootstrap}'}}}}}}\n"
                f"    format: {{{form}}}\n    sink: {{null: {{}}}}\n")
        return path


def spread(values, digits):
    return (f"{statistics.median(values):.{digits}f} "
            f"({min(values):.{digits}f}-{max(values):.{digits}f})")


def report(rounds, size):
    lines = []
    for name in rounds[0]:
        rates = [one[name][0] / 1e6 for one in rounds]
        costs = [one[name][1] / size * 1e9 for one in rounds]
        lines.append(f"{name:7} {spread(rates, 0)} MB/s, "
                     f"{spread(costs, 2)} CPU s/GB")
    for name in rounds[0]:
        if name != "kcat" and "kcat" in rounds[0]:
            rates = [one[name][0] / one["kcat"][0] for one in rounds]
            costs = [one[name][1] / one["kcat"][1] for one in rounds]
            lines.append(f"{name}/kcat: rate {spread(rates, 2)}, "
                         f"processor time {spread(costs, 2)}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"),
                        help="directory of penstock and penstock-worker")
    parser.add_argument("--messages", type=int, default=500_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="kcat,raw,ndjson",
                        help="what to measure, in this order")
    options = parser.parse_args()
    kafka_broker.need_kafka()
    directory = tempfile.mkdtemp(prefix="psbench-")
    broker = kafka_broker.KafkaBroker(os.path.join(directory, "kafka"))
    try:
        bench = Bench(options, broker, directory)
        rounds = []
        for number in range(options.rounds):
            rounds.append({name: bench.measure(name)
                           for name in options.only.split(",")})
            print(f"round {number + 1}: " + ", ".join(
                f"{name} {rate / 1e6:.0f} MB/s, {used:.2f} s" for
                name, (rate, used) in rounds[-1].items()), file=sys.stderr)
    finally:
        broker.end()
    print(report(rounds, bench.bytes))
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
