// Work that an executor does a step at a time, and whose end can be waited for.
#pragma once

#include "core/base/executor.h"
#include "core/base/mutex.h"
#include "core/base/strand.h"

#include <absl/time/time.h>

#include <memory>
#include <utility>

namespace penstock::core {

// The base of an object whose methods are steps of a strand. A task of the
// executor does one step only, so that an object with much to do holds back no
// other for longer than that (INV-13). `Derived` is held by shared_ptr and has
// `bool is_closed() const`, thread-safe: once true, no step begins any more.
//
// Owner:     as Derived. A posted step keeps it alive, a timer does not.
// Threads:   thread-safe; steps are confined to the strand.
// Lifecycle: until StopSteps; it never starts again.
// Bound:     none of its own.
template <typename Derived>
class StrandWork : public std::enable_shared_from_this<Derived> {
 public:
  void Post(void (Derived::*step)()) {
    strand_.executor().ScheduleTail([self = this->shared_from_this(), step] {
      self->strand_.Dispatch(
          [self, step] { self->Run([&self, step] { ((*self).*step)(); }); });
    });
  }
  template <typename Command>
  void PostCommand(void (Derived::*step)(const Command&), Command command) {
    strand_.Post(
        [self = this->shared_from_this(), step, command = std::move(command)] {
          self->Run([&] { ((*self).*step)(command); });
        });
  }
  // Does nothing if the object is gone by then.
  Executor::TimerId PostAfter(absl::Duration delay, void (Derived::*step)()) {
    return strand_.PostAfter(delay, [weak = this->weak_from_this(), step] {
      if (const std::shared_ptr<Derived> self = weak.lock()) {
        self->Run([&self, step] { ((*self).*step)(); });
      }
    });
  }
  void CancelStep(Executor::TimerId timer) { strand_.Cancel(timer); }

 protected:
  // `executor` outlives the object.
  explicit StrandWork(Executor& executor) : strand_(executor) {}
  ~StrandWork() = default;
  StrandWork(const StrandWork&) = delete;
  StrandWork& operator=(const StrandWork&) = delete;

  // Blocks: until the running step, if any, is over; none begins any more. Not
  // to be called by a step.
  void StopSteps() ABSL_LOCKS_EXCLUDED(mu_) {
    strand_.Close();
    MutexLock lock(mu_);
    is_stopped_ = true;
    idle_.Wait(mu_, [this] {
      mu_.AssertHeld();
      return !is_running_;
    });
  }

 private:
  template <typename Step>
  void Run(Step step) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      if (is_stopped_) return;
      is_running_ = true;
    }
    if (!static_cast<const Derived*>(this)->is_closed()) step();
    MutexLock lock(mu_);
    is_running_ = false;
    idle_.NotifyAll();
  }

  Strand strand_;
  Mutex mu_;
  CondVar idle_;
  bool is_running_ ABSL_GUARDED_BY(mu_) = false;
  bool is_stopped_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace penstock::core
