// What a shard worker holds below exactly-once.
// See core/handoff/README.md; upholds INV-4 and INV-9.
#pragma once

#include "core/handoff/shard_backlog.h"

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <cstdint>
#include <deque>
#include <optional>
#include <set>
#include <span>
#include <vector>

namespace penstock::core {

// Chunks, written by size or age, whatever their steps. Any number of batches
// may be under way.
class HeldChunks final : public ShardBacklog {
 public:
  struct Options {
    // A batch is written at either size, or once its oldest chunk was held for
    // so long. Chunks are not cut: one may be larger.
    uint64_t rows_max = 0;
    uint64_t bytes_max = 0;
    absl::Duration linger;
  };
  explicit HeldChunks(const Options& options) : options_(options) {}

  void Add(ShardItem item, absl::Time steady_now) override;
  bool SetReleased(Step /*count*/) override { return false; }
  // Takes chunks up to the sizes, at least one, if they are as large, or the
  // oldest is old enough or is needed to reach a goal.
  std::optional<ShardWrite> Take(std::span<const LiftGoal> goals,
                                 absl::Time steady_now) override;
  absl::Time ripens_at() const override;
  std::optional<Step> Confirm(const ShardWrite& write) override;

  // A goal is a count of chunks.
  absl::StatusOr<LiftGoal> GoalOf(Step /*steps*/) const override {
    return chunks_received_;
  }
  LiftGoal reached() const override;

  void BeginDrain() override { draining_ = true; }
  std::vector<Step> DropUnreleased() override { return {}; }
  std::vector<Step> DropAll() override;
  bool IsOwed(Step /*step*/) const override { return false; }

  bool IsEmpty() const override { return chunks_.empty(); }
  uint64_t bytes() const override { return bytes_; }
  uint64_t steps() const override { return steps_; }
  Step progress() const override { return 0; }
  uint64_t already_held_steps() const override { return 0; }

 private:
  struct HeldChunk {
    EncodedChunk chunk;
    absl::Time since;
  };
  // How many chunks came before the first one that is held.
  uint64_t chunks_taken() const { return chunks_received_ - chunks_.size(); }
  // nullopt: nothing is to be written yet.
  std::optional<FlushReason> WhyNow(std::span<const LiftGoal> goals,
                                    absl::Time steady_now) const;
  // Whether `chunk` may be added to `write`.
  bool Fits(const EncodedChunk& chunk, const ShardWrite& write) const;

  const Options options_;
  bool draining_ = false;
  std::deque<HeldChunk> chunks_;
  uint64_t chunks_received_ = 0;
  uint64_t rows_ = 0;
  uint64_t bytes_ = 0;
  // Runs of chunks of one step.
  uint64_t steps_ = 0;
  // `first_chunk` of the batches that are neither confirmed nor held.
  std::set<uint64_t> under_way_;
};

}  // namespace penstock::core
