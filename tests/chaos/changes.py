#!/usr/bin/env python3
"""Changes of Debezium in a topic, applied to a table.

The broker is a real one, or with --mock librdkafka's mock, which can be had
everywhere. The changes are JSON with its schema around, tombstones and
heartbeats between them; they go into a PostgreSQL table (mode upsert), and the
run is killed in the middle: the table is then what the changes make of it. Then
into a topic: what compaction would leave of it is the table.

  PENSTOCK_CHAOS_RECORDS  changes (4,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import time

import harness
import kafka_broker

KEYS = 40


class Change:
    """One of a customer: what it was, what it is, Debezium's letter."""

    def __init__(self, op, before, after):
        self.op = op
        self.before = before
        self.after = after
        self.key = (after or before)["id"]


def make_changes(count, seed):
    """Changes as a database makes them, and the table at their end."""
    rng = random.Random(seed)
    table = {}
    changes = []
    for number in range(count):
        key = rng.randrange(KEYS)
        before = table.pop(key, None)
        after = None
        if before is None or rng.random() < 0.7:
            after = {"id": key, "name": rng.choice((None, f"n{number}"))}
            table[key] = after
        op = "d" if after is None else "u" if before else "c"
        changes.append(Change(op, before, after))
    return changes, table


class Broker:
    """librdkafka's mock, or without one a real broker, and kcat to write.

    `topics`: {name: partitions}; the mock makes any that it is asked for.
    """

    def __init__(self, mock, directory, log, topics):
        self._real = self._process = None
        if mock is None:
            self._real = kafka_broker.KafkaBroker(
                os.path.join(directory, "kafka"))
            self.bootstrap = self._real.bootstrap
            for topic, partitions in topics.items():
                self._real.make_topic(topic, partitions)
            return
        self._process = subprocess.Popen(
            [mock], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=log, preexec_fn=harness.die_with_parent)
        self.bootstrap = (self._process.stdout.readline().decode().strip()
                          .removeprefix("BROKERS="))

    def kcat(self, topic, *arguments, data=None):
        done = subprocess.run(
            ["kcat", "-b", self.bootstrap, "-P", "-t", topic, "-p", "0",
             *arguments], input=data, capture_output=True,
            timeout=harness.WAIT_MAX, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"kcat: {done.stderr.decode()}")

    def read(self, topic):
        """Its messages: key, size of the value (-1: none), value."""
        done = subprocess.run(
            ["kcat", "-b", self.bootstrap, "-C", "-t", topic, "-o",
             "beginning", "-e", "-f", "%k\\t%S\\t%s\\n"],
            capture_output=True, timeout=harness.WAIT_MAX, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"kcat: {done.stderr.decode()}")
        return done.stdout.decode().splitlines()

    def end(self):
        if self._real is not None:
            self._real.end()
            return
        self._process.kill()
        self._process.wait()


def need_broker(mock):
    """Ends a script that cannot have the Broker that it wants."""
    if mock is None:
        kafka_broker.need_kafka()
    elif shutil.which("kcat") is None:
        print("NOTHING WAS TESTED: kcat is not installed")
        raise SystemExit(77)


