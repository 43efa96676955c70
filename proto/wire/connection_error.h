// Tells an error of the connection to a worker from one that the worker found.
#pragma once

#include "core/base/error.h"

#include <absl/status/status.h>

#include <optional>
#include <utility>

namespace penstock::wire {

// The metadata that says so.
inline constexpr char kConnectionErrorKey[] = "connection";

// `status`, made by the connection and by no worker.
// Requires: it has a reason.
inline absl::Status MarkConnectionError(absl::Status status) {
  core::ErrorInfo info = *core::GetErrorInfo(status);
  info.metadata[kConnectionErrorKey] = "broken";
  return core::WithErrorInfo(std::move(status), info);
}

inline bool IsConnectionError(const absl::Status& status) {
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(status);
  return info.has_value() && info->metadata.contains(kConnectionErrorKey);
}

}  // namespace penstock::wire
