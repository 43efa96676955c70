#include "core/connector/staged_times.h"

#include <algorithm>

namespace penstock::core {

void StagedTimes::Add(uint64_t records, absl::Time now) {
  if (records == 0) return;
  added_ += records;
  if (size_ == kMarksMax) Merge();
  marks_[size_++] = {.end = added_, .time = now};
}

// The two that stand for the fewest records together, what has already left
// included: a first mark that is nearly taken would otherwise always be the
// smallest, and take in the next one with its old time again and again.
void StagedTimes::Merge() {
  uint64_t begin = begin_;
  uint64_t fewest = UINT64_MAX;
  size_t first = 0;
  for (size_t i = 0; i + 1 < size_; ++i) {
    const uint64_t together = marks_[i + 1].end - begin;
    if (together < fewest) {
      fewest = together;
      first = i;
    }
    begin = marks_[i].end;
  }
  marks_[first].end = marks_[first + 1].end;
  const auto merged = marks_.begin() + static_cast<std::ptrdiff_t>(first) + 1;
  std::move(merged + 1, marks_.begin() + static_cast<std::ptrdiff_t>(size_),
            merged);
  --size_;
}

absl::Time StagedTimes::Take(uint64_t records) {
  if (records == 0 || size_ == 0) return absl::InfiniteFuture();
  const absl::Time oldest = marks_[0].time;
  taken_ += records;
  const auto begin = marks_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(size_);
  const auto left = std::find_if(
      begin, end, [this](const Mark& mark) { return mark.end > taken_; });
  if (left != begin) begin_ = (left - 1)->end;
  size_ = static_cast<size_t>(std::move(left, end, begin) - begin);
  return oldest;
}

}  // namespace penstock::core
