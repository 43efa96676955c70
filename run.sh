#!/usr/bin/env bash
# Sets up, builds and shows Penstock at work. Safe to run again.
#
#   ./run.sh            everything
#   ./run.sh --build    only set up and build
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

readonly preset=release
readonly bin="$PWD/build/$preset/bin"

set_up() {
  deploy/setup/install-deps.sh build
}

# Shows ninja's progress on a terminal; elsewhere only what went wrong.
build() {
  local log="build/$preset.log"
  mkdir -p build
  echo "build: preset $preset (the first time takes minutes)"
  if ! cmake --preset "$preset" -D PENSTOCK_TESTS=OFF >"$log" 2>&1; then
    tail -n 60 "$log" >&2
    echo "build: cannot configure, see $log" >&2
    exit 1
  fi
  if [ -t 1 ]; then
    cmake --build --preset "$preset" </dev/null || exit 1
  elif ! cmake --build --preset "$preset" >>"$log" 2>&1 </dev/null; then
    tail -n 60 "$log" >&2
    echo "build: failed, see $log" >&2
    exit 1
  fi
  echo "build: programs are in $bin"
}

# Drives a worker through kills and proves that nothing was lost or doubled.
demo() {
  echo "demo: not written yet" >&2
  return 1
}

main() {
  set_up
  build
  if [ "${1:-}" = --build ]; then
    return
  fi
  demo
}

main "$@"
