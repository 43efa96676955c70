#!/bin/sh
# Runs each fuzzer so many times, one after the other, from the seeds and the
# inputs of the field cases; ends with the first that finds something.
#   run_all.sh FUZZERS RUNS FOUND [FUZZER...]
set -eu
fuzzers=$1 runs=$2 found=$3
shift 3
here=$(cd "$(dirname "$0")" && pwd)
# shellcheck disable=SC2046  # names of formats are words
[ $# -gt 0 ] || set -- $(ls "$here/seeds")
for format in "$@"; do
  corpus=$found/$format
  mkdir -p "$corpus"
  cp -n "$here"/../core/format/cases/*/*.csv \
    "$here"/../core/format/cases/*/*.ndjson "$corpus" 2>/dev/null || true
  "$fuzzers/${format}_fuzzer" -runs="$runs" -max_len=4096 -timeout=60 \
    -artifact_prefix="$found/$format-" "$corpus" "$here/seeds/$format" \
    >"$found/$format.log" 2>&1 || { tail -n 40 "$found/$format.log"; exit 1; }
  grep '^Done' "$found/$format.log" | sed "s/^/$format: /"
done
