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
// The default: key hash modulo shards; keyless records by partition, spread by
// a multiplicative hash, so that a partition stays together.
struct KeyHashRouter {
  ShardIndex Route(const Record& record, uint32_t shards) const {
    const uint64_t hash =
        record.meta.has_key_hash
            ? record.meta.key_hash
            : uint64_t{record.meta.partition} * 0x9E3779B97F4A7C15u;
    return static_cast<ShardIndex>(hash % shards);
  }
};

// Always by partition.
struct PartitionRouter {
  ShardIndex Route(const Record& record, uint32_t shards) const {
    return static_cast<ShardIndex>(
        (uint64_t{record.meta.partition} * 0x9E3779B97F4A7C15u) % shards);
  }
};

// Names a router for MakeHandoff.
enum class RouteKind { kKeyHash, kPartition };

}  // namespace penstock::core
