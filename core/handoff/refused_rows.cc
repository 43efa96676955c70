#include "core/handoff/refused_rows.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace penstock::core {

RefusedRows::RefusedRows(RefusedRowLimits limits)
    : limits_(limits),
      window_max_(std::max<uint64_t>(
          1, static_cast<uint64_t>(limits.ratio_max *
                                   static_cast<double>(limits.window_rows)))),
      part_rows_(limits.window_rows / kParts) {
  CHECK_GE(limits.window_rows, kParts);
  CHECK_GE(limits.ratio_max, 0.0);
  CHECK_LE(limits.ratio_max, 1.0);
}

void RefusedRows::Add(uint64_t rows, uint64_t refused) {
  // More than a window of taken rows leaves nothing but them.
  uint64_t left = std::min(rows, 2 * kParts * part_rows_);
  while (left > 0) {
    if (parts_[newest_].rows >= part_rows_) {
      newest_ = (newest_ + 1) % kParts;
      parts_[newest_] = Part();
    }
    const uint64_t added = std::min(left, part_rows_ - parts_[newest_].rows);
    parts_[newest_].rows += added;
    left -= added;
  }
  parts_[newest_].refused += refused;
}

void RefusedRows::AddTaken(uint64_t rows) {
  MutexLock lock(mu_);
  Add(rows, 0);
}

absl::Status RefusedRows::AddRefused() {
  uint64_t in_window = 0;
  uint64_t total = 0;
  {
    MutexLock lock(mu_);
    Add(1, 1);
    total = ++total_;
    for (const Part& part : parts_) in_window += part.refused;
  }
  if (total > limits_.total_max) {
    return MakeError(Reason::TOO_MANY_BAD_ROWS,
                     absl::StrCat("the target refused ", total,
                                  " rows since the connector was opened, and "
                                  "refused_rows.total_max is ",
                                  limits_.total_max),
                     {{"refused", absl::StrCat(total)},
                      {"limit", absl::StrCat(limits_.total_max)}});
  }
  if (in_window <= window_max_) return absl::OkStatus();
  return MakeError(
      Reason::TOO_MANY_BAD_ROWS,
      absl::StrCat("the target refused ", in_window, " of the last ",
                   limits_.window_rows,
                   " rows, and refused_rows.ratio_max lets only ", window_max_,
                   " pass; see whether rows and target fit each other at all"),
      {{"refused", absl::StrCat(in_window)},
       {"rows", absl::StrCat(limits_.window_rows)},
       {"limit", absl::StrCat(window_max_)}});
}

}  // namespace penstock::core
