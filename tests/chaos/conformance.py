#!/usr/bin/env python3
"""`penstock conformance` against a real worker: every promise is kept.

Each rule of the protocol that can be seen from outside has at least one check.
They are made over a sound line and over one that loses answers, cuts calls off,
repeats commands and delivers them late; and the worker is killed at each point
where it acknowledges something. What the suite says must be what its own JSON
says.
"""
import argparse
import concurrent.futures
import json
import os
import sys
import threading

import harness

# Rules that the checks must be about, at least.
RULES = {"kill", "1", "2", "3", "4", "5", "6", "7", "8", "9", "10", "11", "14",
         "15", "table"}


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--bin", default=harness.default_bin())
    arguments = parser.parse_args()

    def test(programs, directory):
        socket = os.path.join(directory, "w.sock")
        pid = os.path.join(directory, "pid")
        stopped = threading.Event()
        workers = []

        def start():
            workers.append(programs.start_worker(
                socket, os.path.join(directory, "state")))
            with open(pid, "w", encoding="ascii") as out:
                out.write(str(workers[-1].pid))

        def look_after():
            """Starts another one whenever the suite killed the last."""
            while not stopped.wait(0.01):
                if workers[-1].poll() is not None:
                    start()

        start()
        harness.wait_until("the worker", lambda: os.path.exists(socket),
                           alive=[workers[-1]])
        keeper = threading.Thread(target=look_after, daemon=True)
        keeper.start()
        listed = [json.loads(line)["check"] for line in programs.call(
            "conformance", "--list", "--output", "json").stdout.splitlines()]
        if missing := RULES - {name.split("/")[0] for name in listed}:
            raise harness.Failure(f"no check is about {missing}")
        sound = [name for name in listed if not name.startswith("kill/")]
        def suite(faults):
            """What the suite says over such a line, and how it ended."""
            answer = programs.call(
                "conformance", "--target", f"unix:{socket}", "--directory",
                os.path.join(directory, f"place-{faults}"), "--faults", faults,
                "--kill", f"kill -9 $(cat {pid})", "--output", "json")
            return answer.returncode, [json.loads(line) for line
                                       in answer.stdout.splitlines()]

        def judge(faults, expected, found):
            code, (*checks, total) = found
            for check in checks:
                if not check["kept"]:
                    print(f"{faults}: {check['check']}: {check['found']}",
                          flush=True)
            if [check["check"] for check in checks] != expected:
                raise harness.Failure(f"{faults}: not every check was run")
            if code != 0 or total != {"checks": len(expected), "broken": 0}:
                raise harness.Failure(f"{faults}: it ended with {code}: {total}")
            print(f"{faults}: {len(expected)} checks, all kept", flush=True)

        # Only these kill; the others may then go side by side.
        judge("none", listed, suite("none"))
        bad = ["lose", "cut", "repeat", "late"]
        with concurrent.futures.ThreadPoolExecutor(len(bad)) as pool:
            for faults, found in zip(bad, pool.map(suite, bad)):
                judge(faults, sound, found)
        stopped.set()
        keeper.join()
        worker = workers[-1]
        # Where nobody listens everything is broken, and says so.
        harness.kill(worker)
        answer = programs.call("conformance", "--target", f"unix:{socket}",
                               "--only", "2/", "--faults", "none", "--output",
                               "json")
        if answer.returncode != 7:
            raise harness.Failure(f"without a server: {answer.returncode}")

    return harness.main("conformance", test, arguments.bin)


if __name__ == "__main__":
    sys.exit(main())
