#!/usr/bin/env python3
"""A file into a topic of a real Kafka broker, exactly once, whatever dies.

Worker, controller and broker are killed in the middle, one to three times a
round; then a worker is stopped, replaced and woken. Readers of committed
records find each key's sequence complete, in order and single.

  PENSTOCK_CHAOS_ROUNDS   rounds (3)
  PENSTOCK_CHAOS_RECORDS  records of the file (10,000)
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
import kafka_broker
import sequences
import strikes

# Dozens of steps, so that strikes meet many commits.
LIMITS = {"block_bytes": "128KiB", "step_bytes": "64KiB",
          "step_bytes_max": "128KiB", "chunk_bytes_max": "32KiB"}
SHARDS = 2
PARTITIONS = 3
KINDS = ("worker", "broker", "both", "controller", "local worker")
CONSOLE = "org.apache.kafka.tools.consumer.ConsoleConsumer"


class Site:
    """One fresh pipeline and topic with the processes that drive it."""

    def __init__(self, programs, directory, broker, topic, path, lengths,
                 local=False, **settings):
        self.programs = programs
        self.broker = broker
        self.topic = topic
        self.lengths = lengths
        self.directory = harness.fresh(directory)
        broker.make_topic(topic, PARTITIONS, **settings)
        self.socket = None if local else os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, path, socket=self.socket, limits=LIMITS, shards=SHARDS,
            sink=f"kafka: {{topic: {topic}, options: "
            f"{{bootstrap.servers: '{broker.bootstrap}', "
            "compression.codec: zstd}}")
        self.worker = self.run = None
        if not local:
            self.start_worker()
        self.start_run()

    def start_worker(self, state="worker"):
        self.worker = self.programs.start_worker(
            self.socket, os.path.join(self.directory, state))

    def start_run(self):
        self.run = self.programs.start_run(self.pipeline)

    def tried(self):
        """Messages that were ever sent, those not committed included."""
        try:
            return sum(
                self.broker.end_offsets(self.topic, PARTITIONS).values())
        except harness.Failure:
            return 0  # The broker is not quite back yet.

    def wait_for(self, messages):
        harness.wait_until(f"{messages} messages",
                           lambda: self.tried() >= messages, alive=[self.run])

    def finish(self):
        harness.wait_for_end(self.run, 0)
        self.verify()
        if self.worker is not None:
            harness.kill(self.worker)

    def verify(self):
        """Each key's sequence is complete, in order, single, in one place."""
        arrived = sequences.Arrived()
        places = {}
        for record in self.broker.read(self.topic):
            value = json.loads(record.value)
            key = value["key"]
            if record.key != key:
                raise harness.Failure(f"{value} has the key {record.key}")
            if places.setdefault(key, record.partition) != record.partition:
                raise harness.Failure(f"key {key} is in two partitions")
            arrived.add(value, f", at {record.partition}:{record.offset}")
        arrived.check(self.lengths)


