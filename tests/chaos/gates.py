#!/usr/bin/env python3
"""A person works the gates: the commands of `penstock`, one by one.

Every command is a process of its own, as a person types it; between two of them
the worker is killed (commands that die: tests/integration/hand_test.cc). In the
end `penstock run` goes on with what was begun by hand, and everything is there
exactly once.
"""
import argparse
import json
import os
import subprocess
import sys

import harness

RECORDS = 20_000
LIMITS = {"block_bytes": "64KiB", "step_bytes": "64KiB",
          "step_bytes_max": "128KiB", "chunk_bytes_max": "16KiB",
          "queued_bytes_max": "256KiB"}


class Gates:
    def __init__(self, programs, directory, source, level=None):
        self.programs = programs
        self.directory = harness.fresh(directory)
        self.out = os.path.join(directory, "out")
        self.socket = os.path.join(directory, "w.sock")
        self.pipeline = harness.write_pipeline(
            directory, source.path, socket=self.socket, limits=LIMITS,
            level=level)
        self.start_worker()

    def start_worker(self):
        self.worker = self.programs.start_worker(
            self.socket, os.path.join(self.directory, "worker"))
        harness.wait_until("the worker", lambda: os.path.exists(self.socket),
                           alive=[self.worker])

    def say(self, verb, *options, code=0):
        """What the command answers, as a dictionary; or its error's text."""
        answer = self.programs.call(verb, self.pipeline, *options, "--output",
                                    "json")
        if answer.returncode != code:
            raise harness.Failure(
                f"{verb} ended with {answer.returncode}, expected {code}: "
                f"{answer.stdout.decode()}{answer.stderr.decode()}")
        if answer.stdout:
            return json.loads(answer.stdout)
        return answer.stderr.decode()

    def status(self):
        answer = self.programs.call("connectors", "orders", "--worker",
                                    f"unix:{self.socket}", "--output", "json")
        if answer.returncode != 0:
            raise harness.Failure(answer.stderr.decode())
        return json.loads(answer.stdout)


def expect(what, found, wanted):
    if found != wanted:
        raise harness.Failure(f"{what}: {found}, expected {wanted}")


def expect_in(what, wanted, text):
    if wanted not in text:
        raise harness.Failure(f"{what}: {text}")


def step_by_step(programs, directory, source):
    """Each verb does what it says, and no more."""
    gates = Gates(programs, directory, source)
    expect_in("before an open", "open it first", gates.say("extend", code=1))
    opened = gates.say("open")
    expect("open", (opened["level"], opened["base_steps"], opened["next"],
                    opened["shard_progress"]),
           ("exactly_once", 0, "extend", [0] * harness.SHARDS))
    expect_in("a second open", "open already", gates.say("open", code=1))
    gates.say("extend")
    first = gates.say("queue")
    if first["records"] == 0 or first["end_of_input"]:
        raise harness.Failure(f"the first step is {first}")
    second = gates.say("queue")
    if second["step"] <= first["step"]:
        raise harness.Failure(f"steps {first} and {second}")
    # Nothing is visible before it is released.
    expect("committed before the release", harness.committed_bytes(gates.out), 0)
    blocked = gates.say("checkpoint", "--wait", "100ms", code=8)
    expect("a checkpoint of what is not released", blocked["ready"], False)
    expect_in("what blocks it", "not released", str(blocked["blockers"]))
    expect("release", gates.say("release")["released_steps"],
           second["step"] + 1)
    taken = gates.say("checkpoint")
    expect("checkpoint", (taken["steps"], taken["ready"]),
           (second["step"] + 1, True))
    expect("committed", harness.progress(gates.out),
           [second["step"] + 1] * harness.SHARDS)
    gates.say("pause")
    expect("state", gates.status()["health"]["state"],
           "CONNECTOR_STATE_PAUSED")
    # What was read before the pause can be queued; then there is nothing.
    while "no_step" not in (answer := gates.say("queue", "--wait", "100ms")):
        expect("a step of a paused connector", answer["records"] > 0, True)
    expect("a queue of nothing", answer["no_step"].startswith("paused"), True)
    gone = gates.say("disconnect", "--wait", "1s")
    if not gone["dropped_steps"]:
        raise harness.Failure("nothing was dropped of what was not released")
    expect("after the disconnect", gates.programs.call(
        "connectors", "--worker", f"unix:{gates.socket}", "--output",
        "json").stdout, b"")
    return gates


def taken_up(programs, directory, source):
    """Killed between two commands; `penstock run` goes on with it."""
    gates = step_by_step(programs, directory, source)
    # It is still paused, by a person.
    reopened = gates.say("open")
    if reopened["steps_to_replay"] == 0:
        raise harness.Failure("what was journaled is not to be replayed")
    expect_in("extend before replay", "replay first",
              gates.say("extend", code=1))
    replayed = gates.say("replay")
    expect("replayed", len(replayed["replayed"]), reopened["steps_to_replay"])
    gates.say("extend")
    gates.say("queue")
    harness.kill(gates.worker)
    gates.start_worker()
    expect_in("after the worker died", "not open", gates.say("queue", code=1))
    gates.say("open")
    gates.say("open", "--reopen")
    gates.say("replay")
    gates.say("extend")
    gates.say("queue")
    run = programs.start_run(gates.pipeline)
    harness.wait_for_end(run, 0)
    harness.verify(programs, gates.pipeline, source.print)
    harness.kill(gates.worker)


