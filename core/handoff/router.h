// Which shard a record goes to.
#pragma once

#include <cstdint>

#include "core/record/record.h"
#include "core/record/step.h"

namespace penstock::core {

// Seed type: `ShardRouter` (`route`); record-aware. A router is pure, total and
// the same after a restart: duplicates must meet in one shard.
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

}  // namespace penstock::core
