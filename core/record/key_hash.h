// The hash by which records are routed to shards.
#pragma once

#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

// FNV-1a, 64 bits. Decides which shard a key goes to, so it never changes: a
// replayed step must reach the shards that it reached first.
// Source: draft-eastlake-fnv-17, https://datatracker.ietf.org/doc/html/
// draft-eastlake-fnv-17; reference values in the tests.
constexpr uint64_t KeyHash(absl::string_view key) {
  uint64_t hash = 0xcbf29ce484222325;
  for (const char c : key) {
    hash ^= static_cast<unsigned char>(c);
    hash *= 0x00000100000001b3;
  }
  return hash;
}

}  // namespace penstock::core
