// Time, as an interface, so that a test owns it.
#pragma once

#include <absl/time/time.h>

namespace penstock::core {

// Threads: thread-safe. Blocks: never.
class Clock {
 public:
  virtual ~Clock() = default;
  // Wall-clock time: for people and for records. It may jump either way.
  virtual absl::Time Now() const = 0;
  // Never goes back. Only differences mean something: for deadlines, ages.
  virtual absl::Time SteadyNow() const = 0;
};

// The machine's clock. Lifetime: the process.
const Clock& RealClock();

}  // namespace penstock::core
