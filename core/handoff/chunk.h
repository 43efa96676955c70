// A sealed frame on its way to a shard.
#pragma once

#include <cstdint>
#include <variant>
#include <vector>

#include "absl/time/time.h"
#include "core/contract/frame_buffer.h"
#include "core/handoff/ack.h"
#include "core/handoff/budget.h"
#include "core/record/step.h"

namespace penstock::core {

// Where row i of a chunk begins and came from. 16 bytes, in the lease.
struct RowPosition {
  uint32_t frame_offset = 0;
  uint32_t partition = 0;
  int64_t source_offset = 0;
};

// Seed type: `EncodedChunk`. Frames are concatenable. Dropping a chunk fails
// its acks and returns its lease: both are members (design §9). Move-only.
struct EncodedChunk {
  FrameBuffer frame;
  uint32_t rows = 0;
  AckSet acks;
  BudgetLease lease;
  // The (last) step it belongs to; in exactly-once the only one.
  Step step = 0;
  // Number of this chunk within (step, shard), 0-based: part of the batch id.
  uint32_t index = 0;
  // Steady time at which its first record was accepted.
  absl::Time oldest_ingest;
  int64_t oldest_event_ms = INT64_MAX;
  // Only where the sink must tell bad rows apart.
  std::vector<RowPosition> row_positions;
};

// Ours: in exactly-once, nothing of `step` follows for this shard. Its acks
// are one share of the step.
struct StepEnd {
  Step step = 0;
  AckSet acks;
};

using ShardItem = std::variant<EncodedChunk, StepEnd>;

}  // namespace penstock::core
