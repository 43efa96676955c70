#!/usr/bin/env python3
"""Avro messages by a schema registry that comes and goes, into files.

Two topics of a real broker, or with --mock of librdkafka's mock, which can be
had everywhere: one of Debezium's changes, one of plain records. Half-way their
schemas become others, later ones have a number that the registry learns last of
all, and one has that of a schema of another kind. The registry wants a
password. It is down at first, lets nobody in, answers with errors for what is
new, is down again, and does not know a number for a long time; worker and
controller are killed each time. Meanwhile the connectors are DEGRADED and say
why. One number is nobody's: a person calls it bad, in the file. In the end every
message is in the files once, each key's in order, and the two that nobody can
read are dead letters. One type comes by a reference to another subject.

  PENSTOCK_CHAOS_RECORDS  messages of each topic (2,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import base64
import http.server
import json
import os
import random
import struct
import sys
import threading
import time

import changes
import harness

PARTITIONS = 2
# Between messages, and behind keys; neither is in any message.
END, KEY_END = "~~/", "~~|"
USER, PASSWORD, VARIABLE = "reader", "let me in", "PENSTOCK_TEST_REGISTRY"

ROW = {"type": "record", "name": "Value", "fields": [
    {"name": "id", "type": "int"},
    {"name": "name", "type": ["null", "string"], "default": None}]}
WIDER_ROW = {"type": "record", "name": "Value", "fields": [
    {"name": "email", "type": ["null", "string"], "default": None},
    {"name": "id", "type": "long"},
    {"name": "name", "type": ["string", "null"]}]}
ORDER = {"type": "record", "name": "Order", "fields": [
    {"name": "number", "type": "long"},
    {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal",
                                "precision": 9, "scale": 2}},
    {"name": "status", "type": {"type": "enum", "name": "Status",
                                "symbols": ["NEW", "PAID"]}}]}
WIDER_ORDER = {"type": "record", "name": "Order", "fields": [
    {"name": "tags", "type": {"type": "array", "items": "string"}},
    {"name": "status", "type": "shop.Status"},
    {"name": "number", "type": "int"},
    {"name": "amount", "type": {"type": "bytes", "logicalType": "decimal",
                                "precision": 9, "scale": 2}}]}
# What the wider order refers to.
STATUS = {"type": "enum", "name": "shop.Status",
          "symbols": ["SENT", "NEW", "PAID"]}
REFERENCES = [{"name": "shop.Status", "subject": "shop/status", "version": 3}]
OLD_CHANGE, NEW_CHANGE, OLD_ORDER, NEW_ORDER = 7, 70_000, 21, 22
# Registered last of all; and one that is none of Avro.
LATE, FOREIGN = 99, 98
# Damage: of nobody.
INVENTED = 0xBAD5C4E
# In place of a number: that version of a subject.
STATUS_VERSION = -1


def envelope(row):
    return {"type": "record", "name": "Envelope", "namespace": "shop.customers",
            "fields": [{"name": "before", "type": ["null", row]},
                       {"name": "after", "type": ["null", "Value"]},
                       {"name": "op", "type": "string"},
                       {"name": "ts_ms", "type": ["null", "long"]}]}


SCHEMAS = {OLD_CHANGE: envelope(ROW), NEW_CHANGE: envelope(WIDER_ROW),
           OLD_ORDER: ORDER, NEW_ORDER: WIDER_ORDER, LATE: WIDER_ORDER}


# --- Avro, as the specification says -----------------------------------------

def avro_long(value):
    value = (value << 1) ^ (value >> 63)
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def avro_bytes(data):
    return avro_long(len(data)) + data


def avro_text(text):
    return avro_bytes(text.encode())


def framed(schema, datum):
    return struct.pack(">bI", 0, schema) + datum


def old_row(row):
    return avro_long(row["id"]) + (
        avro_long(0) if row["name"] is None
        else avro_long(1) + avro_text(row["name"]))


def new_row(row):
    return (avro_long(1) + avro_text(row["email"]) + avro_long(row["id"]) + (
        avro_long(1) if row["name"] is None
        else avro_long(0) + avro_text(row["name"])))


class Message:
    """What is written, and the row that shall be in the files (None: none)."""

    def __init__(self, key, value, row):
        self.key = key
        self.value = value
        self.row = row


def customers(count, seed):
    """Changes of Debezium; the later half has e-mail addresses, too."""
    found = []
    for number, change in enumerate(changes.make_changes(count, seed)[0]):
        is_new = number >= count // 2
        schema, encode = ((NEW_CHANGE, new_row) if is_new
                          else (OLD_CHANGE, old_row))
        images = [image and {**image, "email": f"e{number}@x" if is_new
                             else None}
                  for image in (change.before, change.after)]
        value = b"".join(avro_long(0) if image is None else
                         avro_long(1) + encode(image) for image in images)
        value += avro_text(change.op) + avro_long(1) + avro_long(number)
        row = images[1] or images[0]
        found.append(Message(change.key, framed(schema, value),
                             {**row, "op": change.op, "at": number}))
        if change.op == "d":
            found.append(Message(change.key, b"", None))  # Its tombstone.
    return found


def orders(count, seed):
    """Plain records; two in the later half have no schema of Avro."""
    rng = random.Random(seed)
    found = []
    for number in range(count):
        cents = rng.randrange(-10**8, 10**8)
        amount = avro_bytes(cents.to_bytes(5, "big", signed=True))
        tags = []
        if number < count // 2:
            status = rng.choice(("NEW", "PAID"))
            value = framed(OLD_ORDER, avro_long(number) + amount +
                           avro_long(("NEW", "PAID").index(status)))
        else:
            status = rng.choice(("SENT", "NEW", "PAID"))
            tags = ["a", "ü"][:rng.randrange(3)]
            value = b"".join(map(avro_text, tags))
            if tags:
                value = avro_long(len(tags)) + value
            schema = LATE if number >= count * 4 // 5 else NEW_ORDER
            value = framed(schema, value + avro_long(0) + avro_long(
                ("SENT", "NEW", "PAID").index(status)) + avro_long(number) +
                           amount)
        sign = "-" if cents < 0 else ""
        found.append(Message(number % changes.KEYS, value, {
            "number": number, "status": status,
            "amount": f"{sign}{abs(cents) // 100}.{abs(cents) % 100:02}",
            "tags": tags if number >= count // 2 else None}))
    found.insert(count * 3 // 4, Message(0, framed(FOREIGN, b"\x01\xff"), None))
    found.insert(count * 7 // 8, Message(0, framed(INVENTED, b"\x02"), None))
    return found


# --- The registry ------------------------------------------------------------

class Registry:
    """Answers as Confluent's does, while it is up."""

    def __init__(self):
        self.port = harness.free_port()
        self.password = PASSWORD
        # Which schemas it has no trouble with, and which it has not yet.
        self.sound = set()
        self.unknown = {LATE, INVENTED}
        # (number, status) of all that was answered.
        self.answers = []
        self._server = None

    def start(self):
        registry = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self):
                registry.answer(self)

            def log_message(self, *_):
                pass

        self._server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", self.port), Handler)
        threading.Thread(target=self._server.serve_forever, args=(0.05,),
                         daemon=True).start()

    def stop(self):
        self._server.shutdown()
        self._server.server_close()

    def answer(self, request):
        if request.path.lower() == "/registry/subjects/shop%2fstatus/versions/3":
            number = STATUS_VERSION
        else:
            number = int(request.path.removeprefix("/registry/schemas/ids/"))
        login = base64.b64encode(f"{USER}:{self.password}".encode()).decode()
        if request.headers["Authorization"] != f"Basic {login}":
            status, body = 401, {"error_code": 401, "message": "Unauthorized"}
        elif number == STATUS_VERSION:
            status, body = 200, {"schema": json.dumps(STATUS)}
        elif number == FOREIGN:
            status, body = 200, {"schema": "{}", "schemaType": "JSON"}
        elif number in self.unknown:
            status, body = 404, {"error_code": 40403, "message": "not found"}
        elif number not in self.sound:
            status, body = 500, {"error_code": 50001, "message": "store"}
        else:
            status, body = 200, {"schema": json.dumps(SCHEMAS[number])}
            if number in (NEW_ORDER, LATE):
                body["references"] = REFERENCES
        self.reply(request, number, status, body)

    def reply(self, request, number, status, body):
        self.answers.append((number, status))
        data = json.dumps(body).encode()
        request.send_response(status)
        request.send_header("Content-Length", str(len(data)))
        request.end_headers()
        request.wfile.write(data)


