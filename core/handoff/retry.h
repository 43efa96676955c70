// How long to wait before trying again.
// See core/handoff/README.md.
#pragma once

#include "core/base/random.h"

#include <absl/time/time.h>

#include <cstdint>

namespace penstock::core {

struct RetryPolicy {
  absl::Duration initial = absl::Milliseconds(100);
  absl::Duration max = absl::Seconds(10);
  double multiplier = 2.0;
  // Each delay is drawn from [(1 - jitter) * d, d]. Only ever shorter, so that
  // `max` is one.
  double jitter = 0.2;
};

// One run of attempts. Threads: thread-compatible.
// Bound: none on attempts; they end by success, a fatal error or Stop.
class Backoff {
 public:
  // Requires: 0 < initial <= max < infinite, 1 <= multiplier (finite),
  // 0 <= jitter <= 1.
  Backoff(RetryPolicy policy, uint64_t random_seed);
  // The delay before the next attempt: never zero, never above the maximum.
  absl::Duration Next();
  void Reset();
  // Calls of Next since construction or Reset.
  uint64_t attempts() const { return attempts_; }

 private:
  const RetryPolicy policy_;
  Random random_;
  absl::Duration current_;
  uint64_t attempts_ = 0;
};

}  // namespace penstock::core
