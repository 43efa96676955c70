#!/usr/bin/env python3
"""`cat file | penstock run`: what is piped in arrives once, also the last line
without its end, however the pieces come; a writer faster than the sink waits;
an end that does not come holds up no SIGTERM; of a stream whose reader was
killed nothing is read on, and the run says so; what cannot be promised is
refused.
"""
import argparse
import os
import random
import signal
import sys

import harness

RECORDS = 200_000
SEED = 37


def pipeline(directory, name, level="level: none", source="{path: '-'}",
             form="ndjson: {}"):
    site = os.path.join(directory, name)
    os.makedirs(site)
    path = os.path.join(site, "pipeline.yaml")
    with open(path, "w", encoding="utf-8") as out:
        out.write(f"name: {name}\nstore: '{harness.default_store(site)}'\n"
                  f"{level}\nconnectors:\n"
                  f"  - name: piped\n    source: {{file: {source}}}\n"
                  f"    format: {{{form}}}\n"
                  f"    sink: {{file: {{path: '{site}/out'}}}}\n    shards: 2\n")
    return path, os.path.join(site, "out")


class Piped:
    """A run, and the end of the pipe that one writes to."""

    def __init__(self, programs, path, directory):
        reading, self.fd = os.pipe()
        self.errors = open(os.path.join(directory, "errors"), "w+b")
        self.run = programs.start_run(path, errors=self.errors, stdin=reading)
        os.close(reading)

    def write(self, data):
        while data:
            data = data[os.write(self.fd, data[:1 << 16]):]

    def close(self):
        os.close(self.fd)

    def said(self):
        self.errors.seek(0)
        return self.errors.read().decode()


def lines_of(out):
    return sorted(line for lines in harness.committed_lines(out)
                  for line in lines)


def expect(out, data):
    found, wanted = lines_of(out), sorted(data.splitlines(keepends=True))
    if found != wanted:
        raise harness.Failure(f"{out} has {len(found)} lines of {len(wanted)}")


def two_lines(programs, directory):
    """B037: the writer closes at once."""
    path, out = pipeline(directory, "two")
    looked = programs.call("validate", path, "--probe")
    if looked.returncode != 0 or b"cannot be read again" not in looked.stdout:
        raise harness.Failure(f"validate: {looked}")
    piped = Piped(programs, path, directory)
    piped.write(b'{"seq": 1}\n{"seq": 2}')
    piped.close()
    harness.wait_for_end(piped.run, 0)
    expect(out, b'{"seq": 1}\n{"seq": 2}\n')
    verified = programs.call("verify", path)
    if verified.returncode == 0 or b"piped in" not in verified.stderr:
        raise harness.Failure(f"verify: {verified}")
    # The next run reads what is piped into it.
    piped = Piped(programs, path, directory)
    piped.write(b'{"seq": 3}\n')
    piped.close()
    harness.wait_for_end(piped.run, 0)
    expect(out, b'{"seq": 1}\n{"seq": 2}\n{"seq": 3}\n')
    print("two lines, the last without its end: both are there", flush=True)


def pieces(programs, directory):
    """Pieces of any size, a record larger than a pipe, and no end for long."""
    rng = random.Random(SEED)
    lines = [b"x" * rng.choice((0, 1, 70, 5000)) for _ in range(3000)]
    lines[1500] = b"y" * 3_000_000
    data = b"\n".join(lines) + b"\n"
    path, out = pipeline(directory, "pieces", form="raw: {}")
    piped = Piped(programs, path, directory)
    at = 0
    while at < len(data):
        size = rng.choice((1, 10, 100_000))
        piped.write(data[at:at + size])
        at += size
        if at > 10_000_000:
            raise harness.Failure("too much was made")
    # All of it arrives before the end comes.
    harness.wait_until("what was written", lambda: len(lines_of(out)) ==
                       len(lines), alive=[piped.run])
    piped.run.send_signal(signal.SIGTERM)
    harness.wait_for_end(piped.run, 0)
    piped.close()
    expect(out, data)
    print(f"{len(lines)} lines in pieces, then SIGTERM without an end: all are "
          "there", flush=True)


def all_of_a_file(programs, directory):
    source = os.path.join(directory, "in.ndjson")
    harness.make_records(source, RECORDS, SEED)
    path, out = pipeline(directory, "whole")
    with open(source, "rb") as data:
        piped = Piped(programs, path, directory)
        piped.write(data.read())
    piped.close()
    harness.wait_for_end(piped.run, 0)
    if harness.fingerprint_of_output(out) != harness.fingerprint_of_file(source):
        raise harness.Failure("not all of the file is there, once")
    print(f"{RECORDS} records: all are there, once", flush=True)
    return source


def killed(programs, directory, source):
    """What the worker held is lost: nothing is read on, and that is said."""
    path, out = pipeline(directory, "killed")
    piped = Piped(programs, path, directory)
    with open(source, "rb") as file:
        data = file.read()
    piped.write(data[:len(data) // 2])
    harness.wait_until("some of it", lambda: os.path.exists(out) and
                       lines_of(out), alive=[piped.run])
    harness.kill_local_worker(piped.run)
    try:
        piped.write(data[len(data) // 2:])
        raise harness.Failure("nobody reads, and the writer is not told")
    except BrokenPipeError:
        pass
    piped.close()
    code = piped.run.wait(harness.WAIT_MAX)
    if code == 0 or "standard input is not for reading" not in piped.said():
        raise harness.Failure(f"the run ended with {code}: {piped.said()}")
    if set(lines_of(out)) - set(data.splitlines(keepends=True)):
        raise harness.Failure("there are lines that nobody wrote")
    print(f"worker killed: nothing was read on, the run ended with {code}: "
          f"{piped.said().strip().splitlines()[-1]}", flush=True)


def refused(programs, directory):
    for name, change, words in (
            ("exactly", {"level": "level: exactly_once"}, "level"),
            ("least", {"level": "level: at_least_once"}, "level"),
            ("follow", {"source": "{path: '-', follow: true}"}, "follow"),
            ("gzip", {"source": "{path: '-', compression: gzip}"}, "zcat"),
            ("magic", {}, "zcat")):
        path, _ = pipeline(directory, name, **change)
        piped = Piped(programs, path, directory)
        piped.write(b"\x1f\x8b\x08\x00\x00\x00\x00\x00")
        piped.close()
        code = piped.run.wait(harness.WAIT_MAX)
        if code == 0 or words not in piped.said():
            raise harness.Failure(f"{name}: ended with {code}: {piped.said()}")
        print(f"{name}: refused: {piped.said().strip().splitlines()[-1]}",
              flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()

    def test(programs, directory):
        two_lines(programs, directory)
        pieces(programs, directory)
        source = all_of_a_file(programs, directory)
        killed(programs, directory, source)
        refused(programs, directory)

    return harness.main("standard_input", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
