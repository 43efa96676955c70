// A limit on how often something is said, with a count of what was left out.
//
//   RateLimit limit_{5, absl::Minutes(1), clock};
//   LOG_EVERY(WARNING, limit_) << "row refused: " << error;
#pragma once

#include "core/base/clock.h"
#include "core/base/log.h"

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <optional>

namespace penstock::core {

// Admits at most `capacity` events in each window of the steady clock. Windows
// are aligned to the clock, so up to twice the capacity may pass around a
// window's edge.
// Threads: thread-safe and lock-free: one load and one add when suppressing.
class RateLimit {
 public:
  // Requires: 1 <= capacity < 2^24, window >= 1 ms. `clock` outlives this.
  RateLimit(uint32_t capacity, absl::Duration window,
            const Clock& clock = RealClock());
  RateLimit(const RateLimit&) = delete;
  RateLimit& operator=(const RateLimit&) = delete;

  // nullopt: suppressed, and counted. Otherwise the event is admitted, and the
  // value is how many were suppressed since the one admitted before it.
  // Blocks: never.
  std::optional<uint64_t> Admit();

  // How many were suppressed since construction.
  uint64_t suppressed_total() const {
    return suppressed_total_.load(std::memory_order_relaxed);
  }

 private:
  const uint32_t capacity_;
  const int64_t window_ns_;
  const Clock& clock_;

  // Window number in the upper 40 bits, events admitted in it in the lower 24.
  std::atomic<uint64_t> state_{0};
  std::atomic<uint64_t> suppressed_total_{0};
  // The part of suppressed_total_ that an admitted event has reported.
  std::atomic<uint64_t> suppressed_reported_{0};
};

}  // namespace penstock::core

// LOG under a RateLimit; the field "suppressed" says how many were left out.
#define LOG_EVERY(severity, limit)                                    \
  for (std::optional<uint64_t> penstock_suppressed = (limit).Admit(); \
       penstock_suppressed.has_value(); penstock_suppressed.reset())  \
  LOG(severity).With("suppressed", *penstock_suppressed)
