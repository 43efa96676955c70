#include "core/connector/staged_times.h"

#include <algorithm>

namespace penstock::core {

void StagedTimes::Add(uint64_t records, absl::Time now) {
  if (records == 0) return;
  added_ += records;
  if (size_ == kMarksMax) {
    size_ = kMarksMax / 2;
    for (size_t i = 0; i < size_; ++i) {
      marks_[i] = {.end = marks_[2 * i + 1].end, .time = marks_[2 * i].time};
    }
  }
  marks_[size_++] = {.end = added_, .time = now};
}

absl::Time StagedTimes::Take(uint64_t records) {
  if (records == 0 || size_ == 0) return absl::InfiniteFuture();
  const absl::Time oldest = marks_[0].time;
  taken_ += records;
  const auto begin = marks_.begin();
  const auto end = begin + static_cast<std::ptrdiff_t>(size_);
  const auto left = std::find_if(
      begin, end, [this](const Mark& mark) { return mark.end > taken_; });
  size_ = static_cast<size_t>(std::move(left, end, begin) - begin);
  return oldest;
}

}  // namespace penstock::core
