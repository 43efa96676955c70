// Step numbers of one connector: reserved durably in blocks, given out once.
// Upholds INV-2.
#pragma once

#include "core/base/check.h"
#include "core/record/step.h"

#include <algorithm>
#include <cstdint>
#include <optional>

namespace penstock::client {

//     given out         │  reserved        │  under way          │
//  ─────────────────────┼──────────────────┼─────────────────────┼──▶
//                     next()            reserved              asked for
//
// Owner: a session. Threads: thread-compatible.
class StepNumbers {
 public:
  // Every number below `reserved` may have been given out before.
  StepNumbers(core::Step reserved, uint64_t block)
      : next_(reserved),
        reserved_(reserved),
        block_(std::max<uint64_t>(block, 1)) {}

  bool HasNext() const { return next_ < reserved_; }
  // The number for the next step. It may be asked for again and again as long
  // as it made no step.
  // Requires: HasNext().
  core::Step next() const {
    CHECK(HasNext());
    return next_;
  }
  // The number made a step, or nobody will ever know.
  void Leave() {
    CHECK(HasNext());
    ++next_;
  }

  // What to reserve now, so that the loop does not have to wait for it; at
  // most one reservation is under way. nullopt: enough is reserved.
  std::optional<core::Step> TakeReservation() {
    if (under_way_ || reserved_ - next_ > block_ / 2) return std::nullopt;
    under_way_ = true;
    return reserved_ + block_;
  }
  // That reservation is durable.
  void OnReserved(core::Step reserved) {
    under_way_ = false;
    reserved_ = std::max(reserved_, reserved);
  }

 private:
  core::Step next_;
  core::Step reserved_;
  const uint64_t block_;
  bool under_way_ = false;
};

}  // namespace penstock::client
