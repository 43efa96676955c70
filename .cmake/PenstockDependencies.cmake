# Every outside library, found once. Name these in DEPS:
#
#   absl::status absl::statusor absl::strings absl::str_format absl::time
#   absl::flat_hash_map absl::flat_hash_set absl::inlined_vector absl::hash
#   absl::any_invocable absl::cord absl::cleanup absl::int128
#   absl::synchronization absl::memory absl::span ...     (each absl library)
#   Threads::Threads
#   penstock::msgpack          header-only msgpack-cxx, without Boost
#   penstock::xxhash           XXH3
#   simdjson::simdjson
#   ZLIB::ZLIB
#   OpenSSL::Crypto
#   penstock::isal
#   penstock::zstd
#   penstock::libpq            the client library of PostgreSQL
#   penstock::rdkafka          a client library of Kafka
#   CURL::libcurl              a client library of HTTP
#
# and, unless PENSTOCK_CORE_ONLY:
#
#   protobuf::libprotobuf
#   gRPC::grpc++ gRPC::grpc++_reflection
#   prometheus-cpp::core       metrics and their text form
#   SQLite::SQLite3
#   yaml-cpp                   (penstock::yaml is the same)
#   CLI11::CLI11
#
# and for tests:
#
#   GTest::gtest GTest::gmock GTest::gtest_main           (linked by penstock_test)
#   benchmark::benchmark benchmark::benchmark_main        (linked by penstock_bench)

find_package(Threads REQUIRED)
find_package(PkgConfig REQUIRED)
find_package(absl CONFIG REQUIRED)
find_package(simdjson CONFIG REQUIRED)
find_package(ZLIB REQUIRED)
find_package(OpenSSL REQUIRED)
find_package(CURL REQUIRED)

# xxHash has no CMake package; Debian's zstd package file names a static
# library that its own -dev package may not hold.
pkg_check_modules(PENSTOCK_XXHASH REQUIRED IMPORTED_TARGET GLOBAL libxxhash)
add_library(penstock::xxhash ALIAS PkgConfig::PENSTOCK_XXHASH)
pkg_check_modules(PENSTOCK_ISAL REQUIRED IMPORTED_TARGET GLOBAL libisal)
add_library(penstock::isal ALIAS PkgConfig::PENSTOCK_ISAL)
pkg_check_modules(PENSTOCK_ZSTD REQUIRED IMPORTED_TARGET GLOBAL libzstd)
add_library(penstock::zstd ALIAS PkgConfig::PENSTOCK_ZSTD)
pkg_check_modules(PENSTOCK_LIBPQ REQUIRED IMPORTED_TARGET GLOBAL libpq)
add_library(penstock::libpq ALIAS PkgConfig::PENSTOCK_LIBPQ)
pkg_check_modules(PENSTOCK_RDKAFKA REQUIRED IMPORTED_TARGET GLOBAL rdkafka)
add_library(penstock::rdkafka ALIAS PkgConfig::PENSTOCK_RDKAFKA)

# The package msgpackc-cxx pulls in Boost; the headers alone do not need it.
find_path(PENSTOCK_MSGPACK_INCLUDE_DIR msgpack.hpp REQUIRED)
mark_as_advanced(PENSTOCK_MSGPACK_INCLUDE_DIR)
add_library(penstock_msgpack INTERFACE)
add_library(penstock::msgpack ALIAS penstock_msgpack)
target_compile_definitions(penstock_msgpack INTERFACE MSGPACK_NO_BOOST)
target_include_directories(penstock_msgpack SYSTEM
                           INTERFACE "${PENSTOCK_MSGPACK_INCLUDE_DIR}")

if(NOT PENSTOCK_CORE_ONLY)
  find_package(Protobuf REQUIRED)
  find_package(gRPC CONFIG REQUIRED)
  find_package(prometheus-cpp CONFIG REQUIRED)
  find_package(SQLite3 REQUIRED)
  find_package(yaml-cpp CONFIG REQUIRED)
  find_package(CLI11 CONFIG REQUIRED)
  add_library(penstock_yaml INTERFACE)
  add_library(penstock::yaml ALIAS penstock_yaml)
  target_link_libraries(penstock_yaml INTERFACE yaml-cpp)
endif()

if(PENSTOCK_TESTS)
  find_package(GTest CONFIG REQUIRED)
  find_package(benchmark CONFIG REQUIRED)
endif()
