#!/usr/bin/env python3
"""Writes a file of made-up orders, one JSON object a line.

  make_records.py orders.ndjson --records 1000000

The same numbers give the same file.
"""
import argparse
import os
import random
import sys

ITEMS = ("valve", "gate", "pipe", "turbine blade", "gasket", "pump")


def write_records(path, count, seed=1):
    """Makes `path` whole, or leaves it as it was."""
    bits = random.Random(seed).getrandbits
    unfinished = path + ".part"
    with open(unfinished, "w", encoding="utf-8", buffering=1 << 20) as out:
        for number in range(count):
            drawn = bits(40)
            out.write(
                f'{{"id":{number},"user":{{"id":"u{drawn & 0xffff}"}},'
                f'"item":"{ITEMS[(drawn >> 16) % 6]}",'
                f'"count":{(drawn >> 19 & 15) + 1},'
                f'"cents":{(drawn >> 23 & 0xffff) + 1},'
                f'"note":"order {drawn:010x}, made up"}}\n')
    os.replace(unfinished, path)


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("path")
    parser.add_argument("--records", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    write_records(arguments.path, arguments.records, arguments.seed)
    return 0


if __name__ == "__main__":
    sys.exit(main())
