// Gives back to the system what connectors held that are gone.
// See server/README.md.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"

#include <absl/time/time.h>

#include <cstdint>
#include <functional>
#include <memory>

namespace penstock::server {

// The allocator keeps what was freed, by thread and in pieces: a worker that
// had a thousand connectors would stay as large for as long as it lives. This
// looks now and then whether some were removed, and tells it to let go.
//
// Owner:     the app. Threads: works on `executor`.
// Lifecycle: from construction; the destructor waits for a look under way.
class MemoryTidy {
 public:
  // Letting go of some hundred megabytes takes some milliseconds.
  static constexpr absl::Duration kLook = absl::Seconds(10);

  // `removals`: how many connectors were removed so far; used until the
  // destructor has returned. `executor` outlives this and its timer.
  MemoryTidy(core::Executor& executor, std::function<uint64_t()> removals);
  MemoryTidy(const MemoryTidy&) = delete;
  MemoryTidy& operator=(const MemoryTidy&) = delete;
  ~MemoryTidy();

 private:
  struct State;

  // Shared by: this and its timer.
  const std::shared_ptr<State> state_;
};

}  // namespace penstock::server
