// What a shard worker holds until it may write it, and what it writes at once:
// the one place where the delivery levels differ.
// See core/handoff/README.md; upholds INV-1, INV-4 and INV-9.
#pragma once

#include "core/contract/dead_letter.h"
#include "core/handoff/ack.h"
#include "core/handoff/chunk.h"
#include "core/record/step.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <vector>

namespace penstock::core {

struct ShardWorkerOptions;

// Why a batch was written when it was.
enum class FlushReason {
  // Exactly-once: everything that is ended and released.
  kRelease,
  // It had as many rows, or bytes, as a batch may.
  kRows,
  kBytes,
  // Its oldest chunk was old enough.
  kLinger,
  // A lift: a checkpoint, or a flush.
  kLift,
  // The shard is being stopped.
  kDrain,
};
inline constexpr size_t kFlushReasons = 6;

// One batch for an OutputEndpoint. It does not change between attempts.
// Dropped undelivered it fails its acks. Move-only.
struct ShardWrite {
  // Exactly-once: from the shard's progress to the last step + 1.
  StepRange steps;
  std::vector<EncodedChunk> chunks;
  // Shares of the StepEnds that the batch covers.
  AckSet end_acks;
  // Steps that it settles, ascending, each once.
  std::vector<Step> numbers;
  // Below exactly-once: how many chunks came before its first one.
  uint64_t first_chunk = 0;
  uint64_t rows = 0;
  uint64_t bytes = 0;
  FlushReason reason = FlushReason::kRelease;

  void AddChunk(EncodedChunk chunk);
  // Those that are not empty.
  std::vector<absl::string_view> Frames() const;
  // Of the records that could not be encoded. Lifetime: as this.
  std::vector<DeadLetter> Letters() const;
  // Every handle of it.
  AckSet TakeAcks();
};

// What a lift waits for: a count that LiftGoal gave and `reached` will reach.
using LiftGoal = uint64_t;

// A shard worker asks this what to write next and tells it what became of it;
// HeldSteps answers for exactly-once, HeldChunks for the levels below.
//
// Owner:   a shard worker. Threads: confined to its strand.
// Bound:   what the budget admitted. Dropping it fails the acks it holds.
class ShardBacklog {
 public:
  virtual ~ShardBacklog() = default;

  // Takes what the queue gave, in the queue's order.
  virtual void Add(ShardItem item, absl::Time steady_now) = 0;
  // Steps below `count` may be written. Returns: false if that is nothing new.
  virtual bool SetReleased(Step count) = 0;
  // The next batch, if there is one that may be written, or is needed to reach
  // one of `goals`.
  virtual std::optional<ShardWrite> Take(std::span<const LiftGoal> goals,
                                         absl::Time steady_now) = 0;
  // When Take has an answer for no other reason than time.
  virtual absl::Time ripens_at() const = 0;
  // The target holds `write`, which Take gave. Returns: the shard's progress,
  // if that moved.
  virtual std::optional<Step> Confirm(const ShardWrite& write) = 0;

  // Errors: RELEASE_AHEAD (exactly-once).
  virtual absl::StatusOr<LiftGoal> GoalOf(Step steps) const = 0;
  // Goals up to this are fulfilled.
  virtual LiftGoal reached() const = 0;

  // From now on Take waits for no age or size, and gives nothing unreleased.
  virtual void BeginDrain() = 0;
  // Drops what can never be written after BeginDrain. Returns: the numbers of
  // its steps, ascending.
  virtual std::vector<Step> DropUnreleased() = 0;
  virtual std::vector<Step> DropAll() = 0;
  // Whether what is lost of `step` was promised to the target: unconfirmed
  // rather than dropped.
  virtual bool IsOwed(Step step) const = 0;

  virtual bool IsEmpty() const = 0;
  virtual uint64_t bytes() const = 0;
  virtual uint64_t steps() const = 0;
  // Exactly-once: what the target holds. Otherwise 0.
  virtual Step progress() const = 0;
  virtual uint64_t already_held_steps() const = 0;
};

// What the level asks for.
std::unique_ptr<ShardBacklog> MakeBacklog(const ShardWorkerOptions& options);

}  // namespace penstock::core