def write_pipeline(directory, broker, topic, connector):
    path = os.path.join(directory, "pipeline.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"""\
name: changes
store: 'sqlite:{directory}/state.db'
checkpoint_interval: 200ms
connectors:
  - name: customers
    source:
      kafka:
        topics: [{topic}]
        stop_at_end: true
        options: {{bootstrap.servers: '{broker.bootstrap}'}}
    limits: {{step_bytes: 8KiB, step_bytes_max: 64KiB}}
    shards: 2
    schema:
      columns:
        - {{name: id, type: bigint, nullable: false}}
        - {{name: name, type: varchar}}
        - {{name: op, type: varchar}}
        - {{name: at, type: bigint}}
{connector}""")
    return path


def check(what, found, expected):
    if found != expected:
        raise harness.Failure(f"{what}: {found} instead of {expected}")


def write_changes(broker, changes):
    """As Debezium writes them, into the topic `json`."""
    lines = []
    for number, change in enumerate(changes):
        key = json.dumps({"id": change.key})
        payload = {"before": change.before, "after": change.after,
                   "op": change.op, "ts_ms": number,
                   "source": {"lsn": number}}
        lines.append(f"{key}\t" + json.dumps(
            {"schema": {"type": "struct"}, "payload": payload}))
        if change.op == "d":
            lines.append(f"{key}\t")  # Its tombstone.
        if number % 500 == 0:
            lines.append('{}\t{"ts_ms":1}')  # A heartbeat.
    broker.kcat("json", "-K", "\t", "-Z", data=("\n".join(lines)).encode())


def into_a_table(programs, directory, broker, server, changes, table):
    server.make_database("shop")
    pipeline = write_pipeline(directory, broker, "json", f"""\
    format:
      json:
        envelope: debezium
        key: id
        envelope_columns: {{op: op, timestamp: at}}
    sink:
      postgres:
        url: '{server.url("shop")}'
        table: public.customers
        mode: upsert
        key: [id]
        create_table: true
""")
    query = "SELECT count(*) FROM public.customers"
    run = programs.start_run(pipeline)

    def has_rows():
        try:
            return run.poll() is not None or server.rows("shop", query) != [
                ["0"]]
        except harness.Failure:
            return False  # There is no table yet.

    harness.wait_until("the first rows", has_rows)
    if run.poll() is None:
        harness.kill(run)
        run = programs.start_run(pipeline)
    harness.wait_for_end(run, 0)
    last = {change.key: (number, change.op)
            for number, change in enumerate(changes)}
    expected = sorted([str(key), row["name"] or "", last[key][1],
                       str(last[key][0])] for key, row in table.items())
    check("the table", sorted(server.rows(
        "shop", "SELECT id, name, op, at FROM public.customers")), expected)
    print(f"into_a_table: {len(changes)} changes, {len(table)} rows left",
          flush=True)


def into_a_topic(programs, directory, broker, changes, table):
    """What compaction would leave of the topic is the table."""
    pipeline = write_pipeline(directory, broker, "json", f"""\
    format: {{json: {{envelope: debezium, key: id}}}}
    sink:
      kafka:
        topic: rows
        options: {{bootstrap.servers: '{broker.bootstrap}'}}
level: at_least_once
""")
    harness.wait_for_end(programs.start_run(pipeline), 0)
    rows = {}
    deletions = 0
    for line in broker.read("rows"):
        key, size, value = line.split("\t", 2)
        if int(size) < 0:
            deletions += 1
            rows.pop(key, None)
        else:
            rows[key] = json.loads(value)
    check("the topic", rows, {str(key): row for key, row in table.items()})
    check("whether it has deletions", deletions > 0, True)
    print(f"into_a_topic: {deletions} deletions, {len(rows)} rows left",
          flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--mock", help="the program penstock_kafka_mock; "
                        "without it a real broker is asked for")
    arguments = parser.parse_args()
    harness.need_postgres()
    need_broker(arguments.mock)
    records = harness.setting("RECORDS", 4_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    print(f"changes: seed {seed}, {records} changes", flush=True)

    def test(programs, directory):
        changes, table = make_changes(records, seed)
        with open(os.path.join(directory, "servers.log"), "wb") as log:
            server = harness.PostgresServer(
                os.path.join(directory, "postgres"), log)
            broker = Broker(arguments.mock, directory, log,
                            {"json": 1, "rows": 1})
        try:
            write_changes(broker, changes)
            into_a_table(programs, harness.fresh(os.path.join(
                directory, "table")), broker, server, changes, table)
            into_a_topic(programs, harness.fresh(os.path.join(
                directory, "topic")), broker, changes, table)
        finally:
            programs.end_all()
            broker.end()
            server.end()

    return harness.main("changes", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
