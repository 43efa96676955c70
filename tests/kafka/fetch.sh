#!/usr/bin/env bash
# Fetches what tests/kafka/broker.py runs: the jars of an Apache Kafka broker
# and its tools, by Maven, and formats an empty storage that each broker begins
# with. Does nothing, and asks no registry, once all of it is there.
#
#   fetch.sh [DIRECTORY]      default: build/kafka
#
# Exit code 3: it cannot be had here; the last line says why. Tests that need a
# broker are then skipped.
set -uo pipefail
here=$(dirname "$(readlink -f "$0")")
readonly here
target=${1:-$here/../../build/kafka}
# Two clients at once, and never a hang: seconds for all that is fetched.
readonly seconds_max=300

missing() {
  echo "kafka: no broker for tests: $*"
  exit 3
}

version=$(sed -n 's:.*<kafka.version>\(.*\)</kafka.version>.*:\1:p' \
  "$here/pom.xml")
if [ -e "$target/complete-$version" ]; then
  echo "kafka: version $version is in $target"
  exit 0
fi
java=${PENSTOCK_JAVA:-java}
command -v "$java" >/dev/null || missing "java is not installed"
java_version=$("$java" -version 2>&1 | sed -n 's/.*version "\([0-9]*\).*/\1/p')
[ "${java_version:-0}" -ge 17 ] || missing "java is older than 17"
command -v mvn >/dev/null || missing "Maven (mvn) is not installed"

rm -rf "$target"
mkdir -p "$target" || missing "$target cannot be made"
log=$target/fetch.log
timeout "$seconds_max" mvn -q -B -f "$here/pom.xml" \
  dependency:copy-dependencies -DincludeScope=runtime \
  "-DoutputDirectory=$(readlink -f "$target")/jars" >"$log" 2>&1 </dev/null ||
  missing "Maven did not fetch it, see $log"
timeout 120 python3 "$here/broker.py" format --home "$target" \
  >>"$log" 2>&1 </dev/null ||
  missing "its storage could not be formatted, see $log"
touch "$target/complete-$version"
echo "kafka: fetched version $version into $target"
