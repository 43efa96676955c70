#include "tests/support/manual_executor.h"

#include "core/base/check.h"

#include <optional>
#include <utility>
#include <vector>

namespace penstock::core {

ManualExecutor::ManualExecutor()
    : own_clock_(std::make_unique<FakeClock>()), clock_(own_clock_.get()) {}

ManualExecutor::ManualExecutor(FakeClock& clock) : clock_(&clock) {}

ManualExecutor::~ManualExecutor() {
  {
    MutexLock lock(mu_);
    closed_ = true;
  }
  DropAll();
}

void ManualExecutor::Schedule(Task task) {
  MutexLock lock(mu_);
  if (closed_) return;
  ready_.push_back(std::move(task));
}

Executor::TimerId ManualExecutor::ScheduleAfter(absl::Duration delay,
                                                Task task) {
  std::optional<Task> dropped;
  MutexLock lock(mu_);
  const TimerId id = timers_.Add(clock_->SteadyNow() + delay, std::move(task));
  if (closed_) dropped = timers_.Cancel(id);
  return id;
}

bool ManualExecutor::Cancel(TimerId id) {
  std::optional<Task> cancelled;
  MutexLock lock(mu_);
  cancelled = timers_.Cancel(id);
  return cancelled.has_value();
}

bool ManualExecutor::RunOne() {
  const size_t ready = ready_count();
  if (ready == 0) return false;
  size_t index = 0;
  if (pick_ && ready > 1) {
    index = pick_(ready);
    CHECK_LT(index, ready);
  }
  Task task;
  {
    // Others may have added tasks since, but only this thread takes any.
    MutexLock lock(mu_);
    const auto chosen = ready_.begin() + static_cast<std::ptrdiff_t>(index);
    task = std::move(*chosen);
    ready_.erase(chosen);
  }
  task();
  return true;
}

size_t ManualExecutor::RunUntilIdle() {
  size_t ran = 0;
  while (RunOne()) {
    ++ran;
    CHECK_LE(ran, kTasksMax) << "tasks schedule each other without end";
  }
  return ran;
}

size_t ManualExecutor::Advance(absl::Duration duration) {
  const absl::Time end = clock_->SteadyNow() + duration;
  size_t ran = RunUntilIdle();
  for (absl::Time next = NextTimer(); next <= end; next = NextTimer()) {
    if (next > clock_->SteadyNow()) {
      clock_->Advance(next - clock_->SteadyNow());
    }
    ran += RunUntilIdle();
  }
  // A task may have moved the clock past the end itself.
  if (end > clock_->SteadyNow()) clock_->Advance(end - clock_->SteadyNow());
  return ran;
}

bool ManualExecutor::AdvanceToNextTimer() {
  const absl::Time next = NextTimer();
  if (next == absl::InfiniteFuture()) return false;
  const absl::Time now = clock_->SteadyNow();
  if (next > now) clock_->Advance(next - now);
  return true;
}

size_t ManualExecutor::ready_count() const {
  MutexLock lock(mu_);
  MoveDueTimers();
  return ready_.size();
}

size_t ManualExecutor::timer_count() const {
  MutexLock lock(mu_);
  MoveDueTimers();
  return timers_.size();
}

absl::Time ManualExecutor::NextTimer() const {
  MutexLock lock(mu_);
  return timers_.NextDeadline();
}

void ManualExecutor::SetPick(Pick pick) { pick_ = std::move(pick); }

void ManualExecutor::DropAll() {
  // They die without the lock, for their destructors may schedule; what those
  // schedule is dropped, too.
  while (true) {
    std::deque<Task> ready;
    std::vector<Task> timers;
    MutexLock lock(mu_);
    if (ready_.empty() && timers_.size() == 0) return;
    ready.swap(ready_);
    timers = timers_.Clear();
  }
}

void ManualExecutor::MoveDueTimers() const {
  while (std::optional<Task> due = timers_.PopDue(clock_->SteadyNow())) {
    ready_.push_back(*std::move(due));
  }
}

}  // namespace penstock::core