# --- The scene ---------------------------------------------------------------

def write_pipeline(path, broker, registry, directory, bad_ids=()):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"""\
name: avro
store: 'sqlite:{directory}/state.db'
workers: [{{address: 'unix:{directory}/w.sock'}}]
checkpoint_interval: 200ms
connectors:
""")
        for name, envelope_, columns in (
                ("customers", """
        envelope: debezium
        envelope_columns: {op: op, timestamp: at}""",
                 ("id, type: bigint", "name, type: varchar",
                  "email, type: varchar", "op, type: varchar",
                  "at, type: bigint")),
                ("orders", "",
                 ("number, type: bigint",
                  "amount, type: decimal, precision: 9, scale: 2",
                  "status, type: varchar",
                  "tags, type: array, children: [{type: varchar}]"))):
            columns = ", ".join(f"{{name: {column}}}" for column in columns)
            out.write(f"""\
  - name: {name}
    source:
      kafka:
        topics: [{name}]
        stop_at_end: true
        options: {{bootstrap.servers: '{broker.bootstrap}'}}
    format:
      avro:
        registry:
          url: 'http://127.0.0.1:{registry.port}/registry/'
          username: {USER}
          password: '${{env:{VARIABLE}}}'
          bad_schema_ids: {list(bad_ids)}{envelope_}
    schema: {{columns: [{columns}]}}
    limits: {{step_bytes: 4KiB, step_bytes_max: 16KiB}}
    shards: 2
    sink: {{file: {{path: '{directory}/{name}'}}}}
    dead_letter: {{file: {{path: '{directory}/dead'}}}}
""")


