#include "core/base/rate_limit.h"

#include "core/base/check.h"

namespace penstock::core {
namespace {

constexpr int kCountBits = 24;
constexpr uint64_t kCountMask = (uint64_t{1} << kCountBits) - 1;

}  // namespace

RateLimit::RateLimit(uint32_t capacity, absl::Duration window,
                     const Clock& clock)
    : capacity_(capacity),
      window_ns_(absl::ToInt64Nanoseconds(window)),
      clock_(clock) {
  CHECK_GE(capacity, 1);
  CHECK_LE(capacity, kCountMask);
  CHECK_GE(window_ns_, 1'000'000);
}

std::optional<uint64_t> RateLimit::Admit() {
  // A window of at least 1 ms keeps the number within 40 bits for 30 years.
  // 1 is added so that the initial state, 0, is no window.
  const uint64_t window =
      static_cast<uint64_t>(absl::ToUnixNanos(clock_.SteadyNow()) /
                            window_ns_) +
      1;
  uint64_t state = state_.load(std::memory_order_relaxed);
  while (true) {
    uint64_t next = 0;
    if ((state >> kCountBits) < window) {
      next = (window << kCountBits) | 1;
    } else if ((state & kCountMask) < capacity_) {
      // Also for a thread whose reading of the clock is older than the window.
      next = state + 1;
    } else {
      suppressed_total_.fetch_add(1, std::memory_order_relaxed);
      return std::nullopt;
    }
    if (state_.compare_exchange_weak(state, next, std::memory_order_relaxed)) {
      break;
    }
  }
  // Each suppressed event is reported once, whoever takes the difference.
  const uint64_t total = suppressed_total_.load(std::memory_order_relaxed);
  uint64_t reported = suppressed_reported_.load(std::memory_order_relaxed);
  while (reported < total) {
    if (suppressed_reported_.compare_exchange_weak(reported, total,
                                                   std::memory_order_relaxed)) {
      return total - reported;
    }
  }
  return 0;
}

}  // namespace penstock::core
