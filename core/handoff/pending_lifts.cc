#include "core/handoff/pending_lifts.h"

#include <utility>

namespace penstock::core {

void PendingLifts::Add(LiftGoal goal, Done done) {
  pending_.push_back({.goal = goal, .done = std::move(done)});
}

std::vector<LiftGoal> PendingLifts::Goals() const {
  std::vector<LiftGoal> goals;
  goals.reserve(pending_.size());
  for (const Pending& lift : pending_) goals.push_back(lift.goal);
  return goals;
}

void PendingLifts::Fulfil(LiftGoal reached) {
  std::vector<Done> fulfilled;
  std::erase_if(pending_, [&](Pending& lift) {
    if (lift.goal > reached) return false;
    fulfilled.push_back(std::move(lift.done));
    return true;
  });
  for (Done& done : fulfilled) done(absl::OkStatus());
}

void PendingLifts::Answer(const absl::Status& status) {
  for (Pending& lift : std::exchange(pending_, {})) lift.done(status);
}

}  // namespace penstock::core
