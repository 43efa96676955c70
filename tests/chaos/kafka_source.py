#!/usr/bin/env python3
"""A topic of a Kafka broker into files, topics and tables, whatever dies.

Worker, controller, both or the broker are killed in the middle, one to three
times a round, and what the topic has committed arrives exactly once: each
key's sequence is complete, in order, single. Between the committed messages
are aborted ones. At last messages are still written while they are read, and
the run is told to stop when all of them are there; and topics are deleted, and
made anew under the same name.

With --mock the broker is librdkafka's mock (kafka_mock.cc), which can be had
everywhere: into files only, nothing is aborted, and it is stopped and woken
instead of killed, for it keeps nothing.

  PENSTOCK_CHAOS_ROUNDS   rounds (5: each kind of strike once)
  PENSTOCK_CHAOS_RECORDS  messages (15,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import collections
import contextlib
import itertools
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time

import harness
import kafka_broker
import sequences
import strikes

# Dozens of steps, so that strikes meet many commits.
LIMITS = {"block_bytes": "32KiB", "step_bytes": "32KiB",
          "step_bytes_max": "64KiB", "chunk_bytes_max": "16KiB"}
SHARDS = 2
PARTITIONS = 3
# As many as are coprime with the number of targets, so that all of them meet.
KINDS = ("worker", "broker", "controller", "both", "local worker")
TABLE = ("CREATE TABLE orders (body text,"
         " number bigint GENERATED ALWAYS AS IDENTITY)")
# A client that finds no broker waits for up to ten seconds of its own accord.
BACKOFF = "reconnect.backoff.max.ms: 500"
CONSOLE_PRODUCER = "org.apache.kafka.tools.ConsoleProducer"
VERIFIABLE_PRODUCER = "org.apache.kafka.tools.VerifiableProducer"
VERIFIABLE_CONSUMER = "org.apache.kafka.tools.VerifiableConsumer"
# So many transactions the topic is written in, an aborted one behind each.
TRANSACTIONS = 3
FAILED = 6  # Exit code of a run whose connector cannot go on.


def make_messages(path, records, seed):
    """Lines of key, tab and JSON with the key's own sequence: {key: length}."""
    return sequences.make(path, records, seed, before="{}\t".format)


class Files:
    """What arrived in files, of a shard in the order of its files."""

    def __init__(self, directory):
        self.out = os.path.join(directory, "out")
        self.sink = None

    def count(self):
        return sum(1 for _ in self.values())

    def values(self):
        for file in sorted(harness.committed_files(self.out)):
            with open(file.path, "rb") as data:
                yield from data.read(file.size).splitlines()


class Topic:
    """What arrived in a topic, of a partition in its order."""

    def __init__(self, broker, topic):
        self.broker = broker
        self.topic = topic
        broker.make_topic(topic, PARTITIONS)
        self.sink = (f"kafka: {{topic: {topic}, options: "
                     f"{{bootstrap.servers: '{broker.bootstrap}', "
                     f"{BACKOFF}}}}}")

    def count(self):
        try:
            return sum(
                self.broker.end_offsets(self.topic, PARTITIONS).values())
        except harness.Failure:
            return 0  # The broker is not quite back yet.

    def values(self):
        return (one.value for one in self.broker.read(self.topic))


class Table:
    """What arrived in a table, in the order in which it was written."""

    def __init__(self, server, database):
        self.server = server
        self.database = database
        server.make_database(database)
        server.rows(database, TABLE)
        self.sink = (f"postgres: {{url: '{server.url(database)}', table: "
                     "orders, create_table: true}")

    def count(self):
        return int(self.server.rows(
            self.database, "SELECT last_value FROM orders_number_seq")[0][0])

    def values(self):
        return (row[0] for row in self.server.rows(
            self.database, "SELECT body FROM orders ORDER BY number"))


