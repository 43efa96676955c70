#include "client/controller/lease_keeper.h"

#include "core/base/error.h"
#include "core/base/log.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::client {
namespace {

using core::Reason;

// A lease that is released early is noticed within this.
constexpr absl::Duration kLookMax = absl::Seconds(1);
constexpr absl::Duration kLookMin = absl::Milliseconds(10);

bool MayPass(const absl::Status& status) {
  return core::HasReason(status, Reason::UNAVAILABLE) ||
         core::HasReason(status, Reason::STORAGE_FULL);
}

}  // namespace

std::shared_ptr<LeaseKeeper> LeaseKeeper::Create(Lease& lease,
                                                 core::Executor& executor,
                                                 LeaseEvents events,
                                                 uint64_t random_seed) {
  return std::shared_ptr<LeaseKeeper>(
      new LeaseKeeper(lease, executor, std::move(events), random_seed));
}

LeaseKeeper::LeaseKeeper(Lease& lease, core::Executor& executor,
                         LeaseEvents events, uint64_t random_seed)
    : lease_(lease),
      events_(std::move(events)),
      tasks_(executor),
      random_(random_seed),
      backoff_(random_),
      next_(tasks_),
      end_(tasks_) {}

void LeaseKeeper::Start() {
  tasks_.SetOwner(weak_from_this());
  tasks_.Post([this] {
    if (phase_ != Phase::kIdle) return;
    phase_ = Phase::kWaiting;
    Acquire();
  });
}

void LeaseKeeper::Stop(absl::AnyInvocable<void(absl::Status)> done) {
  tasks_.Post([this, done = std::move(done)]() mutable {
    next_.Cancel();
    end_.Cancel();
    ++turn_;
    // Also where it may have been given without our hearing of it.
    phase_ = Phase::kIdle;
    lease_.Release(std::move(done));
  });
}

void LeaseKeeper::Acquire() {
  if (phase_ != Phase::kWaiting) return;
  lease_.Acquire(tasks_.Wrap(
      [this, sent = Now(), turn = turn_](absl::StatusOr<LeaseState> state) {
        if (!IsOver(turn)) OnAcquired(sent, std::move(state));
      }));
}

void LeaseKeeper::OnAcquired(absl::Time sent,
                             absl::StatusOr<LeaseState> state) {
  if (!state.ok()) {
    if (!MayPass(state.status())) {
      phase_ = Phase::kIdle;
      ++turn_;
      return events_.on_failed(state.status());
    }
    LOG(WARNING) << "asking for the lease again: "
                 << core::ErrorText(state.status());
    return next_.Set(backoff_.Next(), [this] { Acquire(); });
  }
  backoff_.Reset();
  if (!state->ours) {
    const absl::Duration look = std::clamp(state->left, kLookMin, kLookMax);
    // Those who wait need not all ask at once.
    next_.Set(look * (1 + 0.1 * random_.Double()), [this] { Acquire(); });
    return events_.on_waiting(*state);
  }
  if (!Hold(sent)) return next_.Set(kLookMin, [this] { Acquire(); });
  phase_ = Phase::kHeld;
  ++turn_;
  events_.on_held(*state);
}

bool LeaseKeeper::Hold(absl::Time sent) {
  const absl::Duration lasts = lease_.lasts();
  const absl::Duration left = sent + lasts - lasts / 8 - Now();
  if (left <= absl::ZeroDuration()) return false;
  end_.Set(left, [this] {
    Lose(core::MakeError(
        Reason::STALE_EPOCH,
        absl::StrCat("leading: the lease could not be renewed for ",
                     absl::FormatDuration(lease_.lasts()), ": ",
                     last_error_.ok() ? "no answer came in time"
                                      : last_error_.message())));
  });
  next_.Set(sent + lasts / 3 - Now(), [this] { Renew(); });
  return true;
}

void LeaseKeeper::Renew() {
  if (phase_ != Phase::kHeld) return;
  lease_.Renew(tasks_.Wrap(
      [this, sent = Now(), turn = turn_](absl::StatusOr<LeaseState> state) {
        if (!IsOver(turn)) OnRenewed(sent, std::move(state));
      }));
}

void LeaseKeeper::OnRenewed(absl::Time sent, absl::StatusOr<LeaseState> state) {
  if (!state.ok()) {
    last_error_ = state.status();
    return next_.Set(backoff_.Next(), [this] { Renew(); });
  }
  backoff_.Reset();
  last_error_ = absl::OkStatus();
  if (!state->ours) {
    return Lose(core::MakeError(
        Reason::STALE_EPOCH,
        absl::StrCat("leading: ", state->controller, " has the lease now")));
  }
  // Given so long ago that it may have ended: the timer, which is due, says so.
  Hold(sent);
}

void LeaseKeeper::Lose(absl::Status why) {
  next_.Cancel();
  end_.Cancel();
  phase_ = Phase::kIdle;
  ++turn_;
  events_.on_lost(std::move(why));
}

}  // namespace penstock::client
