// Since when what is staged is staged.
// See core/connector/README.md.
#pragma once

#include <absl/time/time.h>

#include <array>
#include <cstddef>
#include <cstdint>

namespace penstock::core {

// A queue of records, of which only the times are kept. Buffers that came one
// after the other share a mark where there are many: then the older time counts
// for all of them. A shared mark stands for at most a fourteenth of what was
// staged when it came to be, so no answer is ever more records too old.
//
// Threads: thread-compatible. Neither call allocates.
// Bound:   kMarksMax marks.
class StagedTimes {
 public:
  static constexpr size_t kMarksMax = 32;

  void Add(uint64_t records, absl::Time now);
  // The oldest `records` leave. Returns: when the first of them came;
  // InfiniteFuture() if there was none.
  absl::Time Take(uint64_t records);

 private:
  struct Mark {
    // The records before this one were added at `time`, or a little later.
    uint64_t end = 0;
    absl::Time time;
  };

  void Merge();

  // Ascending in both.
  std::array<Mark, kMarksMax> marks_;
  size_t size_ = 0;
  // The records before the first mark's.
  uint64_t begin_ = 0;
  uint64_t added_ = 0;
  uint64_t taken_ = 0;
};

}  // namespace penstock::core
