// Which steps are finished without a gap.
// See core/handoff/README.md; upholds INV-1 and INV-9.
#pragma once

#include "core/base/clock.h"
#include "core/base/mutex.h"
#include "core/handoff/ack.h"
#include "core/handoff/histogram.h"
#include "core/record/step.h"

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstddef>
#include <deque>
#include <memory>
#include <optional>

namespace penstock::core {

// Resolutions come in any order; only the contiguous prefix of delivered steps
// counts as completed. A failed step at the head stalls for ever (INV-9).
//
//   registered ──OnMade──▶ made ──last handle gone──▶ delivered ──head──▶ gone
//        └─────────handle dropped─────────┴──────────▶ failed (stays)
//
// Seed type: `PartitionTracker`, for steps instead of offsets.
//
// Owner:     shared by the connector and its StepHandles (as AckListener).
// Threads:   thread-safe.
// Bound:     one slot per registered, unfinished step.
class AckTracker final : public AckListener {
 public:
  // Runs outside the lock on the thread that registers, makes or resolves, and
  // must only record. Two threads may run it at once, the older count last:
  // who keeps it takes the highest (CountWatch does).
  using OnAdvance = absl::AnyInvocable<void(Step completed)>;

  // `clock` outlives this and every handle.
  AckTracker(Step base_steps, const Clock& clock, OnAdvance on_advance);

  // The next step, whose oldest record was staged at that steady time
  // (InfiniteFuture(): nobody knows). Requires: above every step registered
  // before, and not below the base.
  static StepHandle Register(const std::shared_ptr<AckTracker>& tracker,
                             Step step,
                             absl::Time staged_at = absl::InfiniteFuture());
  void OnMade(Step step) override;
  void OnAck(Step step, AckStatus worst) override;

  // Number of the first unfinished step, or last step + 1 if none is
  // outstanding, or the base if there was none (design §4). A step that is
  // still being flushed is none yet. Never goes back.
  Step completed() const;
  // Registered and not finished, the one being flushed included.
  size_t outstanding() const;
  struct Stall {
    Step step = 0;
    // On the steady clock.
    absl::Time since;
  };
  // The failed step at the head, if there is one, and since when it is failed.
  // One behind an unfinished step is no stall yet.
  std::optional<Stall> stall() const;
  // How long it took, of each delivered step.
  struct Latencies {
    Latencies();
    // From made until the last shard had acked it.
    Histogram ack_seconds;
    // From the staging of its oldest record until then.
    Histogram end_to_end_seconds;
  };
  Latencies latencies() const;
  // The first unfinished step and since when it is registered.
  std::optional<Stall> oldest() const;

 private:
  enum class SlotState { kPending, kDelivered, kFailed };
  struct Slot {
    Step step = 0;
    SlotState state = SlotState::kPending;
    bool made = false;
    absl::Time registered;
    absl::Time staged;
    absl::Time made_at;
    absl::Time failed;
  };

  Slot& SlotOf(Step step) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void NoteDelivered(const Slot& slot) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  Step Completed() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const Clock& clock_;
  mutable Mutex mu_;
  // Ascending by step; the head is not delivered.
  std::deque<Slot> slots_ ABSL_GUARDED_BY(mu_);
  // The last step registered + 1.
  Step next_ ABSL_GUARDED_BY(mu_);
  // The last step that left the head + 1, or the base.
  Step finished_ ABSL_GUARDED_BY(mu_);
  Latencies latencies_ ABSL_GUARDED_BY(mu_);
  OnAdvance on_advance_;
};

}  // namespace penstock::core
