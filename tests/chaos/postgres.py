#!/usr/bin/env python3
"""Kills whatever stands between a file and a PostgreSQL table; exactly once.

Each round: an empty database, a fresh pipeline of one NDJSON file into two
shards, one to three strikes while rows are being committed: SIGKILL of worker,
controller or both, pg_terminate_backend of the sink's sessions, a crash of the
server. Then the run goes on to its end; rows are compared with the file by
Python alone, those of a shard stand in the order of the file, and the progress
rows agree; and the password, which the worker has by reference, stands in no
file, log or reply (INV-10). Then: a worker that is stopped, replaced and woken; rows that the table
refuses; typed columns.

  PENSTOCK_CHAOS_ROUNDS   rounds (25)
  PENSTOCK_CHAOS_RECORDS  records of the file (200,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import collections
import json
import os
import random
import signal
import sys
import time

import harness
import strikes

# Hundreds of steps, so that strikes meet many commits.
LIMITS = {"block_bytes": "128KiB", "step_bytes": "64KiB",
          "step_bytes_max": "128KiB", "chunk_bytes_max": "32KiB"}
SHARDS = 2
# The server asks nobody for a password, so any is right.
SECRET = "sluice-keeper's key"
SECRET_NAME = "PENSTOCK_CHAOS_SECRET"
KINDS = ("worker", "server", "controller", "sessions", "both", "local worker")
# Which shard wrote a row stands in the name of its session.
TABLE = ("CREATE TABLE orders (body text, shard text DEFAULT"
         " split_part(current_setting('application_name'), ':', 4),"
         " number bigint GENERATED ALWAYS AS IDENTITY)")
END_SESSIONS = ("SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity"
                " WHERE application_name LIKE 'penstock:%'")


class Site:
    """One fresh pipeline and database with the processes that drive it."""

    def __init__(self, programs, directory, server, database, source,
                 local=False, constraint="true", more=""):
        self.programs = programs
        self.server = server
        self.source = source
        self.database = database
        self.directory = harness.fresh(directory)
        server.drop_database(database)
        server.make_database(database)
        self.query(TABLE)
        self.query(f"ALTER TABLE orders ADD CHECK ({constraint})")
        self.socket = None if local else os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, source.path, socket=self.socket, limits=LIMITS,
            shards=SHARDS, sink="postgres: {url: "
            f"'{server.url(database)}?password=${{env:{SECRET_NAME}}}', "
            "table: orders, create_table: true, lock_timeout: 5s}")
        with open(self.pipeline, "a", encoding="utf-8") as pipeline:
            pipeline.write(more)
        self.worker = self.run = None
        if not local:
            self.start_worker()
        self.start_run()

    def query(self, sql):
        return self.server.rows(self.database, sql)

    def start_worker(self, state="worker"):
        self.worker = self.programs.start_worker(
            self.socket, os.path.join(self.directory, state))

    def start_run(self):
        self.run = self.programs.start_run(self.pipeline)

    def tried(self):
        """Rows that were ever sent, those rolled back included; it is cheap."""
        try:
            return int(self.query(
                "SELECT last_value FROM orders_number_seq")[0][0])
        except harness.Failure:
            return 0  # The server is not back yet.

    def wait_for(self, rows):
        harness.wait_until(f"{rows} rows", lambda: self.tried() >= rows,
                           alive=[self.run])

    def finish(self):
        harness.wait_for_end(self.run, 0)
        self.verify()
        self.look_for_secret()
        if self.worker is not None:
            harness.kill(self.worker)

    def verify(self):
        found = harness.Fingerprint()
        ids = collections.defaultdict(list)
        for shard, body in self.query(
                "SELECT shard, body FROM orders ORDER BY number"):
            found.add([body.encode() + b"\n"])
            ids[shard].append(json.loads(body)["id"])
        if found != self.source.print:
            raise harness.Failure(
                f"the table has {found}, the file {self.source.print}")
        if set(ids) != {"0", "1"}:
            raise harness.Failure(f"shards {set(ids)} have rows")
        for shard, numbers in ids.items():
            if numbers != sorted(numbers):
                raise harness.Failure(f"rows of shard {shard} out of order")
        self.verify_progress()

    def verify_progress(self):
        rows = self.query(
            "SELECT shard, pipeline, connector, incarnation, epoch,"
            " open_number, steps FROM penstock.progress ORDER BY shard")
        if [row[0] for row in rows] != ["0", "1"]:
            raise harness.Failure(f"progress of the shards is {rows}")
        # Whose it is, and the count, which the last checkpoint made equal.
        if rows[0][1:] != rows[1][1:]:
            raise harness.Failure(f"the shards' progress differs: {rows}")

    def end_sessions(self):
        self.query(END_SESSIONS)

    def restart_server(self):
        self.server.stop_at_once()
        self.server.start()

    def blows(self):
        """What else may be struck, see strikes.strike."""
        return {"sessions": self.end_sessions, "server": self.restart_server}

    def look_for_secret(self):
        """In what was stored, logged or can be asked for."""
        texts = harness.snapshot(self.directory)
        for name in ("log", "postgres.log"):
            path = os.path.join(os.path.dirname(self.directory), name)
            with open(path, "rb") as log:
                texts[name] = log.read()
        if self.worker is not None:
            texts["connectors"] = self.programs.call(
                "connectors", "orders", "--worker", f"unix:{self.socket}",
                "--output", "json").stdout
        for name, text in texts.items():
            if SECRET.encode() in text or b"keeper" in text:
                raise harness.Failure(f"the password stands in {name}")


def stopped_worker(site):
    """A worker sleeps in the middle of it all, another takes its place."""
    site.wait_for(site.source.print.count // 4)
    sleeper = site.worker
    harness.stop(sleeper)
    if site.run.poll() is not None:
        raise harness.TooLate("the worker was stopped behind the run's end")
    harness.kill(site.run)
    site.start_worker("worker2")
    site.start_run()
    site.wait_for(site.source.print.count // 2)
    sleeper.send_signal(signal.SIGCONT)
    harness.wait_for_end(site.run, 0)
    site.look_for_secret()
    # Everything it does after waking up must leave the table as it is.
    time.sleep(2)
    site.verify()
    if sleeper.poll() is not None:
        raise harness.Failure(f"the woken worker died: {sleeper.returncode}")
    harness.kill(sleeper)
    harness.kill(site.worker)


def refused_rows(programs, directory, server, path):
    """Field case B070: rows that the table refuses get letters, others in."""
    lines = [f'{{"id":{number},"key":"k{number % 50}"}}\n'
             for number in range(2000)]
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(lines)
    site = Site(programs, directory, server, "refused", harness.Source(path),
                constraint="(body::json->>'id')::int % 500 <> 3",
                more="    dead_letter: {file: {path: "
                f"'{os.path.join(directory, 'dead')}'}}}}\n")
    harness.wait_for_end(site.run, 0)
    bad = [number for number in range(len(lines)) if number % 500 == 3]
    found = [number for (number,) in
             site.query("SELECT body::json->>'id' FROM orders")]
    wanted = set(range(len(lines))) - set(bad)
    if len(found) != len(wanted) or set(map(int, found)) != wanted:
        raise harness.Failure(f"{len(found)} rows are in the table")
    letters = {}
    for text in harness.snapshot(os.path.join(directory, "dead")).values():
        for line in text.splitlines():
            letter = json.loads(line)
            letters[letter["id"]] = letter
    offsets = sorted(letter["offset"] for letter in letters.values())
    if offsets != [sum(map(len, lines[:number])) for number in bad]:
        raise harness.Failure(f"the letters are {list(letters.values())}")
    if any("23514" not in letter["message"] for letter in letters.values()):
        raise harness.Failure("a letter does not say what the server said")
    site.verify_progress()
    harness.kill(site.worker)


# Declared, a literal in JSON, and what the server prints of it.
VALUES = (
    ("bigint", "-9223372036854775808", "'-9223372036854775808'"),
    ("boolean", "true", "'true'"),
    ("decimal", "12345678901234567890.1234567890",
     "'12345678901234567890.1234567890'"),
    ("double", "0.1", "'0.1'"),
    ("varchar", '"\\u20ac \\"x\\""', "'\u20ac \"x\"'"),
    ("variant", '{"b":1.50,"a":[null]}', """'{"a": [null], "b": 1.50}'"""),
    ("date", '"2024-02-29"', "'2024-02-29'"),
    ("timestamp", '"2024-02-29T12:00:00.000001"',
     "'2024-02-29 12:00:00.000001'"),
    ("uuid", '"0123abcd-0000-4000-8000-00000000ffff"',
     "'0123abcd-0000-4000-8000-00000000ffff'"),
    ("varbinary", '"AP8="', "E'\\\\x00ff'"),
    ("bigint", "null", "NULL"),
)


def typed_rows(programs, directory, server, path):
    """Fields of JSON into columns that are made from the schema, exactly."""
    harness.fresh(directory)
    with open(path, "w", encoding="utf-8") as out:
        for _ in range(3):
            out.write("{" + ",".join(f'"c{i}":{literal}' for i, (_, literal, _)
                                     in enumerate(VALUES)) + "}\n")
        out.write('{"c0":1.5}\n')  # A bad record.
    server.make_database("typed")
    pipeline = harness.write_pipeline(
        directory, path, shards=1, key="c0",
        sink=f"postgres: {{url: '{server.url('typed')}', "
        "table: typed.values, create_table: true}")
    with open(pipeline, "a", encoding="utf-8") as out:
        out.write("    schema:\n      columns:\n")
        for i, (declared, _, _) in enumerate(VALUES):
            out.write(f"        - {{name: c{i}, type: {declared}}}\n")
    harness.wait_for_end(programs.start_run(pipeline), 0)
    for i, (declared, literal, printed) in enumerate(VALUES):
        found = server.rows(
            "typed", "SELECT DISTINCT count(*) OVER (), "
            f"quote_nullable(c{i}::text) FROM typed.values")
        if found != [["3", printed]]:
            raise harness.Failure(f"{declared} {literal} became {found}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    rounds = harness.setting("ROUNDS", 25)
    records = harness.setting("RECORDS", 200_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    os.environ[SECRET_NAME] = SECRET
    harness.need_postgres()
    print(f"postgres: seed {seed}, {rounds} rounds, {records} records",
          flush=True)

    def play_rounds(programs, directory, server, sources):
        rng = random.Random(seed)
        struck = collections.Counter()
        for number in range(rounds):
            kind = KINDS[number % len(KINDS)]
            started = time.monotonic()

            def play(trial, kind=kind, database=f"round_{number}"):
                source = sources[trial]
                site = Site(programs, os.path.join(directory, "s"), server,
                            database, source, kind.startswith("local"))
                count = strikes.play_round(site, rng, kind, source.print.count,
                                           site.blows())
                server.drop_database(database)
                return count

            count = harness.strike_in_time(programs, play)
            struck[kind] += count
            print(f"round {number + 1:2}: {kind} struck {count} times, exactly "
                  f"once; {time.monotonic() - started:.1f} s", flush=True)
        print(f"postgres: {sources[0].print} exactly once in each of {rounds} "
              f"rounds; {sum(struck.values())} strikes: {dict(struck)}",
              flush=True)

    def test(programs, directory):
        sources = harness.growing_source(directory, records, seed)
        with open(os.path.join(directory, "postgres.log"), "wb") as log:
            server = harness.PostgresServer(os.path.join(directory, "pg"), log)
            try:
                play_rounds(programs, directory, server, sources)
                place = os.path.join(directory, "s")
                harness.strike_in_time(
                    programs, lambda trial: stopped_worker(
                        Site(programs, place, server, f"stopped{trial}",
                             sources[trial])))
                print("stopped_worker: no harm done", flush=True)
                refused_rows(programs, place, server,
                             os.path.join(directory, "refused.ndjson"))
                print("refused_rows: each has its letter", flush=True)
                typed_rows(programs, place, server,
                           os.path.join(directory, "typed.ndjson"))
                print("typed_rows: exact", flush=True)
            finally:
                programs.end_all()
                server.end()

    return harness.main("postgres", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
