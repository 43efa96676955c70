#!/usr/bin/env python3
"""Installs a build into a directory of its own, builds a project from it with
find_package(Penstock), and lets that talk to the installed worker. The installed
units are shown to systemd-analyze where there is one.

    package.py --build DIR [--cxx COMPILER]
"""

import argparse
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
CONSUMER = """\
cmake_minimum_required(VERSION 3.25)
project(penstock_consumer LANGUAGES CXX)
find_package(Penstock REQUIRED)
add_executable(penstock_consumer consumer.cc)
target_compile_features(penstock_consumer PRIVATE cxx_std_20)
target_link_libraries(penstock_consumer PRIVATE Penstock::client)
"""
PIPELINE = """\
name: consumed
connectors:
  - name: lines
    source: {file: {path: in}}
    format: {raw: {}}
    sink: {"null": {}}
"""


def run(*command, **more):
    done = subprocess.run(
        [str(part) for part in command],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
        **more,
    )
    if done.returncode != 0:
        print(done.stdout)
        sys.exit(f"FAILED ({done.returncode}): {' '.join(map(str, command))}")
    return done.stdout


def version(root):
    text = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    return re.search(r"^project\(\w+ VERSION ([\d.]+)", text, re.M).group(1)


def check_programs(prefix, expected):
    for program in ("penstock", "penstock-worker"):
        said = run(prefix / "bin" / program, "--version").strip()
        if said != expected:
            sys.exit(f"FAILED: {program} says {said}, not {expected}")
    print(f"programs: {expected}")


def check_exit_codes(units):
    """A controller that was superseded comes again, to stand by."""
    (controller,) = (unit for unit in units if "controller" in unit.name)
    kept_down = re.search(r"^RestartPreventExitStatus=(.*)$",
                          controller.read_text(encoding="utf-8"), re.MULTILINE)
    if kept_down is None or kept_down.group(1).split() != ["2", "3", "6", "9"]:
        sys.exit(f"FAILED: {controller}: 2, 3, 6 and 9 are final, nothing else")


def check_units(prefix):
    units = sorted((prefix / "lib/systemd/system").glob("*.service"))
    if len(units) != 2:
        sys.exit(f"FAILED: units {units}")
    for unit in units:
        if str(prefix / "bin/penstock") not in unit.read_text(encoding="utf-8"):
            sys.exit(f"FAILED: {unit} does not name the installed program")
    check_exit_codes(units)
    if shutil.which("systemd-analyze") is None:
        print("units: SKIPPED, no systemd-analyze here")
        return
    # An instance of the template; the manual pages need not be here.
    named = [
        unit.with_name(unit.name.replace("@.", "@shop.")) for unit in units
    ]
    for unit, name in zip(units, named):
        if unit != name:
            shutil.copy(unit, name)
    said = run("systemd-analyze", "verify", "--man=no", *named)
    # It tells of units of the machine, too.
    ours = [line for line in said.splitlines() if "penstock" in line]
    if ours:
        sys.exit("FAILED: " + "\n".join(ours))
    print("units: verified")


def check_consumer(prefix, scratch, cxx):
    source = scratch / "consumer"
    build = scratch / "consumer-build"
    source.mkdir()
    shutil.copy(HERE / "consumer.cc", source)
    (source / "CMakeLists.txt").write_text(CONSUMER, encoding="utf-8")
    run(
        "cmake", "-S", source, "-B", build, "-G", "Ninja",
        f"-DCMAKE_PREFIX_PATH={prefix}", f"-DCMAKE_CXX_COMPILER={cxx}",
    )
    run("cmake", "--build", build)
    pipeline = scratch / "consumed.yaml"
    pipeline.write_text(PIPELINE, encoding="utf-8")
    socket = scratch / "w.sock"
    worker = subprocess.Popen(
        [
            prefix / "bin/penstock-worker", "--state-dir", scratch / "state",
            "--listen", f"unix:{socket}", "--admin-listen", "",
            "--log-level", "error",
        ]
    )
    try:
        deadline = time.monotonic() + 60
        while not socket.exists():
            if worker.poll() is not None or time.monotonic() > deadline:
                sys.exit("FAILED: the installed worker does not listen")
            time.sleep(0.05)
        said = run(build / "penstock_consumer", f"unix:{socket}", pipeline)
    finally:
        worker.terminate()
        worker.wait()
    if "pipeline consumed, types " not in said:
        sys.exit(f"FAILED: the consumer says {said}")
    print(f"consumer: {said.strip()}")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=pathlib.Path, required=True)
    parser.add_argument("--cxx", default="c++")
    options = parser.parse_args()
    root = HERE.parents[1]
    with tempfile.TemporaryDirectory(prefix="penstock-") as scratch:
        scratch = pathlib.Path(scratch)
        prefix = scratch / "prefix"
        run("cmake", "--install", options.build, "--prefix", prefix)
        expected = version(root)
        check_programs(prefix, expected)
        check_units(prefix)
        check_consumer(prefix, scratch, options.cxx)
    print("PASSED")


if __name__ == "__main__":
    main()