def below_exactly_once(programs, directory, source):
    """Nothing is journaled there; a checkpoint comes before the release."""
    gates = Gates(programs, directory, source, level="at_least_once")
    gates.say("open")
    gates.say("extend")
    step = gates.say("queue")["step"]
    taken = gates.say("checkpoint")
    expect("checkpoint", (taken["steps"], taken["ready"]), (step + 1, True))
    gates.say("queue")
    gates.say("release")
    expect_in("a checkpoint behind the release", "queue another one",
              gates.say("checkpoint", code=8))
    gates.say("disconnect")
    harness.wait_for_end(programs.start_run(gates.pipeline), 0)
    harness.verify_at_least_once(programs, gates.pipeline, source.counts())
    harness.kill(gates.worker)


def refusals(programs, directory, source):
    """Clear errors, each with its exit code."""
    gates = Gates(programs, directory, source)
    expect_in("another connector", "has no connector 'no-such'",
              gates.say("open", "no-such", code=2))
    gates.say("open")
    expect_in("a wait", "--wait `soon`",
              gates.say("queue", "--wait", "soon", code=2))
    harness.kill(gates.worker)
    answer = subprocess.run(
        [programs.worker, "--state-dir", directory, "--memory-max", "12"],
        capture_output=True, text=True, timeout=60, check=False)
    expect("too little memory", answer.returncode, 2)
    expect_in("too little memory", "room for no connector", answer.stderr)


def drained(programs, directory, source):
    """`penstock drain` empties a worker: its run ends in order."""
    gates = Gates(programs, directory, source)
    gates.say("open")
    gates.say("extend")
    gates.say("queue")
    answer = programs.call("drain", "--worker", f"unix:{gates.socket}",
                           "--deadline", "1s", "--output", "json")
    found = json.loads(answer.stdout)
    if not found["orders.dropped_steps"] or found["complete"]:
        raise harness.Failure(f"drain said {found}")
    expect("drain's exit code", answer.returncode, 8)
    expect_in("an open on a drained worker", "drain",
              gates.say("open", "--reopen", code=1))
    harness.kill(gates.worker)


def shape(value):
    """Names and types, without what they hold this time."""
    if isinstance(value, dict):
        return {name: shape(member) for name, member in value.items()}
    if isinstance(value, list):
        return [shape(value[0])] if value else []
    return type(value).__name__


# What scripts may rest on: names, order and types of each object.
STEPS = dict.fromkeys(("made", "released", "completed", "checkpointed"), "int")
TYPE = dict.fromkeys(("kind", "name", "summary", "level_max"), "str")
SHAPES = (
    (["top", "--once", "--interval", "0.1"],
     {"connector": "str", "pipeline": "str", "state": "str",
      "condition": "str", "records": "int", "bytes": "int",
      "records_per_second": "float", "bytes_per_second": "float",
      "queued_records": "int", "in_flight_bytes": "int", **STEPS,
      "errors": "int", "why": "str"}),
    (["errors"], {"time": "str", "connector": "str", "tag": "str",
                  "count": "int", "fatal": "bool", "text": "str"}),
    (["checkpoints"], {"connector": "str", "base": "int", **STEPS,
                       "to_replay": "int", "blocked_by": "str"}),
    (["describe"], {
        "types": [TYPE], "worker": {
            "protocol_version": "int", "software_version": "str",
            "run_id": "str", "capabilities": ["str"],
            **dict.fromkeys(("message_bytes_max", "memory_max",
                             "memory_committed"), "str")}, "now": "str"}),
    (["describe", "sink.null"], {
        "type": TYPE, "config_message": "str", "capabilities": ["str"],
        "config_schema": "str"}),
    (["doctor"], {"what": "str", "outcome": "str", "seen": "str",
                  "remedy": "str"}),
)


def shapes(programs, directory, source):
    """Objects of JSON, a line each, of the same shape whatever they say."""
    own = harness.make_source(os.path.join(os.path.dirname(source.path),
                                           "own.ndjson"), RECORDS, 8)
    gates = Gates(programs, directory, own)
    for verb in ("open", "extend", "queue"):
        gates.say(verb)
    # Another file in its place: it fails, which is an error to show.
    os.rename(own.path, own.path + ".gone")
    harness.make_records(own.path, 10, 5)
    while programs.call("queue", gates.pipeline).returncode == 0:
        programs.call("release", gates.pipeline)
    for arguments, wanted in SHAPES:
        answer = programs.call(*arguments, "--worker", f"unix:{gates.socket}",
                               "--output", "json")
        lines = answer.stdout.splitlines()
        expect(f"lines of {arguments}: {answer.stderr.decode()}",
               len(lines) > 0, True)
        for line in lines:
            expect(f"shape of {arguments}",
                   list(shape(json.loads(line)).items()), list(wanted.items()))
    harness.kill(gates.worker)


def completed(programs, *_):
    """The script completes subcommands, options and choices, in bash."""
    for words, wanted in ((["pau"], "pause"), (["queue", "--wa"], "--wait"),
                          (["run", "--output", "j"], "json"),
                          (["run", "pipe"], "")):
        line = " ".join(["penstock", *words])
        found = subprocess.run(
            ["bash", "-c", f"source <({programs.penstock} completion bash); "
             f"COMP_WORDS=({line}); COMP_CWORD={len(words)}; _penstock; "
             "echo ${COMPREPLY[*]}"], capture_output=True, text=True,
            check=True).stdout.strip()
        expect(f"completion of `{line}`", found, wanted)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()

    def test(programs, directory):
        source = harness.make_source(os.path.join(directory, "in.ndjson"),
                                     RECORDS, 7)
        place = os.path.join(directory, "s")
        for scene in (taken_up, below_exactly_once, refusals, drained,
                      shapes, completed):
            scene(programs, place, source)
            print(f"{scene.__name__}: as it should be", flush=True)

    return harness.main("gates", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
