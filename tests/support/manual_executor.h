// An Executor that runs nothing by itself: the test says what runs and when.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/base/timer_queue.h"
#include "tests/support/fake_clock.h"

#include <absl/functional/any_invocable.h>
#include <absl/time/time.h>

#include <cstddef>
#include <deque>
#include <memory>

namespace penstock::core {

// Threads: Schedule, ScheduleAfter and Cancel are thread-safe; what runs tasks
//          is confined to the test's thread, on which the tasks run.
class ManualExecutor final : public Executor {
 public:
  // Chooses which of `ready` tasks (at least 2) runs next: 0 is the oldest.
  using Pick = absl::AnyInvocable<size_t(size_t ready)>;

  // Upper bound on tasks run by one RunUntilIdle, so that a test whose tasks
  // schedule each other for ever fails instead of hanging.
  static constexpr size_t kTasksMax = 10'000'000;

  // With a clock of its own.
  ManualExecutor();
  // With a clock that others share; it outlives this.
  explicit ManualExecutor(FakeClock& clock);
  ~ManualExecutor() override;

  void Schedule(Task task) override;
  TimerId ScheduleAfter(absl::Duration delay, Task task) override;
  bool Cancel(TimerId id) override;
  const Clock& clock() const override { return *clock_; }
  FakeClock& fake_clock() { return *clock_; }

  // Runs one ready task; a timer that is due counts as ready. False: none.
  bool RunOne();
  // Runs ready tasks until there are none. Time stands still.
  // Returns: how many ran. CHECKs that they are at most kTasksMax.
  size_t RunUntilIdle();
  // Runs until idle, then moves the clock from timer to timer, each time
  // running until idle, and at last to `duration` from now.
  // Returns: how many tasks ran.
  size_t Advance(absl::Duration duration);
  // Moves the clock to the earliest timer and makes it ready; false: no timer.
  bool AdvanceToNextTimer();

  // How many tasks could run now.
  size_t ready_count() const;
  // How many timers are set and not due.
  size_t timer_count() const;
  // The earliest timer's time on the steady clock; InfiniteFuture: none.
  absl::Time NextTimer() const;

  // Order is first in, first out unless a pick is set (null: back to that).
  void SetPick(Pick pick);

  // Destroys every task and timer without running it: a process dies.
  void DropAll();

 private:
  void MoveDueTimers() const ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  std::unique_ptr<FakeClock> own_clock_;
  FakeClock* const clock_;

  mutable Mutex mu_;
  mutable std::deque<Task> ready_ ABSL_GUARDED_BY(mu_);
  mutable TimerQueue timers_ ABSL_GUARDED_BY(mu_);
  bool closed_ ABSL_GUARDED_BY(mu_) = false;

  // Confined to the test's thread.
  Pick pick_;
};

}  // namespace penstock::core
