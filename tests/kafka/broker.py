#!/usr/bin/env python3
"""One Apache Kafka broker for tests, on loopback, of what fetch.sh fetched.

    broker.py run DIRECTORY PORT CONTROLLER_PORT [KEY=VALUE...]
        Becomes the broker (it replaces this process). DIRECTORY is made if it
        is missing; an existing one goes on where it was. Further settings are
        the broker's own.
    broker.py tool CLASS [ARGUMENT...]
        Becomes one of Kafka's own tools, such as
        org.apache.kafka.tools.consumer.ConsoleConsumer.
    broker.py missing
        Says why there can be no broker, and ends with 3; otherwise with 0.
    broker.py format --home HOME
        Makes the empty storage that every broker begins with; for fetch.sh.

The broker says "Kafka Server started" on standard error when it can be used.
What fetch.sh fetched is looked for in PENSTOCK_KAFKA, then in build/kafka.
"""

import argparse
import os
import pathlib
import shutil
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]

# One partition of each topic of its own, no replicas, no waiting for members. A
# broker that was killed comes back when its last session is over.
SETTINGS = """\
process.roles=broker,controller
node.id=1
controller.quorum.voters=1@127.0.0.1:{controller}
controller.listener.names=CONTROLLER
listeners=PLAINTEXT://127.0.0.1:{port},CONTROLLER://127.0.0.1:{controller}
advertised.listeners=PLAINTEXT://127.0.0.1:{port}
listener.security.protocol.map=PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT,\
SASL_PLAINTEXT:SASL_PLAINTEXT,SSL:SSL
log.dirs={storage}
num.partitions=1
offsets.topic.num.partitions=1
offsets.topic.replication.factor=1
transaction.state.log.num.partitions=1
transaction.state.log.replication.factor=1
transaction.state.log.min.isr=1
share.coordinator.state.topic.replication.factor=1
share.coordinator.state.topic.min.isr=1
group.initial.rebalance.delay.ms=0
broker.session.timeout.ms=4000
broker.heartbeat.interval.ms=500
num.network.threads=1
num.io.threads=2
background.threads=1
log.cleaner.threads=1
log.cleaner.dedupe.buffer.size=2097152
message.max.bytes=16777216
socket.request.max.bytes=134217728
"""


def home() -> pathlib.Path:
    return pathlib.Path(os.environ.get("PENSTOCK_KAFKA", ROOT / "build/kafka"))


def missing() -> str | None:
    """Why there can be no broker; None: there can."""
    if not any(home().glob("complete-*")):
        return f"no Kafka broker in {home()}: run tests/kafka/fetch.sh"
    if shutil.which(java()) is None:
        return "java is not installed"
    return None


def java() -> str:
    return os.environ.get("PENSTOCK_JAVA", "java")


def java_command(main: str, place: pathlib.Path, heap: str = "384m"):
    return [java(), "-Xms64m", f"-Xmx{heap}", "-XX:TieredStopAtLevel=1",
            "-XX:+UseSerialGC", "-Xshare:auto", "-Djava.awt.headless=true",
            "-Dorg.slf4j.simpleLogger.defaultLogLevel="
            + ("info" if main == "kafka.Kafka" else "warn"),
            "-cp", f"{place}/jars/*", main]


def write_settings(directory: pathlib.Path, port: int, controller: int,
                   more) -> pathlib.Path:
    settings = SETTINGS.format(port=port, controller=controller,
                               storage=directory / "storage")
    path = directory / "server.properties"
    path.write_text(settings + "".join(line + "\n" for line in more))
    return path


def run(directory: pathlib.Path, port: int, controller: int, more) -> None:
    storage = directory / "storage"
    if not (storage / "meta.properties").exists():
        directory.mkdir(parents=True, exist_ok=True)
        shutil.copytree(home() / "empty", storage, dirs_exist_ok=True)
    settings = write_settings(directory, port, controller, more)
    command = java_command("kafka.Kafka", home()) + [str(settings)]
    os.chdir(directory)
    os.execvp(command[0], command)


def make_empty(place: pathlib.Path) -> int:
    place = place.resolve()
    work = place / "format"
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir()
    settings = write_settings(work, 9092, 9093, [])
    done = subprocess.run(
        java_command("kafka.tools.StorageTool", place)
        + ["format", "--config", str(settings), "--cluster-id",
           "penstocktestsclusterAA"], check=False)
    if done.returncode == 0:
        (work / "storage").rename(place / "empty")
    shutil.rmtree(work)
    return done.returncode


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    runs = commands.add_parser("run")
    runs.add_argument("directory", type=pathlib.Path)
    runs.add_argument("port", type=int)
    runs.add_argument("controller", type=int)
    runs.add_argument("settings", nargs="*")
    tool = commands.add_parser("tool")
    tool.add_argument("main")
    tool.add_argument("arguments", nargs=argparse.REMAINDER)
    commands.add_parser("missing")
    formats = commands.add_parser("format")
    formats.add_argument("--home", type=pathlib.Path, required=True)
    args = parser.parse_args()
    if args.command == "format":
        return make_empty(args.home)
    why = missing()
    if why is not None:
        print(why)
        return 3
    if args.command == "missing":
        return 0
    if args.command == "run":
        run(args.directory.resolve(), args.port, args.controller,
            args.settings)
    command = java_command(args.main, home(), "256m") + args.arguments
    os.execvp(command[0], command)


if __name__ == "__main__":
    sys.exit(main())
