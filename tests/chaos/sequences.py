"""Records with a key and its own sequence from 0, and whether all arrived."""
import collections
import random

import harness

KEYS = 50


def make(path, records, seed, before=lambda key: ""):
    """Lines of JSON, each behind `before(key)`: {key: length}."""
    rng = random.Random(seed)
    lengths = collections.Counter()
    with open(path, "w", encoding="utf-8") as out:
        for _ in range(records):
            key = f"k{rng.randrange(KEYS)}"
            pad = "x" * rng.randrange(120)
            out.write(f'{before(key)}{{"key":"{key}","seq":{lengths[key]},'
                      f'"pad":"{pad}"}}\n')
            lengths[key] += 1
    return lengths


class Arrived:
    """What came: of each key in order, single, and in the end complete."""

    def __init__(self):
        self.found = collections.Counter()

    def add(self, value, place=""):
        """`place`: where it was found, for people."""
        key = value["key"]
        if value["seq"] != self.found[key]:
            raise harness.Failure(
                f"key {key} goes on with {value['seq']} behind "
                f"{self.found[key]} others{place}")
        self.found[key] += 1

    def check(self, lengths):
        if self.found != lengths:
            raise harness.Failure(
                f"{sum(self.found.values())} records arrived of "
                f"{sum(lengths.values())}")
