#include "core/base/strand.h"

#include "core/base/mutex.h"
#include "core/base/task_queue.h"

#include <atomic>
#include <utility>

namespace penstock::core {
namespace {

// After this many tasks a strand goes to the back of the executor's queue.
constexpr int kTasksPerTurn = 64;

// The strands that the current thread is inside of, innermost first: a task of
// one strand may dispatch inline into another.
struct Frame {
  const void* state;
  const Frame* outer;
};
thread_local const Frame* t_innermost = nullptr;

// Marks the current thread as inside of a strand for a scope.
class FrameScope {
 public:
  explicit FrameScope(const void* state) : frame_{state, t_innermost} {
    t_innermost = &frame_;
  }
  FrameScope(const FrameScope&) = delete;
  FrameScope& operator=(const FrameScope&) = delete;
  ~FrameScope() { t_innermost = frame_.outer; }

 private:
  const Frame frame_;
};

}  // namespace

// Owner:   shared by the Strand and by its run in the executor, if any.
// Threads: thread-safe. The *holder*, the thread that set or inherited
//          active_, owns batch_.
class Strand::State : public std::enable_shared_from_this<Strand::State> {
 public:
  explicit State(Executor& executor) : executor_(executor) {}

  Executor& executor() const { return executor_; }

  void Post(Task task) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      if (closed_.load(std::memory_order_relaxed)) return;
      queue_.Push(std::move(task));
      if (active_) return;
      active_ = true;
    }
    ScheduleRun();
  }

  void Dispatch(Task task) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      if (closed_.load(std::memory_order_relaxed)) return;
      if (active_) {
        queue_.Push(std::move(task));
        return;
      }
      active_ = true;
    }
    {
      FrameScope inside(this);
      task();
      task = nullptr;
    }
    if (!Leave()) ScheduleRun();
  }

  void Close() ABSL_LOCKS_EXCLUDED(mu_) {
    TaskQueue dropped;  // Dies without the lock: destructors may post.
    MutexLock lock(mu_);
    closed_.store(true, std::memory_order_relaxed);
    queue_.Swap(dropped);
  }

 private:
  void ScheduleRun() {
    executor_.Schedule([self = shared_from_this()] { self->Run(); });
  }

  // One turn of the holder.
  void Run() ABSL_LOCKS_EXCLUDED(mu_) {
    FrameScope inside(this);
    for (int ran = 0; ran < kTasksPerTurn; ++ran) {
      if (batch_.empty() && !Refill()) return;
      Task task = batch_.Pop();
      // Relaxed: Close promises an end, not an instant. A task that closes its
      // own strand is seen, for it is on this thread.
      if (!closed_.load(std::memory_order_relaxed)) task();
    }
    ScheduleRun();
  }

  // Takes what was posted. False: nothing was, and the strand is idle.
  bool Refill() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    if (queue_.empty()) {
      active_ = false;
      return false;
    }
    batch_.Swap(queue_);
    return true;
  }

  // True: the strand is idle. False: the caller is still its holder.
  bool Leave() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    active_ = !queue_.empty();
    return !active_;
  }

  Executor& executor_;

  Mutex mu_;
  TaskQueue queue_ ABSL_GUARDED_BY(mu_);
  // Whether some thread holds the strand or a run is scheduled.
  bool active_ ABSL_GUARDED_BY(mu_) = false;
  // Written under mu_, read by the holder without.
  std::atomic<bool> closed_{false};

  // Confined to the holder: what it took from queue_ and has not run.
  TaskQueue batch_;
};

Strand::Strand(Executor& executor)
    : state_(std::make_shared<State>(executor)) {}

Strand::~Strand() { state_->Close(); }

void Strand::Post(Task task) { state_->Post(std::move(task)); }

void Strand::Dispatch(Task task) {
  // The task may destroy this Strand.
  const std::shared_ptr<State> state = state_;
  state->Dispatch(std::move(task));
}

Strand::TimerId Strand::PostAfter(absl::Duration delay, Task task) {
  return executor().ScheduleAfter(
      delay, [state = state_, task = std::move(task)]() mutable {
        state->Post(std::move(task));
      });
}

bool Strand::Cancel(TimerId id) { return executor().Cancel(id); }

bool Strand::RunsHere() const {
  for (const Frame* frame = t_innermost; frame != nullptr;
       frame = frame->outer) {
    if (frame->state == state_.get()) return true;
  }
  return false;
}

void Strand::Close() { state_->Close(); }

Executor& Strand::executor() const { return state_->executor(); }

}  // namespace penstock::core
