// What a connector shows of one shard.
// See core/connector/README.md.
#pragma once

#include "core/handoff/shard_snapshot.h"
#include "core/record/step.h"

#include <cstdint>

namespace penstock::core {

struct ShardStatus {
  Step progress = 0;
  uint64_t queued_chunks = 0;
  uint64_t held_bytes = 0;
  uint64_t parked_chunks = 0;
  // Of the queue: its bound, and how often it refused a chunk.
  uint64_t queue_chunks_max = 0;
  uint64_t queue_full_events = 0;
  ShardSnapshot worker;
};

}  // namespace penstock::core