def stopped_worker(site):
    """A worker sleeps in the middle of it all, another takes its place."""
    total = sum(site.lengths.values())
    site.wait_for(total // 4)
    sleeper = site.worker
    harness.stop(sleeper)
    if site.run.poll() is not None:
        raise harness.TooLate("the worker was stopped behind the run's end")
    harness.kill(site.run)
    site.start_worker("worker2")
    site.start_run()
    site.wait_for(total // 2)
    sleeper.send_signal(signal.SIGCONT)
    harness.wait_for_end(site.run, 0)
    # Everything it does after waking up must leave the topic as it is.
    time.sleep(2)
    site.verify()
    if sleeper.poll() is not None:
        raise harness.Failure(f"the woken worker died: {sleeper.returncode}")
    harness.kill(sleeper)
    harness.kill(site.worker)
    return site


def others_read_it(site):
    """Kafka's own console consumer finds the same committed records."""
    total = sum(site.lengths.values())
    done = site.broker.tool(
        CONSOLE, "--bootstrap-server", site.broker.bootstrap, "--topic",
        site.topic, "--from-beginning", "--isolation-level", "read_committed",
        "--max-messages", str(total))
    seen = collections.Counter(
        json.loads(line)["key"] for line in done.stdout.splitlines())
    if done.returncode != 0 or seen != site.lengths:
        raise harness.Failure(
            f"Kafka's consumer finds {sum(seen.values())} of {total}: "
            f"{done.stderr.decode()[-2000:]}")


def refused_messages(programs, directory, broker, path):
    """Field case B070: messages above the topic's limit get letters."""
    lines = [json.dumps({"key": f"k{number % 7}", "seq": number // 7, "pad":
                         "x" * (5000 if number % 300 == 3 else 10)}) + "\n"
             for number in range(1000)]
    with open(path, "w", encoding="utf-8") as out:
        out.writelines(lines)
    dead = os.path.join(directory, "dead")
    harness.fresh(directory)
    broker.make_topic("refused", 1, max_message_bytes=3000)
    pipeline = harness.write_pipeline(
        directory, path, shards=1, sink="kafka: {topic: refused, options: "
        f"{{bootstrap.servers: '{broker.bootstrap}', batch.size: 2000}}}}")
    with open(pipeline, "a", encoding="utf-8") as out:
        out.write(f"    dead_letter: {{file: {{path: '{dead}'}}}}\n")
    harness.wait_for_end(programs.start_run(pipeline), 0)
    bad = [number for number in range(len(lines)) if number % 300 == 3]
    found = [record.value + "\n" for record in broker.read("refused")]
    if found != [line for number, line in enumerate(lines)
                 if number not in bad]:
        raise harness.Failure(f"{len(found)} messages are in the topic")
    letters = {}
    for text in harness.snapshot(dead).values():
        for line in text.splitlines():
            letter = json.loads(line)
            letters[letter["id"]] = letter["offset"]
    if sorted(letters.values()) != [sum(map(len, lines[:number]))
                                    for number in bad]:
        raise harness.Failure(f"the letters are of {letters}")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    rounds = harness.setting("ROUNDS", 3)
    records = harness.setting("RECORDS", 10_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    kafka_broker.need_kafka()
    print(f"kafka_sink: seed {seed}, {rounds} rounds, {records} records",
          flush=True)

    def play_rounds(programs, directory, broker, inputs):
        rng = random.Random(seed)
        struck = collections.Counter()
        topics = iter(range(10**9))
        for number in range(rounds):
            kind = KINDS[number % len(KINDS)]
            started = time.monotonic()

            def play(trial, kind=kind):
                path, lengths = inputs[trial]
                site = Site(programs, os.path.join(directory, "s"), broker,
                            f"round-{next(topics)}", path, lengths,
                            kind.startswith("local"))
                return strikes.play_round(
                    site, rng, kind, sum(lengths.values()),
                    kafka_broker.blows(broker))

            count = harness.strike_in_time(programs, play)
            struck[kind] += count
            print(f"round {number + 1:2}: {kind} struck {count} times, exactly "
                  f"once; {time.monotonic() - started:.1f} s", flush=True)
        print(f"kafka_sink: {records} records in each of {rounds} rounds; "
              f"{sum(struck.values())} strikes: {dict(struck)}", flush=True)

    def test(programs, directory):
        def make(name, count):
            path = os.path.join(directory, f"{name}.ndjson")
            return path, sequences.make(path, count, seed)

        inputs = harness.Growing(make, records)
        broker = kafka_broker.KafkaBroker(os.path.join(directory, "kafka"))
        try:
            play_rounds(programs, directory, broker, inputs)
            site = harness.strike_in_time(
                programs, lambda trial: stopped_worker(
                    Site(programs, os.path.join(directory, "s"), broker,
                         f"stopped-{trial}", *inputs[trial])))
            print("stopped_worker: no harm done", flush=True)
            others_read_it(site)
            print("others_read_it: as many, as committed", flush=True)
            refused_messages(programs, os.path.join(directory, "s"), broker,
                             os.path.join(directory, "refused.ndjson"))
            print("refused_messages: each has its letter", flush=True)
        finally:
            programs.end_all()
            broker.end()

    return harness.main("kafka_sink", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
