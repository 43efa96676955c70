// PrepareCheckpoint and CommitCheckpoint of one connector.
// See core/connector/README.md; upholds INV-1.
#pragma once

#include "core/connector/driver_state.h"
#include "core/connector/lanes.h"
#include "core/connector/mailbox.h"
#include "core/connector/queueing.h"
#include "core/connector/requests.h"
#include "core/record/step.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace penstock::core {

// A PrepareCheckpoint waits for its steps to be completed, then for a lift of
// every shard's progress that covers them, at most until its deadline. It
// holds nothing back. Lifts outlive the Prepare that began them: the next one
// for the same steps finds them under way.
//
//   WAITING ─released and completed─▶ LIFTING ─every shard─▶ ready
//      └──────────────deadline, blocker that never clears──▶ not ready
//
// Owner:   the driver. Threads: confined to its strand.
// Bound:   kPendingMax Prepares, kLiftsMax lifts.
class Checkpointer {
 public:
  static constexpr size_t kPendingMax = 16;
  static constexpr size_t kLiftsMax = 16;

  // `state` outlives this.
  explicit Checkpointer(DriverState& state);

  // Joins a Prepare for the same steps. Beyond the bound: BUDGET_EXCEEDED.
  void Prepare(PrepareCall call);
  // Errors: NOT_COMPLETED.
  absl::Status Commit(Step steps);

  Work Advance();
  // Steady time at which to Advance without being woken.
  absl::Time WakeAt() const;
  // What holds back the Prepares that are pending. Empty: nothing, or none is.
  std::vector<Blocker> PendingBlockers() const;
  // The connector is closed: whoever still waits is told what held it back.
  void Close();

 private:
  struct Pending {
    Step steps = 0;
    absl::Time deadline;
    // Of the lift that it waits for; 0: it waits for its steps.
    uint64_t lift = 0;
    std::vector<ReplyTo<PrepareCheckpointReply>> replies;
  };
  struct Lift {
    uint64_t id = 0;
    Step steps = 0;
    absl::Time since;
    // Per shard: has answered.
    std::vector<bool> answered;
    uint32_t shards_left = 0;
    absl::Status status;
  };
  struct LiftAnswer {
    uint64_t id = 0;
    ShardIndex shard = 0;
    absl::Status status;
  };

  void HearLifts();
  bool AdvanceOne(Pending& pending);
  // The lift under way that covers `steps`, or a new one; 0: too many are.
  uint64_t LiftFor(Step steps);
  Lift* FindLift(uint64_t id);
  const Lift* FindLift(uint64_t id) const;
  // Blockers that no waiting clears for this count.
  std::vector<Blocker> Permanent(Step steps) const;
  std::vector<Blocker> BlockersOf(const Pending& pending) const;
  void AddUnfinished(Step steps, std::vector<Blocker>& blockers) const;
  absl::Time WallOf(absl::Time steady) const;
  void Reply(Pending& pending, bool ready, std::vector<Blocker> blockers);

  DriverState& state_;
  std::vector<Pending> pending_;
  std::vector<Lift> lifts_;
  uint64_t next_lift_ = 1;
  // Shared by: this and the shards that answer.
  const std::shared_ptr<Mailbox<LiftAnswer>> answers_;
};

}  // namespace penstock::core
