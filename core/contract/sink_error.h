// What an error of a sink means: one table for all sinks (design §7).
#pragma once

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>

namespace penstock::core {

enum class SinkErrorKind {
  // The outside system may answer differently next time; the batch is written
  // again. Never a reason to look for a bad row.
  kRetryable,
  // The target refuses something that it was given, and always will.
  kBadRow,
  // Another writer took over: nothing of ours has an effect any more.
  kFenced,
  // All else, what cannot be mended by waiting: the shard is broken for good.
  kFatal,
};

// By its reason; an error without one of ours goes by its code.
// Requires: `error` is not OK.
SinkErrorKind KindOfSinkError(const absl::Status& error);

inline bool IsRetryable(const absl::Status& error) {
  return !error.ok() && KindOfSinkError(error) == SinkErrorKind::kRetryable;
}

// ROW_REFUSED: the target refuses a row. `row`: which one, 0-based, of those
// pushed since BatchStart; nullopt: the target does not say.
absl::Status MakeRowRefused(absl::string_view message,
                            std::optional<uint64_t> row = std::nullopt);
// The row that `error` names; nullopt: none.
std::optional<uint64_t> RefusedRow(const absl::Status& error);

}  // namespace penstock::core
