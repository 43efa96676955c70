#!/usr/bin/env python3
"""A whole controller: drives a pipeline exactly-once over the unary calls.

  ./generate.sh OUT && PYTHONPATH=OUT ./controller.py pipeline.json

Kill it, or the worker, at any moment and start it again. See README.md.
"""
import os
import sqlite3
import sys
import threading
import time
from secrets import token_hex

import grpc
import xxhash
from google.protobuf import json_format
from proto.penstock.v1 import command_pb2 as gate, connector_pb2 as life
from proto.penstock.v1 import connector_pb2_grpc, control_pb2_grpc
from proto.penstock.v1 import pipeline_pb2, spec_pb2, status_pb2, step_pb2

# Reasons to open a connector anew ("": nobody answered), and to ask once more.
# At any other the controller ends.
REOPEN = {"", "UNAVAILABLE", "DEADLINE", "CANCELLED", "SHUTTING_DOWN",
          "INSTANCE_MISMATCH", "NO_SUCH_CONNECTOR", "CONNECTOR_FAILED"}
ASK_AGAIN = {"BUDGET_EXCEEDED", "STEPS_OUTSTANDING"}
FENCE = {"controller_id": "python", "nonce": token_hex()}
SCHEMA = """BEGIN; CREATE TABLE state (incarnation, epoch);
INSERT INTO state VALUES (lower(hex(randomblob(16))), 0);
CREATE TABLE connectors (name PRIMARY KEY, opens, steps, position, spec);
CREATE TABLE journal (name, step, result, PRIMARY KEY (name, step)); COMMIT;"""


class Store:
    def __init__(self, path):
        self._lock, self._db = threading.Lock(), sqlite3.connect(
            path, 30, isolation_level=None, check_same_thread=False)
        if not self._db.execute("SELECT * FROM sqlite_master").fetchall():
            self._db.executescript(SCHEMA)
        self.incarnation, self.epoch = self._db.execute(
            "UPDATE state SET epoch = epoch + 1 RETURNING *").fetchall()[0]

    def do(self, *statements):
        """All is durable, or nothing is done. Returns the last one's rows."""
        with self._lock, self._db:
            self._db.execute("BEGIN IMMEDIATE")
            if (self.epoch,) not in self._db.execute("SELECT epoch FROM state"):
                raise RuntimeError("superseded by another controller")
            return [self._db.execute(sql, values).fetchall()
                    for sql, *values in statements][-1]


