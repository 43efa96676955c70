// Made-up log records for benchmarks: about 270 bytes of JSON each, always the
// same for the same seed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::core {

// How large benchmarks make theirs: PENSTOCK_BENCH_CORPUS_MIB, or 64 MiB.
size_t CorpusBytes();

// Whole lines of NDJSON, at least `bytes_min` bytes. Fourteen members, one
// nested object, one array; one line in 16 has escaped quotes, one in 32
// characters beyond ASCII, one in 64 a null user.
std::string MakeNdjsonCorpus(size_t bytes_min, uint64_t seed);

// Whole records of CSV, at least `bytes_min` bytes: the same log records
// without what is nested. id, ts, level, service, method, status, latency_ms,
// bytes, user, ok, message: about 100 bytes; one message in five is in quotes.
std::string MakeCsvCorpus(size_t bytes_min, uint64_t seed);

}  // namespace penstock::core
