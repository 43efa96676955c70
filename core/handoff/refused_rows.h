// How many rows a target may refuse before its connector stops.
// See core/handoff/README.md; upholds INV-11.
#pragma once

#include "core/base/mutex.h"
#include "core/contract/dead_letter.h"

#include <absl/base/thread_annotations.h>
#include <absl/status/status.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::core {

// Counts the rows whose fate the target decided.
//
// Owner:   one per connector; outlives its shard workers.
// Threads: thread-safe.
// Bound:   constant. The window moves by tenths, so it sees the last 0.9 to 1
//          times `window_rows`.
class RefusedRows {
 public:
  // Requires: 0 <= ratio_max <= 1, window_rows >= 10.
  explicit RefusedRows(RefusedRowLimits limits);

  // Rows that the target took. Requires: these were not added before.
  void AddTaken(uint64_t rows) ABSL_LOCKS_EXCLUDED(mu_);
  // One that it refused. Errors: TOO_MANY_BAD_ROWS if that is one too many,
  // from then on always.
  absl::Status AddRefused() ABSL_LOCKS_EXCLUDED(mu_);

 private:
  static constexpr size_t kParts = 10;
  struct Part {
    uint64_t rows = 0;
    uint64_t refused = 0;
  };

  void Add(uint64_t rows, uint64_t refused) ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  const RefusedRowLimits limits_;
  const uint64_t window_max_;
  const uint64_t part_rows_;
  Mutex mu_;
  uint64_t total_ ABSL_GUARDED_BY(mu_) = 0;
  // A ring; `newest_` is being filled.
  std::array<Part, kParts> parts_ ABSL_GUARDED_BY(mu_);
  size_t newest_ ABSL_GUARDED_BY(mu_) = 0;
};

}  // namespace penstock::core