class Connector:
    def __init__(self, store, pipeline, spec):
        channel = grpc.insecure_channel(pipeline.workers[0].address)
        self._lives = connector_pb2_grpc.ConnectorServiceStub(channel)
        self._gates = control_pb2_grpc.ControlServiceStub(channel)
        self._store, self._name = store, spec.name
        self._interval = pipeline.checkpoint_interval.ToMilliseconds() / 1000
        self._to = {"connector": {"connector": spec.name}, "fence": dict(
            FENCE, pipeline=pipeline.name, epoch=store.epoch)}
        self._number = store.epoch << 32  # No epoch before had any above.
        store.do(("INSERT OR IGNORE INTO connectors VALUES (?, 0, ?, NULL, ?)",
                  spec.name, self._number, spec.SerializeToString()))

    def run(self):
        is_open = False
        while True:
            try:
                is_open = is_open or self._open()
                return self._work()
            except grpc.RpcError as error:
                if reason_of(error) not in REOPEN | ASK_AGAIN:
                    raise
                is_open = is_open and reason_of(error) in ASK_AGAIN
                print(f"{self._name}: {error.details()}", flush=True)
                time.sleep(0.2)

    def _open(self):
        """The one way to work: delete, open, replay, commit, extend."""
        (opens, base, position, spec), = self._store.do((
            "UPDATE connectors SET opens = opens + 1 WHERE name = ? RETURNING"
            " opens, steps, position, spec", self._name))
        journal = [step_pb2.StepResult.FromString(result) for result, in
                   self._store.do(("SELECT result FROM journal WHERE name = ?"
                                   " ORDER BY step", self._name))]
        self._to["connector"]["instance"] = ""
        self._lives.DeleteConnector(
            life.DeleteConnectorRequest(**self._to, request_id=token_hex()))
        start = life.OpenConnectorStart(
            fence=self._to["fence"], request_id=token_hex(), base_steps=base,
            writer={"epoch": self._store.epoch, "open_number": opens},
            spec=spec_pb2.ConnectorSpec.FromString(spec), checkpointing=True,
            journaled_steps=journal[-1].step + 1 if journal else base,
            incarnation=self._store.incarnation, first_open=position is None)
        messages = [{"start": start}]
        if position is not None:
            place = step_pb2.Position.FromString(position)
            part = {"length": len(place.json),
                    "hash": xxhash.xxh3_64_intdigest(place.json)}
            start.position.CopyFrom(life.PositionHeader(
                format=place.format, version=place.version, part=part))
            messages.append({"position": {"data": place.json}})
        answer = self._lives.OpenConnector(
            life.OpenConnectorRequest(**message) for message in messages)
        self._store.do(("UPDATE connectors SET position=?, spec=? WHERE name=?",
                        answer.base_position.SerializeToString(),
                        answer.resolved_spec.SerializeToString(), self._name))
        self._to["connector"]["instance"] = answer.instance
        self._steps, self._seek = base, answer.base_position
        for result in journal:
            self._gates.Replay(iter([gate.ReplayRequest(start=dict(
                self._to, step=result.step, previous_steps=self._steps,
                journaled=result))]))
            self._steps, self._seek = result.step + 1, result.resume.replay.seek
        self._gates.CommitCheckpoint(
            gate.CommitCheckpointRequest(**self._to, steps=base))
        self._gates.Extend(
            gate.ExtendRequest(**self._to, request_id=token_hex()))
        return True

    def _work(self):
        due, at_end = time.monotonic() + self._interval, False
        while not at_end or not self._checkpoint():
            if time.monotonic() > due and self._checkpoint():
                due = time.monotonic() + self._interval
            self._number += 1
            answer = self._gates.Queue(gate.QueueRequest(
                **self._to, step=self._number, previous_steps=self._steps,
                released_steps=self._steps))
            at_end = answer.result.end_of_input or answer.no_step.end_of_input
            if answer.HasField("result"):  # Journaled, then released.
                self._store.do(("INSERT INTO journal VALUES (?, ?, ?)",
                                self._name, self._number,
                                answer.result.SerializeToString()))
                self._steps = self._number + 1
                self._seek = answer.result.resume.replay.seek

    def _checkpoint(self):
        to = dict(self._to, steps=self._steps, released_steps=self._steps)
        if not self._gates.PrepareCheckpoint(
                gate.PrepareCheckpointRequest(**to)).ready:
            return False
        self._store.do(
            ("UPDATE connectors SET steps = ?, position = ? WHERE name = ?",
             self._steps, self._seek.SerializeToString(), self._name),
            ("DELETE FROM journal WHERE name = ?", self._name))
        self._gates.CommitCheckpoint(gate.CommitCheckpointRequest(**to))
        return True


def reason_of(error):
    """An ErrorReason's name without its prefix; "" if nobody answered."""
    status = status_pb2.Status.FromString(
        dict(error.trailing_metadata()).get("grpc-status-details-bin", b""))
    return "".join(status_pb2.ErrorInfo.FromString(detail.value).reason
                   for detail in status.details[:1])  # It comes first.


def main(path):
    with open(path, encoding="utf-8") as file:
        pipeline = json_format.Parse(file.read(), pipeline_pb2.PipelineSpec())
    store = Store(pipeline.store.removeprefix("sqlite:"))
    # One that fails does not leave the others to go on alone.
    threading.excepthook = lambda failed: (
        sys.__excepthook__(*failed[:3]), sys.stderr.flush(), os._exit(1))
    for spec in pipeline.connectors:
        threading.Thread(target=Connector(store, pipeline, spec).run).start()


if __name__ == "__main__":
    main(sys.argv[1])
