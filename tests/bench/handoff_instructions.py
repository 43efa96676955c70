#!/usr/bin/env python3
"""Instructions per row of the handoff, which a busy machine does not change.

Runs the benchmarks BM_Handoff_Counted of build/release/tests/bench/
handoff_bench (or of the program given) under valgrind's callgrind and counts
what happens inside of steps: 100 steps of 1,536 rows each.
"""

import argparse
import re
import subprocess
import sys
import tempfile

ROWS = 100 * 1536
STEP = "*Lane::RunStep*"


def names(program):
    listed = subprocess.run(
        [program, "--benchmark_list_tests", "--benchmark_filter=Counted"],
        check=True,
        capture_output=True,
        text=True,
    )
    return listed.stdout.split()


def instructions(program, name):
    with tempfile.TemporaryDirectory() as scratch:
        done = subprocess.run(
            [
                "valgrind",
                "--tool=callgrind",
                f"--callgrind-out-file={scratch}/callgrind.out",
                f"--toggle-collect={STEP}",
                program,
                f"--benchmark_filter=^{name}$",
            ],
            check=True,
            capture_output=True,
            text=True,
        )
    collected = re.search(r"Collected : (\d+)", done.stderr)
    if collected is None or int(collected.group(1)) == 0:
        sys.exit(f"{name}: nothing was counted in {STEP}:\n{done.stderr}")
    return int(collected.group(1))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "program", nargs="?", default="build/release/tests/bench/handoff_bench"
    )
    program = parser.parse_args().program
    for name in names(program):
        print(f"{instructions(program, name) / ROWS:7.1f}  {name}")


if __name__ == "__main__":
    main()
