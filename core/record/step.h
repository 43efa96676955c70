// Numbers that name units of progress and lanes.
#pragma once

#include <cstdint>

namespace penstock::core {

// The controller's numbered unit of progress. A number stands for one content
// for ever; numbers may jump, they never repeat. Seed type: `Step`.
//
// A *count* of steps ("completed", "released", "checkpointed", "progress") is
// exclusive: step n is done when the count is greater than n.
using Step = uint64_t;

// No step has this number, so that no count overflows.
inline constexpr Step kStepsMax = UINT64_MAX;

// One ordered lane into a sink, 0-based.
using ShardIndex = uint32_t;

// Whole consecutive steps: `begin` inclusive, `end` exclusive.
struct StepRange {
  Step begin = 0;
  Step end = 0;

  bool IsEmpty() const { return begin >= end; }
  friend bool operator==(const StepRange&, const StepRange&) = default;
};

}  // namespace penstock::core
