#!/usr/bin/env python3
"""An NDJSON file into a PostgreSQL table, beside psql's own \\copy of the rows.

  postgres_copy.py --bin build/release/bin

In turn, round after round, into the same logged table of a server of its own,
which syncs as it does in production:
  csv     psql \\copy of the rows as CSV
  binary  psql \\copy of the rows, encoded to PostgreSQL's binary form beforehand
  one     penstock: NDJSON -> typed -> binary COPY, exactly-once, one shard
  two     the same with two shards

Prints rows a second (median and spread) and the ratios within each round, each
beside what is wanted. The first output of each is compared with the others by
the server. See tests/bench/README.md.
"""
import argparse
import csv
import json
import os
import shutil
import statistics
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.join(ROOT, "tests", "chaos"))
import harness  # pylint: disable=wrong-import-position
import make_corpus  # pylint: disable=wrong-import-position

DATABASE = "bench"
# Name, type that is declared, type of the column.
COLUMNS = (("id", "bigint", "bigint"), ("ts", "timestamptz", "timestamptz"),
           ("level", "varchar", "text"), ("service", "varchar", "text"),
           ("method", "varchar", "text"), ("status", "integer", "integer"),
           ("latency_ms", "double", "double precision"),
           ("bytes", "bigint", "bigint"), ("user", "varchar", "text"),
           ("ok", "boolean", "boolean"), ("message", "varchar", "text"),
           ("geo", "variant", "jsonb"), ("tags", "array, children: [{type: varchar}]", "text[]"))
# As many as fit: nobody waits for a checkpoint that another has caused.
SETTINGS = {"fsync": "on", "full_page_writes": "on", "shared_buffers": "512MB",
            "max_wal_size": "16GB", "checkpoint_timeout": "1h"}
WANTED = (("one", "csv", 1.3), ("one", "binary", 0.85), ("two", "one", 1.0))


def write_csv(ndjson, path):
    """The same rows. Returns how many."""
    count = 0
    with open(ndjson, encoding="utf-8") as lines, \
            open(path, "w", encoding="utf-8", newline="") as out:
        writer = csv.writer(out, lineterminator="\n")
        for line in lines:
            record = json.loads(line)
            record["ok"] = "true" if record["ok"] else "false"
            # Every digit as it stands: jsonb keeps them.
            record["geo"] = line.partition('"geo":')[2].partition(',"tags"')[0]
            record["tags"] = "{" + ",".join(record["tags"]) + "}"
            writer.writerow(record[name] for name, _, _ in COLUMNS)
            count += 1
    return count


class Bench:
    def __init__(self, options, programs, server, directory):
        self._programs = programs
        self._server = server
        self._directory = directory
        self._ndjson = os.path.join(directory, "data.ndjson")
        self._csv = os.path.join(directory, "data.csv")
        self._binary = os.path.join(directory, "data.bin")
        make_corpus.write_corpus(self._ndjson, options.bytes, options.seed)
        self.records = write_csv(self._ndjson, self._csv)
        self._sums = {}
        server.make_database(DATABASE)
        self._make_table()
        self.csv()
        self._psql(f"\\copy t TO '{self._binary}' (FORMAT binary)")

    def _psql(self, command):
        self._server.command(DATABASE, command)

    def _make_table(self):
        self._psql("DROP TABLE IF EXISTS t")
        self._psql("CREATE TABLE t (" + ", ".join(
            f'"{name}" {column}' for name, _, column in COLUMNS) + ")")
        self._psql("CHECKPOINT")

    def measure(self, name):
        """Rows a second."""
        self._make_table()
        seconds = getattr(self, name)()
        if name not in self._sums:
            self._sums[name] = self._server.rows(
                DATABASE, "SELECT count(*), sum(hashtext(t::text)) FROM t")
            if self._sums[name] != self._sums["csv"]:
                raise harness.Failure(f"{self._sums}")
        return self.records / seconds

    def _timed(self, command):
        start = time.monotonic()
        self._psql(command)
        return time.monotonic() - start

    def csv(self):
        return self._timed(f"\\copy t FROM '{self._csv}' (FORMAT csv)")

    def binary(self):
        return self._timed(f"\\copy t FROM '{self._binary}' (FORMAT binary)")

    def one(self):
        return self._penstock(1)

    def two(self):
        return self._penstock(2)

    def _penstock(self, shards):
        self._psql("DROP SCHEMA IF EXISTS penstock CASCADE")
        site = harness.fresh(os.path.join(self._directory, "site"))
        socket = os.path.join(site, "w.sock")
        pipeline = harness.write_pipeline(
            site, self._ndjson, socket=socket, shards=shards, key="id",
            checkpoint="1s", sink="postgres: {url: "
            f"'{self._server.url(DATABASE)}', table: t, create_table: true}}")
        with open(pipeline, "a", encoding="utf-8") as out:
            out.write("    schema:\n      columns:\n" + "".join(
                f"        - {{name: {name}, type: {declared}}}\n"
                for name, declared, _ in COLUMNS))
        worker = self._programs.start_worker(
            socket, os.path.join(site, "worker"))
        harness.wait_until("the worker", lambda: os.path.exists(socket),
                           alive=[worker])
        start = time.monotonic()
        harness.wait_for_end(self._programs.start_run(pipeline), 0)
        seconds = time.monotonic() - start
        worker.terminate()
        worker.wait()
        return seconds


def report(rounds):
    lines = []
    for name in rounds[0]:
        rates = [one[name] / 1000 for one in rounds]
        lines.append(f"{name:7} {statistics.median(rates):6.0f} "
                     f"({min(rates):.0f}-{max(rates):.0f}) thousand rows/s")
    for above, below, wanted in WANTED:
        if above in rounds[0] and below in rounds[0]:
            ratios = [one[above] / one[below] for one in rounds]
            lines.append(f"{above}/{below}: {statistics.median(ratios):.2f} "
                         f"({min(ratios):.2f}-{max(ratios):.2f}), wanted "
                         f"{wanted}")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--bin", default=os.path.join(ROOT, "build/release/bin"),
                        help="directory of penstock and penstock-worker")
    parser.add_argument("--bytes", type=int, default=256 << 20)
    parser.add_argument("--seed", type=int, default=42)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", default="csv,binary,one,two",
                        help="what to measure, in this order")
    options = parser.parse_args()
    harness.need_postgres()
    directory = tempfile.mkdtemp(prefix="psbench-")
    with open(os.path.join(directory, "log"), "wb") as log:
        programs = harness.Programs(options.bin, log)
        server = harness.PostgresServer(os.path.join(directory, "pg"), log,
                                        SETTINGS)
        try:
            bench = Bench(options, programs, server, directory)
            rounds = []
            for number in range(options.rounds):
                rounds.append({name: bench.measure(name)
                               for name in options.only.split(",")})
                print(f"round {number + 1}: " + ", ".join(
                    f"{name} {rate / 1000:.0f}" for name, rate in
                    rounds[-1].items()), file=sys.stderr)
        finally:
            programs.end_all()
            server.end()
    print(f"{bench.records} rows")
    print(report(rounds))
    shutil.rmtree(directory)
    return 0


if __name__ == "__main__":
    sys.exit(main())
