#include "tests/support/fake_clock.h"

#include "core/base/check.h"

namespace penstock::core {

FakeClock::FakeClock(absl::Time start)
    : wall_offset_ns_(absl::ToUnixNanos(start)) {}

absl::Time FakeClock::Now() const {
  return absl::FromUnixNanos(steady_ns_.load() + wall_offset_ns_.load());
}

absl::Time FakeClock::SteadyNow() const {
  return absl::FromUnixNanos(steady_ns_.load());
}

void FakeClock::Advance(absl::Duration duration) {
  CHECK_GE(duration, absl::ZeroDuration());
  // Rounded up, so that who advances to a timer finds it due.
  steady_ns_.fetch_add(
      absl::ToInt64Nanoseconds(absl::Ceil(duration, absl::Nanoseconds(1))));
}

void FakeClock::SetNow(absl::Time now) {
  wall_offset_ns_.store(absl::ToUnixNanos(now) - steady_ns_.load());
}

}  // namespace penstock::core
