#!/usr/bin/env python3
"""Kills worker and controller under a file sink that uses all its options.

Each round: files roll often, compressed or not, renamed or not; one to three
SIGKILLs while output is being committed. At the end every record is there once,
by the manifest, by `penstock verify` and, where files are renamed, by their
names alone. A file that was seen whole before a kill is there unchanged later.

  PENSTOCK_CHAOS_ROUNDS   rounds of each sink (3)
  PENSTOCK_CHAOS_RECORDS  records of the file (200,000)
  PENSTOCK_CHAOS_SEED     seed (from the clock; printed)
"""
import argparse
import collections
import os
import random
import sys
import time

import chaos
import harness
import strikes

# name: what goes with the path, compressed by, renamed when whole.
Sink = collections.namedtuple("Sink", "options compression renames")
SINKS = {
    "zstd, renamed, by size": Sink(
        "compression: zstd, roll: {bytes: 32KiB}, visibility: rename",
        harness.ZSTD, True),
    "gzip, by steps": Sink(
        "compression: gzip, compression_level: 1, roll: {steps: 5}",
        harness.GZIP, False),
    "renamed, by time and size": Sink(
        "roll: {interval: 20ms, bytes: 512KiB}, visibility: rename, "
        "name: 'orders-{shard}-{writer}-{number}.ndjson'",
        harness.NONE, True),
}


class FileSite(chaos.Site):
    def __init__(self, programs, directory, source, local, sink):
        self.sink = sink
        super().__init__(programs, directory, source, local, sink=(
            f"file: {{path: '{directory}/out', {sink.options}}}"))

    def whole_files(self):
        """{name: bytes} of what a reader that knows only names would take."""
        files = os.path.join(self.out, "files")
        if not os.path.isdir(files):
            return {}
        return {name: content
                for name, content in harness.snapshot(files).items()
                if not name.startswith(".")}


def require_unchanged(before, now):
    for name, content in before.items():
        if now.get(name) != content:
            raise harness.Failure(f"{name} was whole and has changed")


def check_names(site, source):
    """The names alone tell all, once the run has come to its end."""
    if not site.sink.renames:
        return
    found = harness.Fingerprint()
    for lines in harness.whole_file_lines(site.out):
        found.add(lines)
    if found != source.print:
        raise harness.Failure(f"files/ has {found}, input {source.print}")


def play(programs, directory, source, sink, kind, moments, rng):
    """Kills at each share of `moments`, a share of all committed bytes.

    Returns: how many kills came in time, and how many files there are.
    """
    site = FileSite(programs, directory, source, kind.startswith("local"), sink)
    kills = 0
    seen = {}
    for moment in moments:
        site.wait_for(moment)
        time.sleep(rng.uniform(0, 0.03))
        whole = site.whole_files()
        require_unchanged(seen, whole)
        if not strikes.strike(site, kind):
            break
        seen = whole
        kills += 1
    site.finish(source)
    require_unchanged(seen, site.whole_files())
    check_names(site, source)
    files = harness.committed_files(site.out)
    if any(file.compression != sink.compression for file in files):
        raise harness.Failure("a file is not compressed as it should be")
    if moments and kills == 0:
        raise harness.TooLate("every kill came after the end")
    return kills, len(files)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()
    rounds = harness.setting("ROUNDS", 3)
    records = harness.setting("RECORDS", 200_000)
    seed = harness.setting("SEED", time.time_ns() % 10**9)
    print(f"file_sink: seed {seed}, {rounds} rounds of each sink, {records} "
          "records", flush=True)

    def play_sink(programs, site, sources, rng, name, sink):
        # Undisturbed, to know how much it will be.
        play(programs, site, sources[0], sink, "worker", [], rng)
        total = harness.committed_bytes(os.path.join(site, "out"))
        for number in range(rounds):
            kind = chaos.KINDS[(number + len(name)) % len(chaos.KINDS)]

            def one_round(trial, kind=kind):
                whole = total * harness.GROWTH**trial
                moments = sorted(int(whole * rng.uniform(0.02, 0.85))
                                 for _ in range(rng.choice((1, 2, 3))))
                return play(programs, site, sources[trial], sink, kind, moments,
                            rng)

            kills, files = harness.strike_in_time(programs, one_round)
            # Commits may hold many steps, so how many files is up to them.
            if files <= 2 * harness.SHARDS:
                raise harness.Failure(f"only {files} files: nothing rolled")
            print(f"{name}: {kind} killed {kills} times; {records} records in "
                  f"{files} files, exactly once", flush=True)

    def test(programs, directory):
        rng = random.Random(seed)
        sources = harness.growing_source(directory, records, seed)
        for name, sink in SINKS.items():
            if sink.compression == harness.ZSTD and not harness.has_zstd():
                print(f"{name}: NOT TESTED: there is no program zstd to read "
                      "it with", flush=True)
                continue
            play_sink(programs, os.path.join(directory, "s"), sources, rng, name,
                      sink)

    return harness.main("file_sink", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
