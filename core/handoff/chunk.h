// A sealed frame on its way to a shard.
// See core/handoff/README.md; upholds INV-6 and INV-9.
#pragma once

#include "core/handoff/ack.h"
#include "core/handoff/budget.h"
#include "core/handoff/frame_pool.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace penstock::core {

// Where row i of a chunk begins and came from. 16 bytes, in the lease.
struct RowPosition {
  uint32_t frame_offset = 0;
  uint32_t partition = 0;
  int64_t source_offset = 0;
  friend bool operator==(const RowPosition&, const RowPosition&) = default;
};
static_assert(sizeof(RowPosition) == 16);

// A record that the encoder refused, or the parser, on its way to the dead
// letters.
struct RefusedRecord {
  uint32_t partition = 0;
  int64_t offset = 0;
  absl::Status error;
  // Its raw bytes; of one that could not be parsed, the first of them.
  std::string value;
};

// Seed type: `EncodedChunk`. Frames are concatenable. Dropping a chunk fails
// its acks and returns its lease and its memory: all are members (design §9).
// Move-only.
struct EncodedChunk {
  SealedFrame frame;
  uint32_t rows = 0;
  AckSet acks;
  BudgetLease lease;
  // The (last) step it belongs to; in exactly-once the only one.
  Step step = 0;
  // Number of this chunk within (step, shard), 0-based: part of the batch id.
  // Below exactly-once 0.
  uint32_t index = 0;
  // Steady time at which the batch of its first record was accepted.
  absl::Time oldest_ingest;
  // The least event time of its records; INT64_MAX if none had any.
  int64_t oldest_event_ms = INT64_MAX;
  // Only where the sink must tell bad rows apart; then one per row.
  std::vector<RowPosition> row_positions;
  // Only where there is an output for them. A chunk may have nothing else.
  std::vector<RefusedRecord> refused;
};

// Ours: in exactly-once, nothing of `step` follows for this shard. Its acks
// are one share of the step.
struct StepEnd {
  Step step = 0;
  AckSet acks;
};

using ShardItem = std::variant<EncodedChunk, StepEnd>;

}  // namespace penstock::core
