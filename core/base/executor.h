// Where tasks run. Everything in the core that is not a reader thread runs on
// an Executor that was handed in, so that a simulation can run it all on one
// thread in virtual time.
#pragma once

#include "core/base/clock.h"

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstdint>
#include <utility>

namespace penstock::core {

// Owner:     the application; outlives everything that schedules on it.
// Threads:   thread-safe.
// Bound:     none of its own: users bound what they schedule (a Strand has at
//            most one task of its own in here).
class Executor {
 public:
  // Runs once. A task that never runs is destroyed; its destructor must not
  // block and may schedule. Tasks throw nothing and never block for long.
  using Task = absl::AnyInvocable<void()>;
  // Names a timer for Cancel; never reused by the same executor.
  enum class TimerId : uint64_t { kNone = 0 };

  virtual ~Executor() = default;

  // Runs `task` soon, never inside this call. Tasks start in the order they
  // were scheduled, but may run at the same time: use a Strand for order.
  // Blocks: never.
  virtual void Schedule(Task task) = 0;
  // As Schedule, for the last act of a task of this executor: it may leave
  // `task` to the thread it is on, and wake no other for it. A chain of tasks,
  // one step each, so costs no switch of threads between its steps.
  virtual void ScheduleTail(Task task) { Schedule(std::move(task)); }

  // Runs `task` once `delay` of clock().SteadyNow() has passed; at once if it
  // is not positive, but never inside this call; never if infinite. Timers of
  // equal time start in the order they were made.
  // Blocks: never. Returns: an id, never kNone.
  virtual TimerId ScheduleAfter(absl::Duration delay, Task task) = 0;

  // Returns: true if the timer's task had not started and never will; it is
  // then destroyed before this returns. False if it started, was cancelled
  // before, or is unknown (kNone).
  // Blocks: never; a task that started may still be running.
  virtual bool Cancel(TimerId id) = 0;

  // The clock that the delays are measured on.
  virtual const Clock& clock() const = 0;
};

}  // namespace penstock::core
