// Which shard a record goes to.
// See core/handoff/README.md; upholds INV-2 and INV-4.
#pragma once

#include "core/record/record.h"
#include "core/record/step.h"

#include <cstdint>

namespace penstock::core {

// Seed type: `ShardRouter` (`route`); record-aware. A router is pure, total and
// the same after a restart: duplicates must meet in one shard, and a replayed
// step must reach the shards that it reached first. So none of these formulas
// ever changes. `Route` requires shards > 0; its result is below `shards` (the
// handoff is poisoned by one that is not).
//
// hash % shards. Most often shards are a power of two, and a division takes
// longer than everything else that is done to route a record.
inline ShardIndex ShardOfHash(uint64_t hash, uint32_t shards) {
  const uint64_t mask = shards - 1;
  if ((shards & mask) == 0) return static_cast<ShardIndex>(hash & mask);
  return static_cast<ShardIndex>(hash % shards);
}

// Spreads partitions, whose numbers are small.
inline uint64_t PartitionHash(uint32_t partition) {
  return partition * uint64_t{0x9E3779B97F4A7C15};
}

// The default: key hash modulo shards; keyless records by partition, spread by
// a multiplicative hash, so that a partition stays together.
struct KeyHashRouter {
  ShardIndex Route(const Record& record, uint32_t shards) const {
    return ShardOfHash(record.meta.has_key_hash
                           ? record.meta.key_hash
                           : PartitionHash(record.meta.partition),
                       shards);
  }
};

// Always by partition.
struct PartitionRouter {
  ShardIndex Route(const Record& record, uint32_t shards) const {
    return ShardOfHash(PartitionHash(record.meta.partition), shards);
  }
};

// Names a router for MakeHandoff.
enum class RouteKind { kKeyHash, kPartition };

}  // namespace penstock::core
