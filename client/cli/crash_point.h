// Stops this process at a named point, for fault tests.
#pragma once

#include "client/controller/controller.h"

#include <absl/status/statusor.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::client {

// `POINT:N`: at the N-th time (from 1) that the controller reaches POINT.
struct CrashPoint {
  FaultPoint point = FaultPoint::kResultReceived;
  uint64_t count = 1;
  // SIGKILL or SIGSTOP.
  int signal = 0;
};

// Errors: INVALID_CONFIG naming the points that exist.
absl::StatusOr<CrashPoint> ParseCrashPoint(const std::string& text,
                                           const std::string& how);

}  // namespace penstock::client