class Site:
    """Worker and controller, which are killed and started again."""

    def __init__(self, programs, directory, pipeline, connectors):
        self._programs = programs
        self._connectors = connectors
        self._directory = directory
        self._pipeline = pipeline
        self._runs = 0
        self._log = None
        self.start_worker()
        self.start_run()

    def start_worker(self):
        self.worker = self._programs.start_worker(
            f"{self._directory}/w.sock", f"{self._directory}/worker",
            environment={VARIABLE: PASSWORD})

    def start_run(self):
        self._runs += 1
        self._log = os.path.join(self._directory, f"run{self._runs}.log")
        with open(self._log, "ab") as log:
            self.run = self._programs.start_run(
                self._pipeline, output=log, errors=log)

    def replace(self, kind):
        if kind in ("worker", "both"):
            harness.kill(self.worker)
        if kind in ("run", "both"):
            harness.kill(self.run)
        if kind in ("worker", "both"):
            self.start_worker()
        if kind in ("run", "both"):
            self.start_run()
        else:
            # What it says from now on.
            with open(self._log, "ab") as log:
                log.truncate(0)

    def wait(self, what, condition):
        harness.wait_until(what, condition, alive=[self.run, self.worker])

    def _reasons(self):
        """Why the connectors are DEGRADED, as the worker says it."""
        answers = [self._programs.call(
            "connectors", name, "--worker", f"unix:{self._directory}/w.sock",
            "--output", "json") for name in self._connectors]
        healths = [json.loads(answer.stdout)["health"] for answer in answers
                   if answer.returncode == 0]
        return [health.get("reason", "") for health in healths
                if health.get("condition") == "CONDITION_DEGRADED"]

    def wait_until_degraded(self, *reasons):
        """The run says so, and the worker gives each of the reasons."""
        def said():
            with open(self._log, encoding="utf-8") as text:
                return '"health":"DEGRADED' in text.read()

        def given():
            found = self._reasons()
            return all(any(reason in one for one in found)
                       for reason in reasons)

        self.wait("DEGRADED", said)
        self.wait(f"DEGRADED with {reasons}", given)


def feed(broker, topic, messages):
    """Each key's messages to the partition that it has."""
    for partition in range(PARTITIONS):
        broker.kcat(topic, "-p", str(partition), "-K", KEY_END, "-D", END, "-Z",
                    data=b"".join(
                        f"{message.key}{KEY_END}".encode() + message.value +
                        END.encode() for message in messages
                        if message.key % PARTITIONS == partition))


def read_files(directory, key):
    """{key: its rows in order}, of committed files."""
    found = {}
    for lines in harness.committed_lines(directory):
        for line in lines:
            row = json.loads(line, parse_float=str)
            found.setdefault(key(row), []).append(row)
    return found


def check_rows(name, directory, messages, key):
    expected = {}
    for message in messages:
        if message.row is not None:
            expected.setdefault(key(message.row), []).append(message.row)
    found = read_files(os.path.join(directory, name), key)
    for each, rows in expected.items():
        changes.check(f"{name}, key {each}", found.pop(each, []), rows)
    changes.check(f"{name}, keys of nobody", found, {})


