// The controller's strand, and tasks that end with the controller.
#pragma once

#include "core/base/executor.h"
#include "core/base/strand.h"

#include <absl/time/time.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <tuple>
#include <utility>

namespace penstock::client {

// Owner:     the controller. Shared by: its tasks in flight.
// Threads:   thread-safe, but SetOwner comes first.
// Lifecycle: open, closed by Close; tasks that have not begun are dropped.
class TaskScope {
 public:
  using Task = core::Executor::Task;
  using TimerId = core::Executor::TimerId;

  explicit TaskScope(core::Executor& executor)
      : state_(std::make_shared<State>(executor)) {}
  ~TaskScope() { Close(); }
  TaskScope(const TaskScope&) = delete;
  TaskScope& operator=(const TaskScope&) = delete;

  // Tasks run only while `owner` lives, and keep it alive meanwhile: so they
  // may use whatever it owns.
  void SetOwner(std::weak_ptr<void> owner) { state_->owner = std::move(owner); }

  TimerId PostAfter(absl::Duration delay, Task task) {
    return state_->strand.PostAfter(
        delay, [state = state_, task = std::move(task)]() mutable {
          state->Run([&task] { task(); });
        });
  }
  bool Cancel(TimerId id) { return state_->strand.Cancel(id); }

  // A callback for others: wherever and whenever it is called, once, `f` runs
  // on the strand with what it was given.
  template <typename F>
  auto Wrap(F f) {
    return [state = state_, f = std::move(f)](auto&&... given) mutable {
      state->strand.Post(
          [state, f = std::move(f),
           arguments = std::make_tuple(
               std::forward<decltype(given)>(given)...)]() mutable {
            state->Run([&] { std::apply(f, std::move(arguments)); });
          });
    };
  }

  void Post(Task task) { Wrap(std::move(task))(); }

  const core::Clock& clock() const { return state_->strand.executor().clock(); }
  bool closed() const { return state_->closed.load(std::memory_order_relaxed); }
  void Close() {
    state_->closed.store(true, std::memory_order_relaxed);
    state_->strand.Close();
  }

 private:
  struct State {
    explicit State(core::Executor& executor) : strand(executor) {}
    template <typename F>
    void Run(F f) {
      if (closed.load(std::memory_order_relaxed)) return;
      const std::shared_ptr<void> held = owner.lock();
      if (held != nullptr) f();
    }
    core::Strand strand;
    std::weak_ptr<void> owner;
    std::atomic<bool> closed{false};
  };
  const std::shared_ptr<State> state_;
};

// One timer at most, on the scope's strand.
// Owner: an object of the scope's owner. Threads: confined to the strand.
class ScopedTimer {
 public:
  explicit ScopedTimer(TaskScope& tasks) : tasks_(tasks) {}
  ScopedTimer(const ScopedTimer&) = delete;
  ScopedTimer& operator=(const ScopedTimer&) = delete;

  // Replaces what was set before.
  void Set(absl::Duration delay, TaskScope::Task task) {
    Cancel();
    is_set_ = true;
    id_ = tasks_.PostAfter(
        delay, [this, turn = turn_, task = std::move(task)]() mutable {
          if (turn != turn_) return;
          is_set_ = false;
          task();
        });
  }
  void Cancel() {
    ++turn_;
    if (is_set_) tasks_.Cancel(id_);
    is_set_ = false;
  }
  bool is_set() const { return is_set_; }

 private:
  TaskScope& tasks_;
  TaskScope::TimerId id_ = TaskScope::TimerId::kNone;
  // A timer that fired but has not run yet belongs to an earlier turn.
  uint64_t turn_ = 0;
  bool is_set_ = false;
};

}  // namespace penstock::client
