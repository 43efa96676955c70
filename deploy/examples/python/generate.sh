#!/usr/bin/env bash
# Makes Python of the protocol: generate.sh OUT, then PYTHONPATH=OUT.
# Debian: protobuf-compiler protobuf-compiler-grpc python3-grpcio python3-xxhash
set -euo pipefail
out=${1:?usage: generate.sh OUT}
root=$(cd "$(dirname "$0")/../../.." && pwd)
mkdir -p "$out"
protoc -I "$root" --python_out="$out" --grpc_out="$out" \
  --plugin=protoc-gen-grpc="$(command -v grpc_python_plugin)" \
  "$root"/proto/penstock/v1/*.proto
