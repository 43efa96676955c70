#!/usr/bin/env bash
# Sets up, builds and shows Penstock at work. Safe to run again.
#
#   ./run.sh                everything
#   ./run.sh --records N    with N records (1,000,000)
#   ./run.sh --build        only set up and build
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")"

readonly preset=release
readonly bin="$PWD/build/$preset/bin"

set_up() {
  deploy/setup/install-deps.sh build
}

# Of ninja's lines "[ 37%] ...": one for each tenth.
tell_tenths() {
  awk '/^\[ *[0-9]+%/ {
    tenth = int(substr($0, 2) / 10)
    if (tenth > told) { told = tenth; print "build: " told * 10 "%"; fflush() }
  }'
}

# Ninja's own line on a terminal; elsewhere a line each tenth of the way.
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
    cmake --build --preset "$preset" --target penstock penstock-worker \
      </dev/null || exit 1
  elif ! NINJA_STATUS='[%p] ' cmake --build --preset "$preset" \
    --target penstock penstock-worker </dev/null 2>&1 | tee -a "$log" |
    tell_tenths; then
    tail -n 60 "$log" >&2
    echo "build: failed, see $log" >&2
    exit 1
  fi
  echo "build: programs are in $bin"
}

# Drives a worker through kills and proves that nothing was lost or doubled.
demo() {
  deploy/demo.py --bin "$bin" --dir "$PWD/build/demo" "$@"
}

main() {
  case "${1:-}" in
    '' | --build | --records) ;;
    *)
      sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
      [ "$1" = --help ] || [ "$1" = -h ]
      return
      ;;
  esac
  set_up
  build
  if [ "${1:-}" = --build ]; then
    return
  fi
  demo "$@"
}

main "$@"
