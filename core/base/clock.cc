#include "core/base/clock.h"

#include <absl/time/clock.h>

#include <chrono>

namespace penstock::core {
namespace {

class SystemClock final : public Clock {
 public:
  absl::Time Now() const override { return absl::Now(); }
  absl::Time SteadyNow() const override {
    const auto since_start =
        std::chrono::steady_clock::now().time_since_epoch();
    return absl::FromUnixNanos(
        std::chrono::duration_cast<std::chrono::nanoseconds>(since_start)
            .count());
  }
};

}  // namespace

const Clock& RealClock() {
  // Never destroyed: threads that outlive main may read it.
  static const Clock& clock = *new SystemClock();
  return clock;
}

}  // namespace penstock::core
