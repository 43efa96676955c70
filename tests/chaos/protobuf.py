#!/usr/bin/env python3
"""Protobuf messages by a schema registry that comes and goes, into files.

One topic of a real broker, or with --mock of librdkafka's mock, which can be had
everywhere. Its records are messages within another one of their file; half-way
the schema becomes another, which imports a second file. The registry is down at
first, does not know the new number for a while, and never knows one that damage
made, until a person calls that bad; worker and controller are killed each time.
Meanwhile the connector is DEGRADED and says why; in the end every message is in
the files once, each key's in order, and those that nobody can read are dead
letters: of that number, of a message that the schema does not have, and one that
is cut off.

  PENSTOCK_CHAOS_RECORDS  messages (4,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import os
import random
import struct
import sys
import time

import avro
import changes
import harness

OLD, NEW, INVENTED = 7, 70_000, 0xBAD5C4E
# In place of a number: that version of a subject.
IMPORT_VERSION = -1
OLD_TEXT = """
syntax = "proto3";
package shop;
message Unused {}
message Events {
  message Order {
    int64 number = 1;
    sint32 cents = 2;
    Status status = 3;
    optional string note = 4;
    repeated int32 lines = 5;
    map<string, uint64> counts = 6;
  }
  enum Status { NEW = 0; PAID = 1; }
}
"""
NEW_TEXT = """
syntax = "proto3";
package shop;
import "google/protobuf/timestamp.proto";
import "shop/status.proto";
message Unused {}
message Events {
  message Order {
    google.protobuf.Timestamp at = 10;
    int64 number = 1;
    sint32 cents = 2;
    shop.Status status = 3;
    optional string note = 4;
    repeated int32 lines = 5;
    map<string, uint64> counts = 6;
  }
}
"""
IMPORT = """
syntax = "proto3";
package shop;
enum Status { NEW = 0; PAID = 1; SENT = 2; }
"""
# Of Unused and Events the second, and of that the first; zigzag.
PLACE = b"\x04\x02\x00"
NOWHERE = b"\x04\x02\x08"
BEGIN = 1_700_000_000


# --- Protobuf, as its encoding is described ----------------------------------

def varint(value):
    value &= 2**64 - 1
    out = bytearray()
    while value >= 0x80:
        out.append(value & 0x7f | 0x80)
        value >>= 7
    out.append(value)
    return bytes(out)


def number(field, value):
    return varint(field << 3) + varint(value)


def sized(field, data):
    return varint(field << 3 | 2) + varint(len(data)) + data


def framed(schema, message, place=PLACE):
    return struct.pack(">bI", 0, schema) + place + message


def zigzag(value):
    return (value << 1) ^ (value >> 63)


def order(rng, row):
    """The message, its fields in any order, unset ones left out."""
    fields = []
    for field, value in ((1, row["number"]), (2, zigzag(row["cents"])),
                         (3, ("NEW", "PAID", "SENT").index(row["status"]))):
        if value or rng.random() < 0.1:
            fields.append(number(field, value))
    if row["note"] is not None:
        fields.append(sized(4, row["note"].encode()))
    if row["lines"] and rng.random() < 0.5:
        fields.append(sized(5, b"".join(map(varint, row["lines"]))))
    else:
        fields.append(b"".join(number(5, line) for line in row["lines"]))
    for key, count in row["counts"].items():
        fields.append(sized(6, sized(1, key.encode()) + number(2, count)))
    if row["at"] is not None:
        fields.append(sized(10, number(1, BEGIN + row["number"])))
    rng.shuffle(fields)
    # A field that the schema does not have.
    return b"".join(fields) + sized(99, b"?")


def messages(count, seed):
    rng = random.Random(seed)
    found = []
    for place in range(count):
        is_new = place >= count // 2
        row = {"number": place,
               "cents": rng.randrange(-2**31, 2**31),
               "status": rng.choice(("NEW", "PAID", "SENT")[:2 + is_new]),
               "note": rng.choice((None, "", "a \"ü\"")),
               "lines": [rng.randrange(-9, 999)
                         for _ in range(rng.randrange(4))],
               "counts": {"all": rng.randrange(2**64)},
               "at": None}
        if is_new:
            row["at"] = time.strftime("%Y-%m-%d %H:%M:%SZ",
                                      time.gmtime(BEGIN + place))
        found.append(avro.Message(
            place % changes.KEYS,
            framed(NEW if is_new else OLD, order(rng, row)), row))
    for place, bad in ((count // 4, framed(OLD, b"\x08\x01", NOWHERE)),
                       (count // 3, framed(OLD, b"\x08\x80")),
                       (count * 7 // 8, framed(INVENTED, b"\x08\x01"))):
        found.insert(place, avro.Message(0, bad, None))
    return found


class Registry(avro.Registry):
    """Of files of Protobuf."""

    def __init__(self):
        super().__init__()
        self.unknown = {NEW, INVENTED}

    def answer(self, request):
        path = request.path.lower()
        if path == "/registry/subjects/status/versions/2":
            asked, text, references = IMPORT_VERSION, IMPORT, []
        else:
            asked = int(path.removeprefix("/registry/schemas/ids/"))
            text, references = OLD_TEXT, []
            if asked == NEW:
                text = NEW_TEXT
                references = [{"name": "shop/status.proto",
                               "subject": "status", "version": 2}]
        status, body = 200, {"schema": text, "schemaType": "PROTOBUF",
                             "references": references}
        if asked in self.unknown:
            status, body = 404, {"error_code": 40403, "message": "not found"}
        self.reply(request, asked, status, body)


def write_pipeline(path, broker, registry, directory, bad_ids=()):
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"""\
name: protobuf
store: 'sqlite:{directory}/state.db'
workers: [{{address: 'unix:{directory}/w.sock'}}]
checkpoint_interval: 200ms
connectors:
  - name: events
    source:
      kafka:
        topics: [events]
        stop_at_end: true
        options: {{bootstrap.servers: '{broker.bootstrap}'}}
    format:
      protobuf:
        registry:
          url: 'http://127.0.0.1:{registry.port}/registry'
          bad_schema_ids: {list(bad_ids)}
    schema:
      columns:
        - {{name: number, type: bigint}}
        - {{name: cents, type: integer}}
        - {{name: status, type: varchar}}
        - {{name: note, type: varchar}}
        - {{name: lines, type: array, children: [{{type: integer}}]}}
        - {{name: counts, type: variant}}
        - {{name: at, type: timestamptz}}
    limits: {{step_bytes: 4KiB, step_bytes_max: 16KiB}}
    shards: 2
    sink: {{file: {{path: '{directory}/events'}}}}
    dead_letter: {{file: {{path: '{directory}/dead'}}}}
