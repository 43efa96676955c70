// Custom commands of a connector.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Seed type: `CommandHandler`. Threads: thread-safe.
class CommandHandler {
 public:
  virtual ~CommandHandler() = default;
  // Seed: `command`: JSON in, JSON out. Errors: UNSUPPORTED for an unknown
  // command, INVALID_CONFIG for a bad one, or what its execution met.
  virtual absl::StatusOr<std::string> Command(absl::string_view json) = 0;
};

}  // namespace penstock::core
