#!/usr/bin/env python3
"""`penstock conformance` against a real worker: every promise is kept.

Each rule of the protocol that can be seen from outside has at least one check;
what the suite says must be what its own JSON says.
"""
import argparse
import json
import os
import sys

import harness

# Rules that the checks must be about, at least.
RULES = {"1", "2", "3", "4", "5", "6", "7", "8", "9", "11", "14", "15", "table"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()

    def test(programs, directory):
        socket = os.path.join(directory, "w.sock")
        worker = programs.start_worker(socket, os.path.join(directory, "state"))
        harness.wait_until("the worker", lambda: os.path.exists(socket),
                           alive=[worker])
        listed = [json.loads(line)["check"] for line in programs.call(
            "conformance", "--list", "--output", "json").stdout.splitlines()]
        if missing := RULES - {name.split("/")[0] for name in listed}:
            raise harness.Failure(f"no check is about {missing}")
        answer = programs.call("conformance", "--target", f"unix:{socket}",
                               "--directory", os.path.join(directory, "place"),
                               "--output", "json")
        *checks, total = [json.loads(line)
                          for line in answer.stdout.splitlines()]
        for check in checks:
            if not check["kept"]:
                print(f"{check['check']}: {check['found']}", flush=True)
        if [check["check"] for check in checks] != listed:
            raise harness.Failure("not every check was run")
        if answer.returncode != 0 or total != {"checks": len(listed),
                                               "broken": 0}:
            raise harness.Failure(f"it ended with {answer.returncode}: {total}")
        print(f"{len(listed)} checks, all kept", flush=True)
        # Where nobody listens everything is broken, and says so.
        harness.kill(worker)
        answer = programs.call("conformance", "--target", f"unix:{socket}",
                               "--only", "2/", "--output", "json")
        if answer.returncode != 7:
            raise harness.Failure(f"without a server: {answer.returncode}")

    return harness.main("conformance", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
