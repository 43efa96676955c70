#include "core/connector/lanes.h"

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <utility>
#include <variant>
#include <vector>

namespace penstock::core {

absl::Status TooManyCalls() {
  return WithRetryDelay(
      MakeError(Reason::BUDGET_EXCEEDED,
                "taking a command: too many are under way to this connector"),
      absl::Milliseconds(100));
}

absl::Status SupersededCall() {
  return MakeError(Reason::SUPERSEDED,
                   "taking a command: a controller with a higher epoch took "
                   "over before its turn came");
}

void Lanes::Push(OrderedCall call) {
  {
    MutexLock lock(mu_);
    if (ordered_.size() < kCallsMax) {
      ordered_.push_back(std::move(call));
      return;
    }
  }
  Refuse(call, TooManyCalls());
}

void Lanes::Push(ImmediateCall call) {
  const bool supersedes = std::holds_alternative<SupersedeCall>(call);
  std::vector<OrderedCall> superseded;
  bool is_taken = false;
  {
    MutexLock lock(mu_);
    if (supersedes) superseded = std::exchange(ordered_, {});
    if (supersedes || immediate_.size() < kCallsMax) {
      immediate_.push_back(std::move(call));
      has_immediate_.store(true, std::memory_order_release);
      is_taken = true;
    }
  }
  if (!is_taken) Refuse(call, TooManyCalls());
  for (OrderedCall& old : superseded) Refuse(old, SupersededCall());
}

Lanes::Calls Lanes::TakeAll() {
  MutexLock lock(mu_);
  has_immediate_.store(false, std::memory_order_release);
  return {.immediate = std::exchange(immediate_, {}),
          .ordered = std::exchange(ordered_, {})};
}

std::vector<ImmediateCall> Lanes::TakeImmediate() {
  MutexLock lock(mu_);
  has_immediate_.store(false, std::memory_order_release);
  return std::exchange(immediate_, {});
}

}  // namespace penstock::core
