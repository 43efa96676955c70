#include "core/connector/lanes.h"

#include "core/base/error.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <utility>
#include <vector>

namespace penstock::core {
namespace {

absl::Status TooMany() {
  return WithRetryDelay(
      MakeError(Reason::BUDGET_EXCEEDED,
                "taking a command: too many are under way to this connector"),
      absl::Milliseconds(100));
}

}  // namespace

void Lanes::Push(OrderedCall call) {
  {
    MutexLock lock(mu_);
    if (ordered_.size() < kCallsMax) {
      ordered_.push_back(std::move(call));
      return;
    }
  }
  Refuse(call, TooMany());
}

void Lanes::Push(ImmediateCall call) {
  {
    MutexLock lock(mu_);
    if (immediate_.size() < kCallsMax) {
      immediate_.push_back(std::move(call));
      has_immediate_.store(true, std::memory_order_release);
      return;
    }
  }
  Refuse(call, TooMany());
}

std::vector<OrderedCall> Lanes::TakeOrdered() {
  MutexLock lock(mu_);
  return std::exchange(ordered_, {});
}

std::vector<ImmediateCall> Lanes::TakeImmediate() {
  MutexLock lock(mu_);
  has_immediate_.store(false, std::memory_order_release);
  return std::exchange(immediate_, {});
}

}  // namespace penstock::core
