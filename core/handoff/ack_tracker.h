// Which steps are finished without a gap.
#pragma once

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

#include "absl/functional/any_invocable.h"
#include "absl/time/time.h"
#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/handoff/ack.h"

namespace penstock::core {

// Resolutions come in any order; only the contiguous prefix of delivered steps
// counts as completed. A failed step at the head stalls for ever (INV-9).
//
// Owner:     shared by the connector and its StepHandles (as AckListener).
// Threads:   thread-safe. `on_advance` runs on the resolving thread, outside
//            the lock, and must only record.
// Bound:     one slot per registered, unfinished step.
class AckTracker final : public AckListener {
 public:
  using OnAdvance = absl::AnyInvocable<void(Step completed)>;

  AckTracker(Step base_steps, const Clock& clock, OnAdvance on_advance);

  // The next step. Requires: above every step registered before.
  static StepHandle Register(const std::shared_ptr<AckTracker>& tracker,
                             Step step);
  void OnAck(Step step, AckStatus worst) override;

  // Number of the first unfinished step, or last step + 1 if none is
  // outstanding, or the base if there was none (design §4).
  Step completed() const;
  size_t outstanding() const;
  struct Stall {
    Step step = 0;
    absl::Time since;
  };
  // The failed step at the head, if there is one.
  std::optional<Stall> stall() const;
  // The first unfinished step and since when it is registered.
  std::optional<Stall> oldest() const;

 private:
  enum class SlotState { kPending, kDelivered, kFailed };
  struct Slot {
    Step step = 0;
    SlotState state = SlotState::kPending;
    absl::Time registered;
    absl::Time failed;
  };

  const Clock& clock_;
  mutable Mutex mu_;
  std::deque<Slot> slots_ ABSL_GUARDED_BY(mu_);
  Step next_ ABSL_GUARDED_BY(mu_);
  OnAdvance on_advance_;
};

}  // namespace penstock::core
