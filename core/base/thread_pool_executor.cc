#include "core/base/thread_pool_executor.h"

#include "core/base/check.h"

#include <absl/strings/str_cat.h>

#include <stop_token>
#include <utility>

namespace penstock::core {
namespace {

// The executor whose thread this is.
thread_local const ThreadPoolExecutor* t_executor = nullptr;

}  // namespace

ThreadPoolExecutor::ThreadPoolExecutor(std::string name, int threads) {
  CHECK_GE(threads, 1);
  threads_.reserve(static_cast<size_t>(threads));
  for (int i = 0; i < threads; ++i) {
    threads_.push_back(
        std::make_unique<Thread>(absl::StrCat(name, "-", i),
                                 [this](const std::stop_token&) { Work(); }));
  }
}

ThreadPoolExecutor::~ThreadPoolExecutor() {
  {
    MutexLock lock(mu_);
    stopping_ = true;
  }
  follower_wake_.NotifyAll();
  leader_wake_.NotifyAll();
  threads_.clear();
  // What is left dies without the lock: destructors of tasks may schedule.
  TaskQueue ready;
  std::vector<Task> timers;
  {
    MutexLock lock(mu_);
    ready.Swap(ready_);
    timers = timers_.Clear();
  }
}

void ThreadPoolExecutor::Schedule(Task task) {
  CondVar* wake = nullptr;
  {
    MutexLock lock(mu_);
    if (!stopping_) {
      ready_.Push(std::move(task));
      wake = ChooseWake();
    }
  }
  if (wake != nullptr) wake->NotifyOne();
}

void ThreadPoolExecutor::ScheduleTail(Task task) {
  if (t_executor != this) return Schedule(std::move(task));
  // This thread comes to Take next, and passes on what it does not take.
  MutexLock lock(mu_);
  if (!stopping_) ready_.Push(std::move(task));
}

Executor::TimerId ThreadPoolExecutor::ScheduleAfter(absl::Duration delay,
                                                    Task task) {
  const absl::Time deadline = clock().SteadyNow() + delay;
  TimerId id = TimerId::kNone;
  CondVar* wake = nullptr;
  std::optional<Task> dropped;
  {
    MutexLock lock(mu_);
    const bool is_first = deadline < timers_.NextDeadline();
    id = timers_.Add(deadline, std::move(task));
    if (stopping_) {
      dropped = timers_.Cancel(id);
    } else if (is_first && leader_ && !leader_woken_) {
      // The leader sleeps until a later timer.
      leader_woken_ = true;
      wake = &leader_wake_;
    } else if (!leader_) {
      wake = ChooseWake();
    }
  }
  if (wake != nullptr) wake->NotifyOne();
  return id;
}

bool ThreadPoolExecutor::Cancel(TimerId id) {
  std::optional<Task> cancelled;
  {
    MutexLock lock(mu_);
    cancelled = timers_.Cancel(id);
  }
  return cancelled.has_value();
}

void ThreadPoolExecutor::Work() {
  t_executor = this;
  while (true) {
    Task task = Take();
    if (!task) return;
    task();
  }
}

Executor::Task ThreadPoolExecutor::Take() {
  Task task;
  CondVar* wake = nullptr;
  {
    MutexLock lock(mu_);
    while (!stopping_) {
      MoveDueTimers();
      if (!ready_.empty()) break;
      WaitForWork();
    }
    if (stopping_) return nullptr;
    task = ready_.Pop();
    // Pass on what this thread leaves behind: tasks for which nobody is on the
    // way, and the watch over the timers.
    const bool tasks_left =
        ready_.size() > static_cast<size_t>(follower_wakes_);
    const bool leader_missing = timers_.size() > 0 && !leader_;
    if (tasks_left || leader_missing) wake = ChooseWake();
  }
  if (wake != nullptr) wake->NotifyOne();
  return task;
}

void ThreadPoolExecutor::WaitForWork() {
  if (timers_.size() > 0 && !leader_) {
    leader_ = true;
    leader_wake_.WaitUntil(mu_, timers_.NextDeadline(), [this] {
      mu_.AssertHeld();
      return stopping_ || leader_woken_;
    });
    leader_ = false;
    leader_woken_ = false;
    return;
  }
  ++followers_;
  follower_wake_.Wait(mu_, [this] {
    mu_.AssertHeld();
    return stopping_ || follower_wakes_ > 0;
  });
  --followers_;
  if (follower_wakes_ > 0) --follower_wakes_;
}

void ThreadPoolExecutor::MoveDueTimers() {
  if (timers_.size() == 0) return;
  const absl::Time now = clock().SteadyNow();
  while (std::optional<Task> due = timers_.PopDue(now)) {
    ready_.Push(*std::move(due));
  }
}

CondVar* ThreadPoolExecutor::ChooseWake() {
  if (followers_ > follower_wakes_) {
    ++follower_wakes_;
    return &follower_wake_;
  }
  if (leader_ && !leader_woken_) {
    leader_woken_ = true;
    return &leader_wake_;
  }
  return nullptr;
}

}  // namespace penstock::core