class Site:
    """One fresh pipeline with the processes that drive it."""

    def __init__(self, programs, directory, broker, lengths, target, *,
                 topic="orders", local=False, ends=True):
        self.programs = programs
        self.broker = broker
        self.lengths = lengths
        self.target = target
        self.directory = directory
        self.socket = None if local else os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, None, socket=self.socket, limits=LIMITS, shards=SHARDS,
            sink=target.sink, read=f"kafka: {{topics: [{topic}], stop_at_end: "
            f"{'true' if ends else 'false'}, options: {{bootstrap.servers: "
            f"'{broker.bootstrap}', group.id: {topic}, {BACKOFF}}}}}")
        self.worker = self.run = None
        if not local:
            self.start_worker()
        self.start_run()

    def start_worker(self):
        self.worker = self.programs.start_worker(
            self.socket, os.path.join(self.directory, "worker"))

    def start_run(self):
        self.run = self.programs.start_run(self.pipeline)

    def wait_for(self, count):
        harness.wait_until(f"{count} messages",
                           lambda: self.target.count() >= count,
                           alive=[self.run])

    def finish(self):
        harness.wait_for_end(self.run, 0)
        self.verify()
        if self.worker is not None:
            harness.kill(self.worker)

    def verify(self):
        """Each key's sequence is complete, in order, single."""
        arrived = sequences.Arrived()
        for value in map(json.loads, self.target.values()):
            arrived.add(value)
        arrived.check(self.lengths)


