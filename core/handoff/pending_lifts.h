// Who waits until a shard has written what it was asked for.
// See core/handoff/README.md.
#pragma once

#include "core/handoff/shard_backlog.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>

#include <vector>

namespace penstock::core {

// Owner:   a shard worker. Threads: confined to its strand.
// Bound:   the callers: one for each Lift that is under way.
class PendingLifts {
 public:
  using Done = absl::AnyInvocable<void(absl::Status)>;

  // `done` is called once, by Fulfil or Answer, if either comes.
  void Add(LiftGoal goal, Done done);
  std::vector<LiftGoal> Goals() const;
  // Answers OK to those that asked for no more than `reached`.
  void Fulfil(LiftGoal reached);
  // Answers all.
  void Answer(const absl::Status& status);

 private:
  struct Pending {
    LiftGoal goal = 0;
    Done done;
  };
  std::vector<Pending> pending_;
};

}  // namespace penstock::core
