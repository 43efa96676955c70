// The terminal stage: route, encode, seal, hand to shard queues.
// See core/handoff/README.md; upholds INV-4, INV-5, INV-8, INV-9, INV-12.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

#include "absl/status/status.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/contract/ft_model.h"
#include "core/contract/row_encoder.h"
#include "core/handoff/ack.h"
#include "core/handoff/budget.h"
#include "core/handoff/chunk.h"
#include "core/handoff/router.h"
#include "core/handoff/shard_queues.h"
#include "core/record/record_batch.h"

namespace penstock::core {

enum class EncodePolicy { kSkip, kFail };

// Seed type: `ChunkConfig`.
struct ChunkConfig {
  // A chunk is sealed when its frame reaches this size. > 0.
  size_t target_bytes = size_t{256} << 10;
  EncodePolicy encode_policy = EncodePolicy::kSkip;
  std::optional<FtModel> level;
  // Below exactly-once a chunk leaves at this age.
  absl::Duration age_max = absl::Milliseconds(200);
};

// Seed type: `Flow`, with our third answer (design §9).
enum class Flow { kContinue, kBlocked, kFatal };

// Exact; `in == out + skipped + discarded` (INV-8).
struct HandoffCounters {
  uint64_t records_in = 0;
  uint64_t records_out = 0;
  uint64_t records_skipped = 0;
  // Pushed after the stage was poisoned.
  uint64_t records_discarded = 0;
  uint64_t bytes_out = 0;
  uint64_t chunks_sealed = 0;
};

// What the driver sees of a handoff, whatever its encoder and router.
//
// Owner:     the connector's driver. Threads: confined to it.
// Lifecycle: BeginStep, Push…, EndStep, BeginStep…; a fatal poisons it for
//            good. Dropping it fails the acks of what was not sent.
// Bound:     parked chunks are within the step's reservation.
class Handoff {
 public:
  virtual ~Handoff() = default;

  // What follows belongs to `handle`'s step; chunks take their leases out of
  // `reservation`. Requires: no step is open.
  virtual void BeginStep(StepHandle handle, BudgetLease reservation) = 0;
  // Encodes all records of the batch. Never blocks, never rejects; what finds
  // no room is parked.
  virtual void PushBatch(const RecordBatch& batch) = 0;
  // Exactly-once: seals every shard, then queues or parks a StepEnd for each,
  // also for shards without rows; below it, only resolves the handle once the
  // step's records are encoded. What is left of the reservation returns.
  // kFatal: the handle failed. Otherwise the handle is resolved.
  virtual Flow EndStep() = 0;
  // Sends what is parked, shard by shard.
  virtual Flow Relieve() = 0;
  // Seals all shards however small, then Relieve.
  virtual Flow FlushTerminal() = 0;
  // Below exactly-once: seals chunks older than the maximum age; returns when
  // to call again, InfiniteFuture() if nothing is open.
  virtual absl::Time FlushAged(absl::Time steady_now) = 0;

  virtual size_t parked(ShardIndex shard) const = 0;
  virtual const HandoffCounters& counters() const = 0;
  // OK until poisoned.
  virtual const absl::Status& fatal() const = 0;
};

}  // namespace penstock::core
