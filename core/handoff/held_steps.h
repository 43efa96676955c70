// What a shard worker holds in exactly-once.
// See core/handoff/README.md; upholds INV-1, INV-4 and INV-9.
#pragma once

#include "core/handoff/shard_backlog.h"

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <vector>

namespace penstock::core {

// Whole steps, written once they are ended and released. One batch is under way
// at a time: the next one begins where that ends.
class HeldSteps final : public ShardBacklog {
 public:
  struct Options {
    // What the target held at open. Chunks of steps below it resolve as
    // delivered and are gone; their StepEnds are confirmed.
    Step progress = 0;
    Step released = 0;
    // One batch covers whole steps up to this many bytes, at least one step.
    uint64_t bytes_max = 0;
  };
  explicit HeldSteps(const Options& options)
      : options_(options),
        progress_(options.progress),
        released_(options.released) {}

  void Add(ShardItem item, absl::Time steady_now) override;
  bool SetReleased(Step count) override;
  // Confirms leading steps without rows, then takes whole consecutive ended,
  // released steps, and the steps without rows behind them. If there are none,
  // a write without rows up to a goal that nothing held will reach.
  std::optional<ShardWrite> Take(std::span<const LiftGoal> goals,
                                 absl::Time steady_now) override;
  absl::Time ripens_at() const override { return absl::InfiniteFuture(); }
  std::optional<Step> Confirm(const ShardWrite& write) override;

  // A goal is a progress.
  absl::StatusOr<LiftGoal> GoalOf(Step steps) const override;
  LiftGoal reached() const override { return progress_; }

  void BeginDrain() override {}
  std::vector<Step> DropUnreleased() override { return DropFrom(released_); }
  std::vector<Step> DropAll() override { return DropFrom(0); }
  bool IsOwed(Step step) const override { return step < released_; }

  bool IsEmpty() const override { return steps_.empty(); }
  uint64_t bytes() const override { return bytes_; }
  uint64_t steps() const override { return steps_.size(); }
  Step progress() const override { return progress_; }
  uint64_t already_held_steps() const override { return already_held_steps_; }

 private:
  struct HeldStep {
    Step step = 0;
    bool ended = false;
    std::vector<EncodedChunk> chunks;
    uint64_t bytes = 0;
    AckSet end_acks;
  };

  void AddChunk(EncodedChunk chunk);
  void AddEnd(StepEnd end);
  HeldStep& Open(Step step);
  // Whether the target held `step` at open. CHECKs that it is not one which it
  // has only since then: such a step has come before, or was lifted over.
  bool IsHeldByTarget(Step step) const;
  bool FrontIsReady() const;
  HeldStep PopFront();
  std::optional<ShardWrite> TakeLift(std::span<const LiftGoal> goals) const;
  std::vector<Step> DropFrom(Step first);

  const Options options_;
  Step progress_;
  Step released_;
  // Ascending; only the last one may be open.
  std::deque<HeldStep> steps_;
  uint64_t bytes_ = 0;
  uint64_t already_held_steps_ = 0;
};

}  // namespace penstock::core
