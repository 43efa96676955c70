#!/usr/bin/env python3
"""Writes log records as NDJSON: about 270 bytes each, from a seed.

  make_corpus.py OUTDIR [BYTES [SEED]]    writes OUTDIR/data.ndjson

One record in 16 has a message with escaped quotes, one in 32 has UTF-8 beyond
ASCII, one in 64 has no user. The same numbers give the same file.
"""
import os
import random
import sys
import time

LEVELS = ("INFO",) * 7 + ("WARN",) * 2 + ("ERROR",)
STATUS = {"INFO": 200, "WARN": 429, "ERROR": 500}
SERVICES = ("api-gateway", "billing", "auth", "search", "inventory", "notify",
            "edge-cache", "ledger")
METHODS = ("GET", "GET", "GET", "POST", "PUT", "DELETE")
MESSAGES = ("request completed", "cache miss for key", "user session refreshed",
            "upstream timed out, retrying", "payment captured",
            "connection reset by peer", "slow query detected",
            "rate limit applied")
QUOTED = (r'said \"hello\", then left', r'bad field \"qty\", expected int')
UNICODE = ("gel\u00f6scht \u2013 d\u00e9j\u00e0 vu", "\u043e\u0448\u0438\u0431\u043a\u0430")
TAGS = ("eu", "us", "prod", "canary", "beta", "mobile", "web", "batch")
START_MS = 1_700_000_000_000
RECORDS_A_WRITE = 5_000


def timestamp(ms):
    seconds, rest = divmod(ms, 1000)
    text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(seconds))
    return f"{text}.{rest:03d}Z"


def message(kind, drawn):
    if kind < 2:
        return QUOTED[kind]
    if kind == 2:
        return UNICODE[drawn & 1]
    return MESSAGES[drawn & 7]


def record(number, ms, rng):
    drawn = rng.getrandbits(64)
    level = LEVELS[drawn % 10]
    status = STATUS[level]
    user = f'"u{drawn >> 4 & 0xffffffff:08x}"' if drawn >> 58 else "null"
    return (
        f'{{"id":{number},"ts":"{timestamp(ms)}","level":"{level}",'
        f'"service":"{SERVICES[drawn >> 36 & 7]}",'
        f'"method":"{METHODS[(drawn >> 39) % 6]}","status":{status},'
        f'"latency_ms":{rng.random() * 250:.3f},"bytes":{drawn & 0xfffff},'
        f'"user":{user},"ok":{"true" if status == 200 else "false"},'
        f'"message":"{message(drawn >> 44 & 31, drawn >> 49)}",'
        f'"geo":{{"lat":{rng.random() * 180 - 90:.5f},'
        f'"lon":{rng.random() * 360 - 180:.5f}}},'
        f'"tags":["{TAGS[drawn >> 52 & 7]}","{TAGS[drawn >> 55 & 7]}"]}}\n')


def write_corpus(path, size_min, seed):
    """Makes `path` whole, or leaves it as it was."""
    rng = random.Random(seed)
    number, written = 0, 0
    ms = START_MS
    unfinished = path + ".part"
    with open(unfinished, "wb") as out:
        while written < size_min:
            lines = []
            for _ in range(RECORDS_A_WRITE):
                number += 1
                ms += rng.getrandbits(2)
                lines.append(record(number, ms, rng))
            data = "".join(lines).encode()
            written += out.write(data)
    os.replace(unfinished, path)
    return number


def main(arguments):
    if not 1 <= len(arguments) <= 3:
        print(__doc__, file=sys.stderr)
        return 2
    size_min = int(arguments[1]) if len(arguments) > 1 else 1 << 30
    seed = int(arguments[2]) if len(arguments) > 2 else 42
    os.makedirs(arguments[0], exist_ok=True)
    write_corpus(os.path.join(arguments[0], "data.ndjson"), size_min, seed)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
