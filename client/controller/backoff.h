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
  explicit Backoff(core::Random& random) : random_(random) {}

  absl::Duration Next() {
    const absl::Duration whole = delay_;
    delay_ = std::min(2 * delay_, kDelayMax);
    return whole * (0.5 + 0.5 * random_.Double());
  }
  void Reset() { delay_ = kDelayMin; }

 private:
  static constexpr absl::Duration kDelayMin = absl::Milliseconds(50);
  static constexpr absl::Duration kDelayMax = absl::Seconds(2);

  core::Random& random_;
  absl::Duration delay_ = kDelayMin;
};

}  // namespace penstock::client
