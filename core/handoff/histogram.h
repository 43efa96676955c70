// How often a value lay between which bounds.
// See core/handoff/README.md.
#pragma once

#include "core/base/check.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

namespace penstock::core {

// A plain value: who shares it locks it. Record costs a few comparisons, a copy
// no allocation.
//
// Threads: thread-compatible.
// Bound:   kBoundsMax bounds.
class Histogram {
 public:
  static constexpr size_t kBoundsMax = 14;

  // `bounds`: ascending; they live for ever.
  explicit Histogram(std::span<const double> bounds) : bounds_(bounds) {
    CHECK_LE(bounds.size(), kBoundsMax);
  }

  void Record(double value) {
    size_t bucket = 0;
    while (bucket < bounds_.size() && value > bounds_[bucket]) ++bucket;
    ++counts_[bucket];
    sum_ += value;
  }

  // Inclusive upper ends.
  std::span<const double> bounds() const { return bounds_; }
  // How many lay in each bucket by itself; one more than there are bounds.
  std::span<const uint64_t> counts() const {
    return std::span(counts_).first(bounds_.size() + 1);
  }
  double sum() const { return sum_; }

 private:
  std::span<const double> bounds_;
  std::array<uint64_t, kBoundsMax + 1> counts_ = {};
  double sum_ = 0;
};

}  // namespace penstock::core
