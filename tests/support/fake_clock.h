// A Clock that stands still until the test moves it.
#pragma once

#include "core/base/clock.h"

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>

namespace penstock::core {

// Steady and wall time move together; SetNow lets the wall clock jump alone.
// Threads: thread-safe.
class FakeClock final : public Clock {
 public:
  // 2024-01-01T00:00:00Z, so that formatted times look like times.
  static constexpr int64_t kStartUnixSeconds = 1704067200;

  explicit FakeClock(
      absl::Time start = absl::FromUnixSeconds(kStartUnixSeconds));

  absl::Time Now() const override;
  absl::Time SteadyNow() const override;

  // Requires: duration >= 0.
  void Advance(absl::Duration duration);
  // Moves the wall clock only, either way.
  void SetNow(absl::Time now);

 private:
  std::atomic<int64_t> steady_ns_{0};
  // Wall time minus steady time.
  std::atomic<int64_t> wall_offset_ns_;
};

}  // namespace penstock::core
