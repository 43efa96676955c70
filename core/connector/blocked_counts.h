// At which counts of steps no checkpoint can be taken.
#pragma once

#include "core/record/step.h"

#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>

namespace penstock::core {

// A source that cannot be restarted behind a step (a barrier), or a transaction
// that is open, blocks the counts behind its first step up to the step that
// ends it: steps 5 and 6 barriers, 9 clear: the counts 6 to 9.
//
// Owner:   the driver. Threads: confined to its strand.
// Bound:   `kSpansMax` spans; older ones are forgotten first, and Forget.
class BlockedCounts {
 public:
  static constexpr size_t kSpansMax = 1024;
  struct Span {
    // Blocks count c if begin < c <= end.
    Step begin = 0;
    Step end = UINT64_MAX;
    // Wall-clock time.
    absl::Time since;
  };

  bool is_open() const { return !spans_.empty() && IsOpen(spans_.back()); }
  // No effect if one is open. Requires: steps rise.
  void Begin(Step step, absl::Time now);
  // No effect if none is open.
  void End(Step step);
  // nullopt: nothing blocks `count`.
  std::optional<Span> Find(Step count) const;
  // Nobody asks for counts at or below `count` any more.
  void Forget(Step count);

 private:
  static bool IsOpen(const Span& span) { return span.end == UINT64_MAX; }

  // Ascending, disjoint; only the last may be open.
  std::deque<Span> spans_;
};

}  // namespace penstock::core
