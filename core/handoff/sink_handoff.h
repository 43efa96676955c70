// The terminal stage: route, encode, seal, hand to shard queues.
// See core/handoff/README.md; upholds INV-4, INV-5, INV-8, INV-9, INV-12.
#pragma once

#include "core/base/clock.h"
#include "core/contract/ft_model.h"
#include "core/contract/row_encoder.h"
#include "core/handoff/ack.h"
#include "core/handoff/budget.h"
#include "core/handoff/router.h"
#include "core/handoff/shard_queues.h"
#include "core/record/record_batch.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

enum class EncodePolicy { kSkip, kFail };

// Seed type: `ChunkConfig`.
struct ChunkConfig {
  // A chunk is sealed when its frame reaches this size. > 0.
  size_t target_bytes = size_t{256} << 10;
  // The same for the rows in it. > 0; below exactly-once only.
  uint64_t rows_max = UINT64_MAX;
  EncodePolicy encode_policy = EncodePolicy::kSkip;
  std::optional<FtModel> level;
  // Below exactly-once a chunk leaves at this age.
  absl::Duration age_max = absl::Milliseconds(200);
  // Chunks carry a row table (`EncodedChunk::row_positions`); reservations
  // then count its 16 bytes a row, too.
  bool row_positions = false;
  // Records that are skipped, or bad, travel with the chunks
  // (`EncodedChunk::refused`), for the dead letters; within the reservation,
  // for they were estimated.
  bool keep_refused = false;
};

// Seed type: `Flow`, with our third answer (design §9).
enum class Flow { kContinue, kBlocked, kFatal };

// Exact at any time: `in == out + skipped + discarded` (INV-8).
struct HandoffCounters {
  uint64_t records_in = 0;
  // Encoded: their fate is that of their chunk's acks.
  uint64_t records_out = 0;
  // Refused by the encoder, under EncodePolicy::kSkip.
  uint64_t records_skipped = 0;
  // Poisoned the stage, or pushed after it was poisoned.
  uint64_t records_discarded = 0;
  // Frame bytes sealed, and in how many chunks.
  uint64_t bytes_out = 0;
  uint64_t chunks_sealed = 0;
};

// What the driver sees of a handoff, whatever its encoder and router.
//
// What poisons it, for good: a record that cannot be encoded under
// EncodePolicy::kFail, an encoder that is broken (INTERNAL, or FinishChunk
// failed), a router that names no shard, a closed shard queue. From then on
// nothing is encoded or sealed, unsealed rows and the open step have failed,
// and only what was whole before, the items parked of earlier steps, still
// goes out: released steps of a FAILED connector may commit.
//
// Owner:     the connector's driver. Threads: confined to it.
// Lifecycle: BeginStep, Push…, EndStep, BeginStep…; a fatal poisons it for
//            good. Dropping it fails the acks of what was not sent.
// Bound:     unsealed and parked bytes are within the steps' reservations;
//            one open frame per shard and 64 spare ones (FramePool), and none
//            while nothing is in flight.
class Handoff {
 public:
  virtual ~Handoff() = default;

  // What follows belongs to `handle`'s step; chunks take their leases out of
  // `reservation` (what it lacks is overdrawn). Requires: no step is open; the
  // step is above the last one.
  virtual void BeginStep(StepHandle handle, BudgetLease reservation) = 0;
  // Encodes all records of the batch. Never blocks, never rejects; what finds
  // no room is parked. Requires: a step is open.
  virtual void PushBatch(const RecordBatch& batch) = 0;
  // Keeps bad records of the step for the dead letters: they belong to the
  // shard `partition` modulo shards, whatever the router, for they have no key.
  // In exactly-once the step's rows are sealed first, so that no chunk of rows
  // depends on them. Requires: a step is open, and all its batches were pushed;
  // ChunkConfig::keep_refused, or there are none.
  virtual void AddBadRecords(std::vector<BadRecord> bad_records) = 0;
  // Exactly-once: seals every shard, then queues or parks a StepEnd for each,
  // also for shards without rows; below it, only resolves the handle once the
  // step's records are encoded. What is left of the reservation returns.
  // kFatal: the handle failed. Otherwise the handle is resolved, and kBlocked
  // says that something is parked. Requires: a step is open.
  virtual Flow EndStep() = 0;
  // Sends what is parked, shard by shard: one that is full holds back no other.
  // kFatal, too, goes on sending.
  virtual Flow Relieve() = 0;
  // Below exactly-once: seals all shards however small. Then, at every level,
  // as Relieve. (In exactly-once only size and EndStep seal, so that equal
  // records give equal chunks.)
  virtual Flow FlushTerminal() = 0;
  // Below exactly-once: seals chunks older than the maximum age; returns when
  // to call again, InfiniteFuture() if nothing is open.
  virtual absl::Time FlushAged(absl::Time steady_now) = 0;

  virtual size_t parked(ShardIndex shard) const = 0;
  virtual const HandoffCounters& counters() const = 0;
  // OK until poisoned; then the first cause, for ever.
  virtual const absl::Status& fatal() const = 0;
};

// A handoff over `queues`, one clone of `encoder` per shard.
// Requires: `queues` and `clock` outlive it.
std::unique_ptr<Handoff> MakeHandoff(std::unique_ptr<RowEncoder> encoder,
                                     RouteKind route, ShardQueues& queues,
                                     std::shared_ptr<InflightBudget> budget,
                                     ChunkConfig config, const Clock& clock);

}  // namespace penstock::core