""")


def play(programs, directory, broker, records, seed):
    written = messages(records, seed)
    avro.feed(broker, "events", written)
    registry = Registry()
    pipeline = os.path.join(directory, "pipeline.yaml")
    write_pipeline(pipeline, broker, registry, directory)
    rng = random.Random(seed)
    blows = ["worker", "run", "both"]
    rng.shuffle(blows)

    site = avro.Site(programs, directory, pipeline, ["events"])
    site.wait_until_degraded(f"schema {OLD} ")
    site.replace(blows[0])
    registry.start()
    site.wait_until_degraded(f"schema {NEW} ", "the message is events/")
    site.replace(blows[1])
    site.wait_until_degraded(f"schema {NEW} ")
    registry.unknown = {INVENTED}
    site.wait("the import to be had",
              lambda: (IMPORT_VERSION, 200) in registry.answers)
    site.replace(blows[2])
    site.wait_until_degraded(f"schema {INVENTED} ", "`bad_schema_ids`")
    write_pipeline(pipeline, broker, registry, directory, [INVENTED])
    site.replace("run")
    harness.wait_for_end(site.run, 0)
    registry.stop()
    avro.check_rows("events", directory, written,
                    lambda row: row["number"] % changes.KEYS)
    avro.check_letters(directory, "events", written)
    print(f"{records} messages, none lost; the registry was asked "
          f"{len(registry.answers)} times", flush=True)


if __name__ == "__main__":
    sys.exit(avro.main("protobuf", __doc__, 4_000, ("events",), play))
