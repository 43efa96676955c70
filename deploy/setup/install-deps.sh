#!/usr/bin/env bash
# Installs what Penstock needs from Debian 12 packages; does nothing, and asks
# no server, when all of it is there.
#
#   install-deps.sh [build|test]
#
#   build   what ./run.sh needs: compiler, libraries, tools (default)
#   test    that and what ./test.sh needs besides: clang and its tools,
#           what tests start themselves: PostgreSQL, Prometheus, Chromium, and
#           what fetches (tests/kafka/fetch.sh) and runs a Kafka broker
#
# Runs as root, or through sudo.
set -euo pipefail

build_packages=(
  build-essential
  ccache
  cmake
  git
  libabsl-dev
  libbenchmark-dev
  libcli11-dev
  libcurl4-openssl-dev
  libgmock-dev
  libgrpc++-dev
  libgrpc-dev
  libgtest-dev
  libisal-dev
  libmsgpack-cxx-dev
  libpq-dev
  libprotobuf-dev
  libprotoc-dev
  librdkafka-dev
  libsimdjson-dev
  libsqlite3-dev
  libssl-dev
  libxxhash-dev
  libyaml-cpp-dev
  libzstd-dev
  lld
  ninja-build
  pkg-config
  prometheus-cpp-dev
  protobuf-compiler
  protobuf-compiler-grpc
  python3
  sqlite3
  zlib1g-dev
)
test_packages=(
  chromium
  clang-14
  clang-format-14
  clang-tidy-14
  clickhouse-client
  clickhouse-server
  curl
  iproute2
  iptables
  kcat
  libclang-rt-14-dev
  maven
  openjdk-17-jre-headless
  openssl
  postgresql
  prometheus
  pylint
  python3-grpcio
  python3-xxhash
  python3-yaml
)

wanted=("${build_packages[@]}")
case "${1:-build}" in
  build) ;;
  test) wanted+=("${test_packages[@]}") ;;
  *)
    echo "usage: $0 [build|test]" >&2
    exit 2
    ;;
esac

if ! command -v dpkg-query >/dev/null || ! command -v apt-get >/dev/null; then
  echo "set-up: this is not Debian: install by hand: ${wanted[*]}" >&2
  exit 1
fi

# dpkg-query fails for a package that it never heard of: that is one missing.
installed=$(dpkg-query -W -f '${db:Status-Status} ${Package}\n' \
  "${wanted[@]}" 2>/dev/null | sed -n 's/^installed //p' || true)
missing=()
for package in "${wanted[@]}"; do
  if ! grep -qxF -- "$package" <<<"$installed"; then
    missing+=("$package")
  fi
done

if [ "${#missing[@]}" -eq 0 ]; then
  echo "set-up: all ${#wanted[@]} packages are installed"
  exit 0
fi

as_root=()
if [ "$(id -u)" -ne 0 ]; then
  if ! command -v sudo >/dev/null; then
    echo "set-up: needs root or sudo to install: ${missing[*]}" >&2
    exit 1
  fi
  as_root=(sudo)
fi

apt_get() {
  "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get \
    -o DPkg::Lock::Timeout=300 -o Acquire::Retries=3 "$@" </dev/null
}

echo "set-up: installing ${#missing[@]} of ${#wanted[@]} packages:" \
  "${missing[*]}"
apt_get update -qq
apt_get install -y -qq --no-install-recommends "${missing[@]}" >/dev/null
echo "set-up: done"