def data_of(letter):
    if letter["encoding"] == "base64":
        return base64.b64decode(letter["data"])
    return letter["data"].encode()


def check_letters(directory, connector, messages):
    bad = sorted(message.value for message in messages if message.row is None)
    letters = {}
    for root, _, names in os.walk(os.path.join(directory, "dead")):
        for name in names:
            with open(os.path.join(root, name), encoding="utf-8") as lines:
                for letter in map(json.loads, lines):
                    letters[letter["id"]] = letter
    changes.check("dead letters", sorted(
        (letter["connector"], data_of(letter)) for letter in letters.values()),
                  [(connector, value) for value in bad])


def play(programs, directory, broker, records, seed):
    written = {"customers": customers(records, seed),
               "orders": orders(records, seed)}
    for topic, messages in written.items():
        feed(broker, topic, messages)
    registry = Registry()
    pipeline = os.path.join(directory, "pipeline.yaml")
    write_pipeline(pipeline, broker, registry, directory)
    rng = random.Random(seed)
    blows = ["worker", "run", "both"]
    rng.shuffle(blows)

    # Down at first: nothing is written, nothing lost.
    site = Site(programs, directory, pipeline, written)
    for blow in blows:
        site.wait_until_degraded(f"schema {OLD_CHANGE} ",
                                 f"schema {OLD_ORDER} ")
        site.replace(blow)
    for name in written:
        changes.check(f"bytes of {name}", harness.committed_bytes(
            os.path.join(directory, name)), 0)

    # It lets nobody in; then it has trouble with what is new.
    registry.password = "another"
    registry.start()
    site.wait_until_degraded("does not let us in")
    registry.sound = {OLD_CHANGE, OLD_ORDER}
    registry.password = PASSWORD
    for number in (NEW_CHANGE, NEW_ORDER):
        site.wait(f"schema {number} to be asked for",
                  lambda number=number: (number, 500) in registry.answers)
    site.wait_until_degraded(f"schema {NEW_CHANGE} ", f"schema {NEW_ORDER} ")

    # Down again: what is replayed needs its schemas, too.
    registry.stop()
    for blow in blows:
        site.replace(blow)
        site.wait_until_degraded("of the registry")

    # It is back, but behind: no number may be called bad for that.
    registry.sound = set(SCHEMAS)
    registry.start()
    asked = registry.answers.count((LATE, 404))
    site.wait("the unknown schema to be asked for, again and again",
              lambda: registry.answers.count((LATE, 404)) >= asked + 4)
    site.wait_until_degraded(f"schema {LATE} ", "the message is orders/")
    site.replace("both")

    # All is well, but for a number that will never be known.
    site.wait_until_degraded(f"schema {LATE} ")
    registry.unknown = {INVENTED}
    site.wait("the schema to be had",
              lambda: (LATE, 200) in registry.answers)
    site.replace("both")
    site.wait_until_degraded(f"schema {INVENTED} ", "`bad_schema_ids`")
    # A person says so.
    write_pipeline(pipeline, broker, registry, directory, [1, INVENTED])
    site.replace("run")
    harness.wait_for_end(site.run, 0)
    registry.stop()
    check_rows("customers", directory, written["customers"],
               lambda row: row["id"])
    check_rows("orders", directory, written["orders"],
               lambda row: row["number"] % changes.KEYS)
    check_letters(directory, "orders", written["orders"])
    print(f"{records} messages of each topic, none lost; the registry was "
          f"asked {len(registry.answers)} times", flush=True)


def main(name, doc, records, topics, play_all):
    """The main function of a script over topics of one format."""
    parser = argparse.ArgumentParser(description=doc.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--mock", help="the program penstock_kafka_mock; "
                        "without it a real broker is asked for")
    arguments = parser.parse_args()
    changes.need_broker(arguments.mock)
    records = harness.setting("RECORDS", records)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    print(f"{name}: seed {seed}, {records} messages of each topic", flush=True)

    def test(programs, directory):
        with open(os.path.join(directory, "broker.log"), "wb") as log:
            broker = changes.Broker(arguments.mock, directory, log,
                                    dict.fromkeys(topics, PARTITIONS))
        try:
            play_all(programs, directory, broker, records, seed)
        finally:
            programs.end_all()
            broker.end()

    return harness.main(name, test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main("avro", __doc__, 2_000, ("customers", "orders"), play))
