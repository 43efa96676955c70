#!/usr/bin/env python3
"""CSV through the real programs, into files and a table.

A file with a header in another order than the columns', fields over several
lines, doubled quotes, nulls and empty text goes into files, while the run is
killed again and again, so that it goes on in the middle without the header; and
where a PostgreSQL server's programs are, into a table of typed columns. Rows
are compared with those that were written, by Python alone.

  PENSTOCK_CHAOS_RECORDS  records of the file (60,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import hashlib
import os
import random
import re
import sys
import time

import harness

COLUMNS = ("id", "name", "note", "price", "at")
SCHEMA = """    schema:
      columns:
        - {name: id, type: bigint, nullable: false}
        - {name: name, type: varchar, nullable: false}
        - {name: note, type: varchar}
        - {name: price, type: decimal, precision: 12, scale: 2}
        - {name: at, type: timestamptz}
"""
# As they stand in the file; `ignored` is no column.
HEADER = ("name", "ignored", "at", "id", "price", "note")
# Hundreds of steps, so that kills meet many of them.
LIMITS = {"block_bytes": "32KiB", "step_bytes": "32KiB",
          "step_bytes_max": "64KiB", "chunk_bytes_max": "16KiB"}
KILLS = 5


def random_row(rng, number):
    """{column: text}, None where it is null."""
    pieces = ("gate", "weir", ",", '"', "\n", "\r\n", "é", " ", "'", "#")
    note = rng.choice((None, "", "".join(
        rng.choice(pieces) for _ in range(rng.randrange(12)))))
    return {"id": str(number), "name": f"n{rng.randrange(1000)}", "note": note,
            "price": rng.choice((None, f"{rng.randrange(10**6)}.25")),
            "at": f"2026-01-{rng.randrange(1, 29):02} 10:20:30.5Z"}


def field(text):
    if text is None:
        return ""
    plain = text and not any(c in text for c in ',"\r\n')
    return text if plain else '"' + text.replace('"', '""') + '"'


def write_file(path, rows):
    """Bad records stand between the good ones, and cost nothing but themselves."""
    with open(path, "w", encoding="utf-8", newline="") as out:
        out.write("\ufeff# orders, by \"hand\"\r\n\r\n")
        out.write(",".join(HEADER) + "\r\n")
        for number, row in enumerate(rows):
            out.write(",".join(field(row.get(name, "x")) for name in HEADER)
                      + ("\r\n" if number % 2 else "\n"))
            if number % 1000 == 7:
                out.write('5" disk,x,,1,,\nshort,1\n"a"b,x,,1,,\n\n# "\n')


def write_pipeline(directory, source, name, sink):
    path = os.path.join(directory, f"{name}.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(
            f"name: {name}\nstore: 'sqlite:{directory}/{name}.db'\n"
            "checkpoint_interval: 200ms\nconnectors:\n  - name: orders\n"
            f"    source: {{file: {{path: '{source}'}}}}\n"
            "    format: {csv: {header: true, comment: '#', key: name}}\n"
            f"    sink: {{{sink}}}\n    shards: 2\n" + SCHEMA
            + "    limits: {" + ", ".join(
                f"{limit}: {value}" for limit, value in LIMITS.items()) + "}\n")
    return path


CELL = re.compile(r'("(?:[^"]|"")*"|[^",\n]*)([,\n])')


def read_output(directory):
    """The rows of the files; null is None, and empty text is in quotes."""
    rows = []
    for lines in harness.committed_lines(directory):
        text = b"".join(lines).decode()
        row, at = [], 0
        while at < len(text):
            cell = CELL.match(text, at)
            if cell is None:
                raise harness.Failure(f"no CSV: {text[at:at + 100]!r}")
            word, at = cell[1], cell.end()
            row.append(word[1:-1].replace('""', '"') if word[:1] == '"'
                       else word or None)
            if cell[2] == "\n":
                rows.append(row)
                row = []
    return sorted(rows, key=lambda row: int(row[0]))


def into_files(programs, directory, source, rows, rng):
    out = os.path.join(directory, "out")
    pipeline = write_pipeline(directory, source, "files", f"file: {{path: '{out}'}}")
    for _ in range(KILLS):
        run = programs.start_run(pipeline)
        before = harness.committed_bytes(out)
        deadline = time.monotonic() + 0.4 * rng.random()
        harness.wait_until(
            "more rows, or the end",
            lambda seen=before, run=run, deadline=deadline:
            run.poll() is not None or (time.monotonic() > deadline
                                       and harness.committed_bytes(out) > seen))
        if run.poll() is not None:
            break  # Faster than its killer.
        harness.kill(run)
    harness.wait_for_end(programs.start_run(pipeline), 0)
    compare(read_output(out), [[row[name] for name in COLUMNS] for row in rows])
    print(f"csv_rows: {len(rows)} rows in files, exactly once", flush=True)


def compare(found, expected):
    if found == expected:
        return
    wrong = next((pair for pair in zip(found, expected) if pair[0] != pair[1]),
                 (len(found), len(expected)))
    raise harness.Failure(f"found and expected rows differ: {wrong}")


def into_postgres(programs, directory, source, rows):
    with open(os.path.join(directory, "postgres.log"), "wb") as log:
        server = harness.PostgresServer(os.path.join(directory, "pg"), log)
        try:
            server.make_database("orders")
            pipeline = write_pipeline(
                directory, source, "table",
                f"postgres: {{url: '{server.url('orders')}', table: orders, "
                "create_table: true}")
            harness.wait_for_end(programs.start_run(pipeline), 0)
            found = server.rows(
                "orders", "SELECT id, name, coalesce(md5(note), 'null'),"
                " coalesce(price::text, 'null'), to_char(at AT TIME ZONE 'UTC',"
                " 'YYYY-MM-DD HH24:MI:SS.MS') FROM orders ORDER BY id")
            compare(found, [
                [row["id"], row["name"],
                 "null" if row["note"] is None else
                 hashlib.md5(row["note"].encode()).hexdigest(),
                 row["price"] or "null", row["at"].replace("5Z", "500")]
                for row in rows])
            print(f"csv_rows: {len(rows)} rows in a table, typed", flush=True)
        finally:
            programs.end_all()
            server.end()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    records = harness.setting("RECORDS", 60_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    print(f"csv_rows: seed {seed}, {records} records", flush=True)

    def test(programs, directory):
        rng = random.Random(seed)
        rows = [random_row(rng, number) for number in range(records)]
        source = os.path.join(directory, "in.csv")
        write_file(source, rows)
        into_files(programs, directory, source, rows, rng)
        try:
            harness.need_postgres()
        except SystemExit:
            print("csv_rows: no PostgreSQL, no table", flush=True)
            return
        into_postgres(programs, directory, source, rows)

    return harness.main("csv_rows", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
