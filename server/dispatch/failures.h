// What went wrong for good, counted.
// See server/dispatch/README.md.
#pragma once

#include "core/base/error.h"

#include <absl/status/status.h>

#include <atomic>
#include <cstdint>

namespace penstock::server {

// Of all connectors there were: one that cannot be opened, or is deleted as
// soon as it failed, has no series that anybody would see. A plain value.
struct FailureCounts {
  // Opens that failed, or were refused for want of room; not because the worker
  // goes away.
  uint64_t opens = 0;
  // Connectors that became FAILED, perhaps while they opened.
  uint64_t connectors = 0;
};

// Shared by: the dispatcher, its opens in flight, and the connectors.
// Threads:   thread-safe.
struct Failures {
  std::atomic<uint64_t> opens{0};
  std::atomic<uint64_t> connectors{0};

  void NoteOpen(const absl::Status& status) {
    if (status.ok() || core::HasReason(status, core::Reason::SHUTTING_DOWN)) {
      return;
    }
    ++opens;
  }
  FailureCounts counts() const {
    return {.opens = opens, .connectors = connectors};
  }
};

}  // namespace penstock::server
