// An Executor on a fixed number of threads.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/base/task_queue.h"
#include "core/base/thread.h"
#include "core/base/timer_queue.h"

#include <memory>
#include <string>
#include <vector>

namespace penstock::core {

// Idle threads sleep. One of them, the leader, sleeps until the next timer is
// due; the others until there is a task. Nothing is polled. A task costs one
// lock to give and one to take, and a wake-up only if a thread is idle.
//
// Owner:     the application.
// Threads:   thread-safe.
// Lifecycle: runs from construction. The destructor lets running tasks finish,
//            starts no other, joins, and destroys what is left. Schedule during
//            the destructor (by a running task or by a task's destructor)
//            drops the task.
class ThreadPoolExecutor final : public Executor {
 public:
  // Requires: threads >= 1. Threads are called "`name`-0" and so on.
  ThreadPoolExecutor(std::string name, int threads);
  ThreadPoolExecutor(const ThreadPoolExecutor&) = delete;
  ThreadPoolExecutor& operator=(const ThreadPoolExecutor&) = delete;
  // Blocks: until running tasks end. Requires: not run by one of its tasks.
  ~ThreadPoolExecutor() override;

  void Schedule(Task task) override ABSL_LOCKS_EXCLUDED(mu_);
  void ScheduleTail(Task task) override ABSL_LOCKS_EXCLUDED(mu_);
  TimerId ScheduleAfter(absl::Duration delay, Task task) override
      ABSL_LOCKS_EXCLUDED(mu_);
  bool Cancel(TimerId id) override ABSL_LOCKS_EXCLUDED(mu_);
  const Clock& clock() const override { return RealClock(); }

 private:
  void Work() ABSL_LOCKS_EXCLUDED(mu_);
  // Blocks: until there is a task to run. Returns: null when stopping.
  Task Take() ABSL_LOCKS_EXCLUDED(mu_);
  // Sleeps as leader until the next timer, or as follower until a task.
  void WaitForWork() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  void MoveDueTimers() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Chooses an idle thread to wake, preferably a follower. Returns: what the
  // caller notifies once it has let go of the lock; null if nobody is idle.
  CondVar* ChooseWake() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  Mutex mu_;
  CondVar follower_wake_;
  CondVar leader_wake_;
  TaskQueue ready_ ABSL_GUARDED_BY(mu_);
  TimerQueue timers_ ABSL_GUARDED_BY(mu_);
  // Followers asleep, and of those how many have been woken but not yet run.
  int followers_ ABSL_GUARDED_BY(mu_) = 0;
  int follower_wakes_ ABSL_GUARDED_BY(mu_) = 0;
  bool leader_ ABSL_GUARDED_BY(mu_) = false;
  bool leader_woken_ ABSL_GUARDED_BY(mu_) = false;
  bool stopping_ ABSL_GUARDED_BY(mu_) = false;

  std::vector<std::unique_ptr<Thread>> threads_;
};

}  // namespace penstock::core
