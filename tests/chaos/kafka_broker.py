"""A real Kafka broker of a script's own, and kcat to see what it holds.

What it runs is tests/kafka; where that cannot be had, `need_kafka` ends the
script with exit code 77, or as failed with PENSTOCK_REQUIRE_KAFKA=1.
"""
import collections
import json
import os
import shutil
import socket
import subprocess
import sys

import harness

_PROGRAM = os.path.join(os.path.dirname(os.path.realpath(__file__)), "..",
                        "kafka", "broker.py")

Record = collections.namedtuple("Record", "partition offset key value headers")


def need_kafka():
    """Ends a script that needs a broker where there is none."""
    found = subprocess.run([sys.executable, _PROGRAM, "missing"],
                           capture_output=True, text=True, check=False)
    why = found.stdout.strip()
    if found.returncode == 0 and shutil.which("kcat") is None:
        why = "kcat is not installed"
    if not why:
        return
    if os.environ.get("PENSTOCK_REQUIRE_KAFKA") == "1":
        raise SystemExit(why)
    print(f"NOTHING WAS TESTED: {why}")
    raise SystemExit(77)


def blows(broker):
    """What else may be struck, see strikes.strike."""
    def restart():
        broker.kill()
        broker.start()

    return {"broker": restart}


def _free_ports(count):
    """Ports of loopback that nobody listens on at this moment."""
    sockets = [socket.socket() for _ in range(count)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


class KafkaBroker:
    """One broker on loopback; it ends with the script, however that ends.

    `settings`: lines of the broker's own configuration ("a=b").
    """

    def __init__(self, directory, settings=()):
        self.directory = directory
        self._settings = list(settings)
        self._ports = _free_ports(2)
        self.bootstrap = f"127.0.0.1:{self._ports[0]}"
        self._log = directory + ".log"
        self._process = None
        self.start()

    def start(self):
        """With what it had, on the port it had."""
        begin = os.path.getsize(self._log) if os.path.exists(self._log) else 0
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(
                [sys.executable, _PROGRAM, "run", self.directory,
                 *map(str, self._ports), *self._settings],
                stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                preexec_fn=harness.die_with_parent)

        def started():
            with open(self._log, "rb") as log:
                log.seek(begin)
                return b"Kafka Server started" in log.read()

        harness.wait_until("the Kafka broker", started, alive=[self._process])

    def kill(self):
        """As a crash ends it."""
        self._process.kill()
        self._process.wait()

    def end(self):
        if self._process.poll() is None:
            self.kill()

    def tool(self, main, *arguments, **more):
        """One of Kafka's own tools, by the class of its main function."""
        return subprocess.run(
            [sys.executable, _PROGRAM, "tool", main, *arguments],
            stdin=more.pop("stdin", subprocess.DEVNULL), capture_output=True,
            timeout=harness.WAIT_MAX, check=False, **more)

    def make_topic(self, topic, partitions, **settings):
        made = self.tool(
            "org.apache.kafka.tools.TopicCommand", "--bootstrap-server",
            self.bootstrap, "--create", "--topic", topic, "--partitions",
            str(partitions), *(
                argument for name, value in settings.items() for argument in
                ("--config", f"{name.replace('_', '.')}={value}")))
        if made.returncode != 0:
            raise harness.Failure(
                f"no topic {topic}: {(made.stdout + made.stderr).decode()}")

    def delete_topic(self, topic):
        gone = self.tool("org.apache.kafka.tools.TopicCommand",
                         "--bootstrap-server", self.bootstrap, "--delete",
                         "--topic", topic)
        if gone.returncode != 0:
            raise harness.Failure(
                f"{topic} stays: {(gone.stdout + gone.stderr).decode()}")

    def _kcat(self, *arguments, data=None):
        done = subprocess.run(["kcat", "-b", self.bootstrap, *arguments],
                              input=data, capture_output=True,
                              timeout=harness.WAIT_MAX, check=False)
        if done.returncode != 0:
            raise harness.Failure(f"kcat {arguments}: {done.stderr.decode()}")
        return done.stdout

    def write(self, topic, path, *arguments):
        """Each line of the file as a value, or as kcat's `arguments` say."""
        self._kcat("-P", "-t", topic, "-X", "enable.idempotence=true",
                   *arguments, "-l", path)

    def read(self, topic, committed=True, more=()):
        """All Records of a topic, in the order of each partition.

        `more`: arguments of kcat.
        """
        level = "read_committed" if committed else "read_uncommitted"
        text = self._kcat("-C", "-t", topic, "-e", "-q", "-J", "-X",
                          f"isolation.level={level}", "-X",
                          "check.crcs=true", *more)
        found = (json.loads(line) for line in text.splitlines())
        return [Record(one["partition"], one["offset"], one["key"],
                       one["payload"], one.get("headers", []))
                for one in found]

    def end_offsets(self, topic, partitions):
        """How far the log is, by partition, what is not committed included."""
        text = self._kcat("-Q", "-X", "isolation.level=read_uncommitted", *(
            argument for partition in range(partitions)
            for argument in ("-t", f"{topic}:{partition}:-1"))).decode()
        ends = {}
        for line in text.splitlines():
            where, _, offset = line.rpartition(" offset ")
            ends[int(where.rpartition("[")[2].rstrip("]"))] = int(offset)
        return ends
