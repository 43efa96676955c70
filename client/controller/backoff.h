// How long to wait before the same is tried again.
#pragma once

#include "core/base/random.h"

#include <absl/time/time.h>

#include <algorithm>

namespace penstock::client {

// 50 ms, doubling up to 2 s, each time a random half to the whole of it.
// Threads: thread-compatible.
class Backoff {
 public:
  static constexpr absl::Duration kDelayMax = absl::Seconds(2);
  // Where nobody answers at all: asking costs nobody anything, and whoever
  // comes in the place of a worker that was lost is to be found soon.
  static constexpr absl::Duration kAwayDelayMax = absl::Milliseconds(400);

  explicit Backoff(core::Random& random, absl::Duration delay_max = kDelayMax)
      : random_(random), delay_max_(delay_max) {}

  absl::Duration Next() {
    const absl::Duration whole = delay_;
    delay_ = std::min(2 * delay_, delay_max_);
    return whole * (0.5 + 0.5 * random_.Double());
  }
  void Reset() { delay_ = kDelayMin; }

 private:
  static constexpr absl::Duration kDelayMin = absl::Milliseconds(50);

  core::Random& random_;
  const absl::Duration delay_max_;
  absl::Duration delay_ = kDelayMin;
};

}  // namespace penstock::client
