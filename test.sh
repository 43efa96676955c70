#!/usr/bin/env bash
# Sets up, builds and tests everything. Needs no input; runs from anywhere.
#
#   ./test.sh                 optimised build, every test
#   ./test.sh --all           also with sanitizers and clang's lock analysis
#   ./test.sh --quick         optimised build; unit, contract and lint tests
#   ./test.sh --stages a,b    only these, of: tsan asan clang release
#
# Stages, cheapest to trust last: the closing lines are those of ctest over the
# optimised build. Every stage runs, even after one failed; any failure fails
# the whole. Logs: build/test-logs/<stage>.log.
set -uo pipefail
cd "$(dirname "$(readlink -f "$0")")" || exit 1
exec </dev/null

readonly logs=build/test-logs
stages=(release)
quick=0
failed=()

usage() {
  sed -n '2,/^$/s/^# \{0,1\}//p' "$0"
}

while [ $# -gt 0 ]; do
  case "$1" in
    --quick)
      quick=1
      stages=(release)
      ;;
    --all)
      stages=(tsan asan clang release)
      ;;
    --stages)
      IFS=, read -r -a stages <<<"${2:?--stages needs a list}"
      shift
      ;;
    -h | --help)
      usage
      exit 0
      ;;
    *)
      usage >&2
      exit 2
      ;;
  esac
  shift
done

say() {
  printf '== %s\n' "$*"
}

# Configures and builds <preset>, in the log of <stage>.
build() {
  local stage=$1 preset=$2
  shift 2
  if ! { cmake --preset "$preset" && cmake --build --preset "$preset" "$@"; } \
    >>"$logs/$stage.log" 2>&1; then
    tail -n 80 "$logs/$stage.log"
    return 1
  fi
}

# Sanitizer stages: only the outcome is shown unless a test fails.
run_tests() {
  local stage=$1 preset=$2
  shift 2
  if ! ctest --preset "$preset" "$@" >>"$logs/$stage.log" 2>&1; then
    tail -n 120 "$logs/$stage.log"
    return 1
  fi
  grep -E 'tests passed' "$logs/$stage.log" | tail -n 1
}

stage_tsan() {
  build tsan ci-tsan && run_tests tsan ci-tsan
}

stage_asan() {
  build asan ci-asan && run_tests asan ci-asan
}

# Each file without precompiled headers, each header alone, lock annotations.
stage_clang() {
  build clang clang -- -k 0
}

stage_release() {
  build release ci-release || return 1
  if [ "$quick" -eq 1 ]; then
    ctest --preset ci-release --label-regex '^(unit|contract|lint)$'
  else
    ctest --preset ci-release
  fi
}

# The server is in the set for tests: from then on a test of it that finds none
# fails, rather than to be skipped.
set_up() {
  local set=test
  if [ "$quick" -eq 1 ]; then
    set=build
  else
    export PENSTOCK_REQUIRE_POSTGRES=1
  fi
  deploy/setup/install-deps.sh "$set" || return 1
  fetch_kafka
}

# A broker is had from a registry that not every machine reaches: where it can
# be had a test of it that finds none fails, elsewhere it is skipped.
fetch_kafka() {
  if [ "$quick" -eq 1 ]; then
    return 0
  fi
  export PENSTOCK_KAFKA=$PWD/build/kafka
  if tests/kafka/fetch.sh "$PENSTOCK_KAFKA"; then
    export PENSTOCK_REQUIRE_KAFKA=1
  else
    say "tests that need a Kafka broker are skipped"
  fi
}

run_stage() {
  local stage=$1 started=$SECONDS outcome=passed
  : >"$logs/$stage.log"
  say "$stage: started"
  if ! "stage_$stage"; then
    outcome=FAILED
    failed+=("$stage")
  fi
  summary+=("$(printf '%-8s %s in %d s' "$stage" "$outcome" \
    $((SECONDS - started)))")
}

mkdir -p "$logs"
set_up || exit 1
summary=()
for stage in "${stages[@]}"; do
  if [ "$stage" = release ]; then
    continue
  fi
  run_stage "$stage"
  say "${summary[-1]}"
done
for stage in "${stages[@]}"; do
  if [ "$stage" = release ]; then
    # ctest's own summary stays the last thing that is printed.
    run_stage release
  fi
done
if [ "${#failed[@]}" -gt 0 ]; then
  printf '== FAILED: %s\n' "${failed[*]}" >&2
  exit 1
fi
