#!/usr/bin/env python3
"""A topic of many partitions and large messages into a sink that hangs a while.

A hundred partitions of messages of 1 MB each are read; the sink's disk answers
nothing (hang_sync.cc). Everything fills up: the worker's memory stays below what
limits, librdkafka's queue and the allocator come to, and does not grow any more.
When the disk answers again, all messages arrive, once and in their order.

With --mock the broker is librdkafka's mock (kafka_mock.cc), else a real one.

  PENSTOCK_CHAOS_SECONDS   how long the sink hangs once all is full (3)
  PENSTOCK_CHAOS_MESSAGES  messages of each partition (2; the mock keeps 5)
"""
import argparse
import collections
import json
import os
import shutil
import sys
import time
import zlib

import harness
import kafka_broker
import kafka_source
import stall

TOPIC = "large"
PARTITIONS = 100
# With key and frame below a broker's usual limit of a message.
PAD = 990_000
MIB = 1 << 20
LIMITS = {"block_bytes": "1MiB", "step_bytes": "2MiB", "step_bytes_max": "3MiB",
          "chunk_bytes_max": "1MiB", "in_flight_bytes_max": "12MiB",
          "queued_bytes_max": "8MiB", "retained_bytes_max": "4MiB",
          "memory_max": "32MiB"}
# core/sources/kafka/README.md, "Bounds": librdkafka's queue and a fetch of the
# one broker; core/base/memory.h: what the allocator keeps.
BOUND = (32 + 16 + 8 + 32) * MIB
# From the moment when all is full: errors that are kept, and no data.
GROWTH_MAX = 4 * MIB


def key_of(partition):
    """One that librdkafka's own partitioner, which kcat has, puts there."""
    number = 0
    while zlib.crc32(f"k{number}".encode()) % PARTITIONS != partition:
        number += 1
    return f"k{number}"


def make_messages(path, each):
    keys = [key_of(partition) for partition in range(PARTITIONS)]
    pad = "x" * PAD
    with open(path, "w", encoding="ascii") as out:
        for seq in range(each):
            for key in keys:
                out.write(f'{key}\t{{"key":"{key}","seq":{seq},'
                          f'"pad":"{pad}"}}\n')
    return {key: each for key in keys}


class SlowSink:
    def __init__(self, programs, directory, broker, hang_sync, lengths):
        self.programs = programs
        self.lengths = lengths
        self.files = kafka_source.Files(directory)
        self.socket = os.path.join(directory, "w.sock")
        self.mark = os.path.join(directory, "hang")
        self.worker = programs.start_worker(
            self.socket, os.path.join(directory, "worker"),
            environment={"LD_PRELOAD": hang_sync,
                         "PENSTOCK_TEST_HANG": self.mark})
        self.pipeline = harness.write_pipeline(
            directory, None, socket=self.socket, limits=LIMITS, shards=2,
            read=f"kafka: {{topics: [{TOPIC}], stop_at_end: true, options: "
            f"{{bootstrap.servers: '{broker.bootstrap}'}}}}")

    def status(self):
        answer = self.programs.call("connectors", "orders", "--worker",
                                    f"unix:{self.socket}", "--output", "json")
        return json.loads(answer.stdout) if answer.returncode == 0 else None

    def wait_until_full(self, run):
        """Until the source is held back: three looks find the same."""
        seen = []

        def full():
            status = self.status()
            if status is None:
                return False
            seen.append(stall.read_so_far(status))
            time.sleep(0.3)
            return seen[-1] > 0 and seen[-3:] == [seen[-1]] * 3

        harness.wait_until("the source to be held back", full,
                           alive=[self.worker, run])

    def play(self, seconds):
        harness.wait_until("the worker to listen",
                           lambda: os.path.exists(self.socket),
                           alive=[self.worker])
        before = stall.resident(self.worker)
        run = self.programs.start_run(self.pipeline)
        # Not before: the worker's own files are synced as well.
        harness.wait_until("the first message", lambda: self.files.count() > 0,
                           alive=[self.worker, run])
        with open(self.mark, "w", encoding="ascii"):
            pass
        self.wait_until_full(run)
        full = most = stall.resident(self.worker)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            time.sleep(0.1)
            most = max(most, stall.resident(self.worker))
        if self.files.count() == sum(self.lengths.values()):
            raise harness.Failure("the sink did not hang")
        if most - before > BOUND or most - full > GROWTH_MAX:
            raise harness.Failure(
                f"the worker's memory: {before // MIB} MiB before, "
                f"{full // MIB} when all was full, {most // MIB} at most; "
                f"{BOUND // MIB} are allowed beyond the first")
        os.remove(self.mark)
        harness.wait_for_end(run, 0)
        self.verify()
        print(f"kafka_slow_sink: {before // MIB} MiB before, {full // MIB} when "
              f"all was full, {most // MIB} at most in {seconds} s, of "
              f"{before // MIB} + {BOUND // MIB}; "
              f"{sum(self.lengths.values())} messages exactly once", flush=True)

    def verify(self):
        found = collections.Counter()
        for line in self.files.values():
            value = json.loads(line)
            if value["seq"] != found[value["key"]]:
                raise harness.Failure(
                    f"key {value['key']} goes on with {value['seq']} behind "
                    f"{found[value['key']]} others")
            found[value["key"]] += 1
        if found != self.lengths:
            raise harness.Failure(f"{sum(found.values())} messages arrived of "
                                  f"{sum(self.lengths.values())}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--mock", help="the program penstock_kafka_mock")
    parser.add_argument("--hang-sync", required=True,
                        help="the library made of hang_sync.cc")
    arguments = parser.parse_args()
    seconds = harness.setting("SECONDS", 3)
    each = harness.setting("MESSAGES", 2)
    if not arguments.mock:
        kafka_broker.need_kafka()
    elif shutil.which("kcat") is None:
        print("NOTHING WAS TESTED: kcat is not installed")
        raise SystemExit(77)

    def test(programs, directory):
        path = os.path.join(directory, "in.keyed")
        lengths = make_messages(path, each)
        place = os.path.join(directory, "kafka")
        broker = (kafka_source.MockBroker(arguments.mock, place,
                                          (TOPIC, str(PARTITIONS)))
                  if arguments.mock else kafka_broker.KafkaBroker(place))
        try:
            if not arguments.mock:
                broker.make_topic(TOPIC, PARTITIONS)
            broker.write(TOPIC, path, "-K", "\t")
            SlowSink(programs, directory, broker, arguments.hang_sync,
                     lengths).play(seconds)
        finally:
            programs.end_all()
            broker.end()

    return harness.main("kafka_slow_sink", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
