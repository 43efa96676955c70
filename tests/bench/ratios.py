#!/usr/bin/env python3
"""Every rate that is held to another, measured in one go.

  ratios.py [--build build/release] [--mib 1024] [--repetitions 5]

One thread over a corpus of so many MiB in memory (medians of processor time),
then whole processes over a file as large (whole_process.py, whose rounds
alternate). Prints measured, other, ratio and what is wanted of it. A busy
machine says little: see tests/bench/README.md.
"""
import argparse
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.realpath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))

# What, the benchmark, whom it is held to (the fastest counts), wanted.
HELD = {
    "format_bench": [
        ("NDJSON validated / simdjson DOM", "BM_NdjsonParse",
         ["BM_Simdjson_Dom"], 0.9),
        ("NDJSON to typed rows / simdjson on demand, every field",
         "BM_NdjsonParse_Rows/all", ["BM_Simdjson_OnDemandAllFields"], 0.6)],
    "csv_bench": [
        ("CSV to typed rows / plain reader, from_chars", "BM_CsvParse_Rows",
         ["BM_PlainCsv_RowsByCopying", "BM_PlainCsv_RowsByViews"], 1.3)],
    "compress_bench": [
        ("gzip decoded / isa-l by itself", "BM_GzipDecode",
         ["BM_GzipLibrary"], 0.95)],
}
# Wanted of whole processes, by the names of whole_process.py.
WHOLE = {"ndjson/reference": 0.5, "raw/cp": 0.6}


def rates(program, names, options):
    """MB of processor time a second by benchmark: the median."""
    wanted = "|".join(f"^{name}$" for name in names)
    out = subprocess.run(
        [program, f"--benchmark_filter={wanted}", "--benchmark_format=json",
         f"--benchmark_repetitions={options.repetitions}",
         "--benchmark_enable_random_interleaving=true"],
        check=True, stdout=subprocess.PIPE,
        env={**os.environ, "PENSTOCK_BENCH_CORPUS_MIB": str(options.mib)})
    found = {}
    for run in json.loads(out.stdout)["benchmarks"]:
        if run["run_type"] == "iteration":
            rate = run["bytes_per_second"] / 1e6
            found.setdefault(run["run_name"], []).append(rate)
    missing = set(names) - set(found)
    if missing:
        sys.exit(f"{program} has no {', '.join(sorted(missing))}")
    return {name: statistics.median(all_of) for name, all_of in found.items()}


def show(what, measured, other, ratio, wanted):
    print(f"{what:60} {measured:6.0f} {other:6.0f} MB/s {ratio:5.2f}, wanted "
          f"{wanted}{'' if ratio >= wanted else '  MISSED'}", flush=True)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--build", default=os.path.join(ROOT, "build/release"))
    parser.add_argument("--mib", type=int, default=1024)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--directory", default=os.path.join(ROOT, "build/bench"),
                        help="for files; on a real disk")
    options = parser.parse_args()
    os.makedirs(options.directory, exist_ok=True)
    bench = os.path.join(options.build, "tests/bench")
    print(f"load {os.getloadavg()[0]:.1f} at the beginning")
    for program, held in HELD.items():
        names = [name for _, one, others, _ in held for name in [one, *others]]
        found = rates(os.path.join(bench, program), names, options)
        for what, one, others, wanted in held:
            other = max(found[name] for name in others)
            show(what, found[one], other, found[one] / other, wanted)
    figures = os.path.join(options.directory, "ratios.json")
    subprocess.run(
        [sys.executable, os.path.join(HERE, "whole_process.py"), "--bin",
         os.path.join(options.build, "bin"), "--reference",
         os.path.join(bench, "ondemand_reference"), "--bytes",
         str(options.mib << 20), "--rounds", str(options.repetitions),
         "--directory", options.directory, "--json", figures],
        check=True, stdout=subprocess.DEVNULL)
    with open(figures, encoding="utf-8") as text:
        summary = json.load(text)["summary"]
    for name, wanted in WHOLE.items():
        one, other = (summary[part]["mb_s"]["median"]
                      for part in name.split("/"))
        show(f"whole processes, {name}", one, other, summary[name]["median"],
             wanted)


if __name__ == "__main__":
    main()
