#include "core/handoff/ack_tracker.h"

#include "core/base/check.h"
#include "core/handoff/shard_snapshot.h"

#include <algorithm>
#include <utility>

namespace penstock::core {

AckTracker::Latencies::Latencies()
    : ack_seconds(kSecondBounds), end_to_end_seconds(kSecondBounds) {}

AckTracker::AckTracker(Step base_steps, const Clock& clock,
                       OnAdvance on_advance)
    : clock_(clock),
      next_(base_steps),
      finished_(base_steps),
      on_advance_(std::move(on_advance)) {}

StepHandle AckTracker::Register(const std::shared_ptr<AckTracker>& tracker,
                                Step step, absl::Time staged_at) {
  {
    MutexLock lock(tracker->mu_);
    CHECK_GE(step, tracker->next_) << "a step number is used once";
    Slot slot;
    slot.step = step;
    slot.registered = tracker->clock_.SteadyNow();
    slot.staged = staged_at;
    tracker->slots_.push_back(slot);
    tracker->next_ = step + 1;
  }
  return StepHandle(step, tracker);
}

void AckTracker::OnMade(Step step) {
  Step completed = 0;
  {
    MutexLock lock(mu_);
    const Step before = Completed();
    Slot& slot = SlotOf(step);
    slot.made = true;
    slot.made_at = clock_.SteadyNow();
    completed = Completed();
    if (completed == before) return;
  }
  if (on_advance_ != nullptr) on_advance_(completed);
}

void AckTracker::OnAck(Step step, AckStatus worst) {
  Step completed = 0;
  {
    MutexLock lock(mu_);
    const Step before = Completed();
    Slot& slot = SlotOf(step);
    CHECK(slot.state == SlotState::kPending) << "step " << step;
    if (worst == AckStatus::kFailed) {
      slot.state = SlotState::kFailed;
      slot.failed = clock_.SteadyNow();
      return;
    }
    slot.state = SlotState::kDelivered;
    NoteDelivered(slot);
    while (!slots_.empty() && slots_.front().state == SlotState::kDelivered) {
      finished_ = slots_.front().step + 1;
      slots_.pop_front();
    }
    completed = Completed();
    if (completed == before) return;
  }
  if (on_advance_ != nullptr) on_advance_(completed);
}

void AckTracker::NoteDelivered(const Slot& slot) {
  const absl::Time now = clock_.SteadyNow();
  latencies_.ack_seconds.Record(absl::ToDoubleSeconds(now - slot.made_at));
  if (slot.staged == absl::InfiniteFuture()) return;
  latencies_.end_to_end_seconds.Record(
      absl::ToDoubleSeconds(now - slot.staged));
}

AckTracker::Latencies AckTracker::latencies() const {
  MutexLock lock(mu_);
  return latencies_;
}

Step AckTracker::completed() const {
  MutexLock lock(mu_);
  return Completed();
}

size_t AckTracker::outstanding() const {
  MutexLock lock(mu_);
  return slots_.size();
}

std::optional<AckTracker::Stall> AckTracker::stall() const {
  MutexLock lock(mu_);
  if (slots_.empty() || slots_.front().state != SlotState::kFailed) {
    return std::nullopt;
  }
  return Stall{.step = slots_.front().step, .since = slots_.front().failed};
}

std::optional<AckTracker::Stall> AckTracker::oldest() const {
  MutexLock lock(mu_);
  if (slots_.empty()) return std::nullopt;
  return Stall{.step = slots_.front().step, .since = slots_.front().registered};
}

AckTracker::Slot& AckTracker::SlotOf(Step step) {
  const auto slot = std::lower_bound(
      slots_.begin(), slots_.end(), step,
      [](const Slot& left, Step right) { return left.step < right; });
  CHECK(slot != slots_.end() && slot->step == step) << "step " << step;
  return *slot;
}

Step AckTracker::Completed() const {
  if (slots_.empty() || !slots_.front().made) return finished_;
  return slots_.front().step;
}

}  // namespace penstock::core
