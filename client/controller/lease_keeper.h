// Waits for a lease, keeps it, and says in time when it is lost.
// See client/controller/README.md; upholds INV-7.
#pragma once

#include "client/controller/backoff.h"
#include "client/controller/lease.h"
#include "client/controller/task_scope.h"
#include "core/base/executor.h"
#include "core/base/random.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>

namespace penstock::client {

// What a keeper tells, on its strand.
struct LeaseEvents {
  // Another holds it. After each look.
  absl::AnyInvocable<void(const LeaseState&)> on_waiting;
  // It is ours from now on, until on_lost.
  absl::AnyInvocable<void(const LeaseState&)> on_held;
  // Nothing may be done in its name any more. Start asks again.
  absl::AnyInvocable<void(absl::Status)> on_lost;
  // A person must look. Only while it is asked for.
  absl::AnyInvocable<void(absl::Status)> on_failed;
};

// A lease is lost when the store says so, or when it could not be renewed: an
// eighth of its length before it ends, measured by our own steady clock from
// before the request was sent. The store's clock began to count later, so no
// other holder begins before.
//
//   IDLE ──Start──▶ WAITING ──acquired──▶ HELD
//    ▲                 └─an error          └─not renewed in time, or another's
//    └─────────────────────┴──────────────────┘       (Stop: released)
//
// Owner:     whoever leads by it.
// Threads:   thread-safe; all work is confined to a strand on `executor`, which
//            should be the controller's: then nothing of it runs beside
//            on_lost.
// Lifecycle: Start, also again after on_lost; Stop at most once. Destruction:
// no event any more, and
//            the lease runs out by itself.
// Bound:     one call of the lease at a time, and one that is given up.
class LeaseKeeper : public std::enable_shared_from_this<LeaseKeeper> {
 public:
  // `lease` and `executor` outlive it and its running task.
  static std::shared_ptr<LeaseKeeper> Create(Lease& lease,
                                             core::Executor& executor,
                                             LeaseEvents events,
                                             uint64_t random_seed);
  ~LeaseKeeper() { tasks_.Close(); }

  void Start();
  // No event comes any more; releases what is held. `done`: at the end.
  void Stop(absl::AnyInvocable<void(absl::Status)> done);

 private:
  LeaseKeeper(Lease& lease, core::Executor& executor, LeaseEvents events,
              uint64_t random_seed);

  enum class Phase { kIdle, kWaiting, kHeld };

  absl::Time Now() const { return tasks_.clock().SteadyNow(); }
  void Acquire();
  void OnAcquired(absl::Time sent, absl::StatusOr<LeaseState> state);
  void Renew();
  void OnRenewed(absl::Time sent, absl::StatusOr<LeaseState> state);
  // The lease was given at `sent` or later. False: that is too long ago.
  bool Hold(absl::Time sent);
  void Lose(absl::Status why);
  // Whether an answer to a call of another turn came.
  bool IsOver(uint64_t turn) const { return turn != turn_; }

  Lease& lease_;
  LeaseEvents events_;
  TaskScope tasks_;
  core::Random random_;
  Backoff backoff_;
  ScopedTimer next_;
  ScopedTimer end_;
  Phase phase_ = Phase::kIdle;
  // Each change of phase is a turn; answers to calls of others are not heard.
  uint64_t turn_ = 0;
  absl::Status last_error_;
};

}  // namespace penstock::client