def while_written(site, path):
    """Messages are written while they are read, and a worker dies twice."""
    total = sum(site.lengths.values())
    writer = threading.Thread(
        target=site.broker.write,
        args=("live", path, "-K", "\t", "-X", "linger.ms=5", "-X",
              "batch.num.messages=500"))
    writer.start()
    try:
        for share in (3, 2):
            site.wait_for(total // share)
            strikes.strike(site, "worker")
        site.wait_for(total)
    finally:
        writer.join()
    site.run.send_signal(signal.SIGTERM)
    harness.wait_for_end(site.run, 0, harness.NOT_CHECKPOINTED)
    site.verify()
    harness.kill(site.worker)


def threads_of_clients(process):
    """The names of librdkafka's threads, and of those that end its clients."""
    names = []
    tasks = f"/proc/{process.pid}/task"
    for task in os.listdir(tasks):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            with open(f"{tasks}/{task}/comm", encoding="utf-8") as comm:
                names.append(comm.read().strip())
    return [name for name in names if name.startswith(("rdk:", "kafka-end"))]


def deleted_topic(site):
    """The topic goes while it is read: run, client and worker end all the same.

    librdkafka alone would hold up the connector's end for ever; and nobody
    waits for that longer than a while, so that its threads are looked for.
    """
    site.wait_for(sum(site.lengths.values()))
    if not threads_of_clients(site.worker):
        raise harness.Failure("librdkafka's threads have other names")
    site.broker.delete_topic("going")
    # The client hears of it with the next answer; the tool's own end is later.
    site.run.send_signal(signal.SIGTERM)
    harness.wait_for_end(site.run, 0, harness.NOT_CHECKPOINTED)
    site.verify()
    harness.wait_until("the client's threads to end",
                       lambda: not threads_of_clients(site.worker),
                       alive=[site.worker])
    site.worker.send_signal(signal.SIGTERM)
    harness.wait_for_end(site.worker, 0)


def remade_topic(site, path):
    """A topic of the same name, longer than what was read, is another one."""
    topic, total = "anew", sum(site.lengths.values())
    site.wait_for(total)
    site.run.send_signal(signal.SIGTERM)
    harness.wait_for_end(site.run, 0, harness.NOT_CHECKPOINTED)
    site.broker.delete_topic(topic)

    def gone():
        try:
            return not site.broker.end_offsets(topic, PARTITIONS)
        except harness.Failure:
            return True

    harness.wait_until("the topic to go", gone)
    site.broker.make_topic(topic, PARTITIONS)
    for _ in range(2):
        site.broker.write(topic, path, "-K", "\t")
    site.start_run()
    harness.wait_for_end(site.run, FAILED)
    site.verify()  # Nothing of the new one.
    harness.kill(site.worker)


def told(done, event):
    """What one of Kafka's verifiable tools says of each such event."""
    events = [json.loads(line) for line in done.stdout.splitlines()]
    found = [one for one in events if one["name"] == event]
    if not found:
        raise harness.Failure(f"no {event}: {done.stderr.decode()[-2000:]}")
    return found


def verified(broker, topic, records):
    """What Kafka's verifiable consumer finds of a topic's committed records."""
    with tempfile.NamedTemporaryFile("w", suffix=".properties") as config:
        config.write("isolation.level=read_committed\n")
        config.flush()
        done = broker.tool(
            VERIFIABLE_CONSUMER, "--bootstrap-server", broker.bootstrap,
            "--topic", topic, "--group-id", f"verifier-{topic}",
            "--reset-policy", "earliest", "--max-messages", str(records),
            "--verbose", "--consumer.config", config.name)
    return told(done, "record_data")


def by_key(events):
    """{key: its values, in order}."""
    found = {}
    for event in events:
        found.setdefault(event["key"], []).append(event["value"])
    return found


class VerifiableSite(Site):
    """Reads what `written`, the acks of Kafka's verifiable producer, says."""

    def __init__(self, *arguments, written, **more):
        super().__init__(*arguments, **more)
        self.written = written

    def verify(self):
        """By its consumer."""
        total = sum(1 for _ in self.target.values())
        if total != len(self.written):
            raise harness.Failure(f"{total} arrived of {len(self.written)}")
        found = verified(self.broker, self.target.topic, total)
        for key, values in by_key(self.written).items():
            arrived = by_key(found).get(key, [])
            if arrived != values:
                raise harness.Failure(
                    f"key {key}: {len(arrived)} arrived of {len(values)}, "
                    f"first {arrived[:3]} of {values[:3]}")


def by_verifiers(play, records):
    """Kafka's verifiable producer writes, its verifiable consumer verifies.

    Whatever the one was told to be there the other finds once, of each key in
    order, though the worker between them is killed.
    """
    broker = play.broker

    def write(name, count):
        topic = f"verifiable-{name}"
        broker.make_topic(topic, PARTITIONS)
        done = broker.tool(
            VERIFIABLE_PRODUCER, "--bootstrap-server", broker.bootstrap,
            "--topic", topic, "--max-messages", str(count),
            "--repeating-keys", str(sequences.KEYS))
        written = told(done, "producer_send_success")
        if len(written) != count:
            raise harness.Failure(f"{len(written)} of {count} were written")
        return topic, written

    filled = harness.Growing(write, records)

    def make_site(trial):
        topic, written = filled[trial]
        return play.site(None, "topic", topic=topic, kind=VerifiableSite,
                         written=written), len(written)

    return play.strike("worker", make_site)


def by_others(play, path, records):
    """Kafka's own tools write what is read, and read what is written."""
    broker = play.broker
    some = os.path.join(play.directory, "some.keyed")
    lengths = collections.Counter()
    with open(path, "rb") as lines, open(some, "wb") as out:
        for line in itertools.islice(lines, records):
            out.write(line)
            lengths[line.partition(b"\t")[0].decode()] += 1
    broker.make_topic("console", PARTITIONS)
    with open(some, "rb") as lines:
        done = broker.tool(
            CONSOLE_PRODUCER, "--bootstrap-server", broker.bootstrap,
            "--topic", "console", "--property", "parse.key=true", stdin=lines)
    if done.returncode != 0:
        raise harness.Failure(f"Kafka's producer: {done.stderr.decode()}")
    site = play.site(lengths, "topic", topic="console")
    site.finish()
    seen = collections.Counter(
        event["key"]
        for event in verified(broker, site.target.topic, records))
    if seen != lengths:
        raise harness.Failure(
            f"Kafka's consumer finds {sum(seen.values())} of {records}")


class RealBroker(kafka_broker.KafkaBroker):
    """With a topic that was written in transactions, others between them."""

    def __init__(self, directory):
        super().__init__(directory, [f"num.partitions={PARTITIONS}"])

    def make_topic(self, topic, partitions):
        """By asking for it: Kafka's own tool takes seconds to start."""
        assert partitions == PARTITIONS

        def there():
            try:
                self._kcat("-L", "-t", topic)
                return self.end_offsets(topic, partitions)
            except harness.Failure:
                return None  # In the making.

        harness.wait_until(f"topic {topic}", there)

    def fill(self, topic, path):
        self.make_topic(topic, PARTITIONS)
        with open(path, "rb") as lines:
            all_lines = lines.readlines()
        size = len(all_lines) // TRANSACTIONS + 1
        for begin in range(0, len(all_lines), size):
            self._transaction(topic, all_lines[begin:begin + size])
            self._abort(topic)

    def _producer(self, topic):
        return subprocess.Popen(
            ["kcat", "-b", self.bootstrap, "-P", "-t", topic, "-K", "\t", "-X",
             "transactional.id=feeder"], stdin=subprocess.PIPE,
            preexec_fn=harness.die_with_parent, stderr=subprocess.DEVNULL)

    def _transaction(self, topic, lines):
        """kcat commits what it was given, and ends what its like has left."""
        producer = self._producer(topic)
        producer.communicate(b"".join(lines), timeout=harness.WAIT_MAX)
        if producer.returncode != 0:
            raise harness.Failure(f"kcat ended with {producer.returncode}")

    def _abort(self, topic):
        def written():
            return sum(self.end_offsets(topic, PARTITIONS).values())

        before = written()
        producer = self._producer(topic)
        producer.stdin.write(b"".join(
            b'k%d\t{"key":"none","seq":0}\n' % number
            for number in range(3 * sequences.KEYS)))
        producer.stdin.flush()
        harness.wait_until("messages to abort", lambda: written() > before,
                           alive=[producer])
        producer.kill()
        producer.wait()
        producer.stdin.close()

    def close(self, topic):
        """Ends the last aborted transaction, which readers would wait for."""
        self._transaction(topic, [])


class MockBroker:
    """librdkafka's mock cluster in a process of its own.

    `topic`: name and number of partitions; others have four.
    """

    def __init__(self, program, directory, topic=()):
        self._log = directory + ".log"
        with open(self._log, "wb") as log:
            self._process = subprocess.Popen(
                [program, *topic], stdin=subprocess.PIPE, stdout=log, stderr=log,
                preexec_fn=harness.die_with_parent)

        def address():
            with open(self._log, encoding="utf-8") as log:
                return re.search(r"BROKERS=(\S+)", log.read())

        self.bootstrap = harness.wait_until(
            "the mock cluster", address, alive=[self._process])[1]

    def make_topic(self, topic, partitions):
        """It makes any topic that is written to."""

    def write(self, topic, path, *arguments):
        done = subprocess.run(
            ["kcat", "-b", self.bootstrap, "-P", "-t", topic, *arguments, "-l",
             path], stdin=subprocess.DEVNULL, capture_output=True,
            timeout=harness.WAIT_MAX, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"kcat: {done.stderr.decode()}")

    def fill(self, topic, path):
        self.write(topic, path, "-K", "\t")

    def close(self, topic):
        """Nothing is open."""

    def kill(self):
        harness.stop(self._process)

    def start(self):
        time.sleep(0.5)
        self._process.send_signal(signal.SIGCONT)

    def end(self):
        self._process.kill()
        self._process.wait()


class Play:
    """Rounds over one broker that holds the messages."""

    def __init__(self, programs, directory, broker, server, seed):
        self.programs = programs
        self.directory = directory
        self.broker = broker
        self.server = server
        self._rng = random.Random(seed)
        self._numbers = iter(range(10**9))
        self.targets = ["files"]
        if isinstance(broker, RealBroker):
            self.targets.append("topic")
        if server is not None:
            self.targets.append("table")

    def site(self, lengths, target, kind=Site, **more):
        directory = harness.fresh(os.path.join(self.directory, "s"))
        name = f"target{next(self._numbers)}"
        if target == "topic":
            made = Topic(self.broker, name)
        elif target == "table":
            made = Table(self.server, name)
        else:
            made = Files(directory)
        return kind(self.programs, directory, self.broker, lengths, made,
                    **more)

    def strike(self, kind, make_site):
        """A round, made anew if it ends too early: how often it was struck.

        `make_site`: of a trial the site and how many messages it reads.
        """
        # A broker takes seconds to come back.
        counts = (1,) if kind == "broker" else (1, 1, 2, 3)

        def play(trial):
            site, total = make_site(trial)
            return strikes.play_round(site, self._rng, kind, total,
                                      kafka_broker.blows(self.broker), counts)

        return harness.strike_in_time(self.programs, play)

    def rounds(self, count, filled):
        """`filled`: by trial a topic and how many messages each key has."""
        struck = collections.Counter()
        for number in range(count):
            kind = KINDS[number % len(KINDS)]
            target = self.targets[number % len(self.targets)]
            started = time.monotonic()

            def site(trial, kind=kind, target=target):
                topic, lengths = filled[trial]
                return (self.site(lengths, target, topic=topic,
                                  local=kind.startswith("local")),
                        sum(lengths.values()))

            times = self.strike(kind, site)
            struck[f"{kind}, {target}"] += times
            print(f"round {number + 1:2}: into a {target}, {kind} struck "
                  f"{times} times, exactly once; "
                  f"{time.monotonic() - started:.1f} s", flush=True)
        lengths = filled[0][1]
        print(f"kafka_source: {sum(lengths.values())} messages of "
              f"{len(lengths)} keys in each of {count} rounds; "
              f"{sum(struck.values())} strikes: {dict(struck)}", flush=True)


def start_server(directory):
    """A PostgreSQL server, or None."""
    try:
        harness.need_postgres()
    except SystemExit:
        print("nothing is read into a table", flush=True)
        return None
    with open(os.path.join(directory, "postgres.log"), "wb") as log:
        return harness.PostgresServer(os.path.join(directory, "postgres"), log)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    parser.add_argument("--mock", help="the program penstock_kafka_mock")
    arguments = parser.parse_args()
    count = harness.setting("ROUNDS", len(KINDS))
    records = harness.setting("RECORDS", 15_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    if not arguments.mock:
        kafka_broker.need_kafka()
    elif shutil.which("kcat") is None:
        print("NOTHING WAS TESTED: kcat is not installed")
        raise SystemExit(77)
    print(f"kafka_source: seed {seed}, {count} rounds, {records} messages",
          flush=True)

    def test(programs, directory):
        path = os.path.join(directory, "in.keyed")
        lengths = make_messages(path, records, seed)

        def fill(name, number):
            more = os.path.join(directory, f"{name}.keyed")
            found = make_messages(more, number, seed)
            broker.fill(name, more)
            broker.close(name)
            return name, found

        server = None if arguments.mock else start_server(directory)
        place = os.path.join(directory, "kafka")
        broker = (MockBroker(arguments.mock, place) if arguments.mock else
                  RealBroker(place))
        try:
            play = Play(programs, directory, broker, server, seed)
            play.rounds(count, harness.Growing(fill, records))
            broker.make_topic("live", PARTITIONS)
            if not arguments.mock:
                while_written(play.site(lengths, "files", topic="live",
                                        ends=False), path)
                print("while_written: exactly once", flush=True)
                broker.make_topic("going", PARTITIONS)
                broker.write("going", path, "-K", "\t")
                deleted_topic(play.site(lengths, "files", topic="going",
                                        ends=False))
                print("deleted_topic: run and worker end", flush=True)
                broker.make_topic("anew", PARTITIONS)
                broker.write("anew", path, "-K", "\t")
                remade_topic(play.site(lengths, "files", topic="anew",
                                       ends=False), path)
                print("remade_topic: nothing of it is read", flush=True)
                by_others(play, path, min(records, 3000))
                print("by_others: written and read by Kafka's tools",
                      flush=True)
                struck = by_verifiers(play, records)
                print(f"by_verifiers: {records} messages of Kafka's verifiable "
                      f"producer, all found by its consumer; struck {struck} "
                      "times", flush=True)
        finally:
            programs.end_all()
            broker.end()
            if server is not None:
                server.end()

    return harness.main("kafka_source", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
