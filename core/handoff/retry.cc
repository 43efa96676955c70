#include "core/handoff/retry.h"

#include "core/base/check.h"

#include <algorithm>
#include <cmath>

namespace penstock::core {

Backoff::Backoff(RetryPolicy policy, uint64_t random_seed)
    : policy_(policy), random_(random_seed), current_(policy.initial) {
  CHECK_GT(policy_.initial, absl::ZeroDuration());
  CHECK_LE(policy_.initial, policy_.max);
  CHECK_LT(policy_.max, absl::InfiniteDuration());
  CHECK(std::isfinite(policy_.multiplier));
  CHECK_GE(policy_.multiplier, 1.0);
  CHECK_GE(policy_.jitter, 0.0);
  CHECK_LE(policy_.jitter, 1.0);
}

absl::Duration Backoff::Next() {
  ++attempts_;
  const absl::Duration full = current_;
  // Saturates at infinity, never overflows.
  current_ = std::min(full * policy_.multiplier, policy_.max);
  // Whole nanoseconds: what clocks count in.
  const absl::Duration drawn = absl::Floor(
      full * (1.0 - policy_.jitter * random_.Double()), absl::Nanoseconds(1));
  return std::clamp(drawn, std::min(absl::Microseconds(1), full), full);
}

void Backoff::Reset() {
  current_ = policy_.initial;
  attempts_ = 0;
}

}  // namespace penstock::core
