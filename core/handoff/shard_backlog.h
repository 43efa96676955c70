// What a shard worker holds until it may write it, and what it writes at once.
// See core/handoff/README.md; upholds INV-1, INV-4 and INV-9.
#pragma once

#include "core/handoff/ack.h"
#include "core/handoff/chunk.h"
#include "core/handoff/shard_queues.h"
#include "core/record/step.h"

#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <vector>

namespace penstock::core {

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
  uint64_t rows = 0;
  uint64_t bytes = 0;

  void AddChunk(EncodedChunk chunk);
  // Every handle of it.
  AckSet TakeAcks();
};

// What may be taken from a backlog.
struct TakeLimits {
  // Exactly-once: only steps below this count.
  Step released = 0;
  uint64_t bytes_max = 0;
  // Below exactly-once: what is younger than this waits for more bytes.
  absl::Time oldest_before;
};

// Owner:   a shard worker. Threads: confined to its strand.
// Bound:   what the budget admitted. Dropping it fails the acks it holds.
class ShardBacklog {
 public:
  virtual ~ShardBacklog() = default;

  // Takes what the queue gave, in the queue's order.
  virtual void Add(ShardItem item, absl::Time steady_now) = 0;
  // The next batch, if there is one that may be written.
  virtual std::optional<ShardWrite> Take(const TakeLimits& limits) = 0;
  // The target holds this many steps now.
  virtual void SetProgress(Step progress) = 0;
  // Drops the steps that are not below `released` (below exactly-once: none).
  // Returns: their numbers, ascending.
  virtual std::vector<Step> DropUnreleased(Step released) = 0;
  virtual std::vector<Step> DropAll() = 0;

  // Since when the oldest item is held; InfiniteFuture(): none is.
  virtual absl::Time oldest() const = 0;
  // The first step held; nullopt: none.
  virtual std::optional<Step> first_step() const = 0;
  virtual uint64_t bytes() const = 0;
  virtual uint64_t steps() const = 0;
  virtual uint64_t already_held_steps() const = 0;
};

// Exactly-once: whole steps, written once they are ended and released.
class HeldSteps final : public ShardBacklog {
 public:
  // `progress`: what the target held at open. Chunks of steps below it resolve
  // as delivered and are gone; their StepEnds are confirmed.
  explicit HeldSteps(Step progress)
      : opened_progress_(progress), progress_(progress) {}

  void Add(ShardItem item, absl::Time steady_now) override;
  // Confirms leading steps without rows, then takes whole consecutive ended,
  // released steps up to `bytes_max`, at least one, and the steps without rows
  // behind them.
  std::optional<ShardWrite> Take(const TakeLimits& limits) override;
  void SetProgress(Step progress) override;
  std::vector<Step> DropUnreleased(Step released) override;
  std::vector<Step> DropAll() override;

  absl::Time oldest() const override;
  std::optional<Step> first_step() const override;
  uint64_t bytes() const override { return bytes_; }
  uint64_t steps() const override { return steps_.size(); }
  uint64_t already_held_steps() const override { return already_held_steps_; }

 private:
  struct HeldStep {
    Step step = 0;
    bool ended = false;
    std::vector<EncodedChunk> chunks;
    uint64_t bytes = 0;
    AckSet end_acks;
    absl::Time since;
  };

  void AddChunk(EncodedChunk chunk, absl::Time steady_now);
  void AddEnd(StepEnd end, absl::Time steady_now);
  HeldStep& Open(Step step, absl::Time steady_now);
  // Whether the target held `step` at open. CHECKs that it is not one which it
  // has only since then: such a step has come before, or was lifted over.
  bool IsHeldByTarget(Step step) const;
  HeldStep PopFront();

  const Step opened_progress_;
  Step progress_;
  // Ascending; only the last one may be open.
  std::deque<HeldStep> steps_;
  uint64_t bytes_ = 0;
  uint64_t already_held_steps_ = 0;
};

// Below exactly-once: chunks, written by size or age, whatever their steps.
class HeldChunks final : public ShardBacklog {
 public:
  void Add(ShardItem item, absl::Time steady_now) override;
  // Takes chunks up to `bytes_max`, at least one, if there are so many bytes or
  // the oldest is old enough.
  std::optional<ShardWrite> Take(const TakeLimits& limits) override;
  void SetProgress(Step /*progress*/) override {}
  std::vector<Step> DropUnreleased(Step released) override;
  std::vector<Step> DropAll() override;

  absl::Time oldest() const override;
  std::optional<Step> first_step() const override;
  uint64_t bytes() const override { return bytes_; }
  uint64_t steps() const override { return steps_; }
  uint64_t already_held_steps() const override { return 0; }

 private:
  struct HeldChunk {
    EncodedChunk chunk;
    absl::Time since;
  };
  std::deque<HeldChunk> chunks_;
  uint64_t bytes_ = 0;
  // Runs of chunks of one step.
  uint64_t steps_ = 0;
};

}  // namespace penstock::core
