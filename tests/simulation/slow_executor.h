// An executor on which everything takes a while.
#pragma once

#include "core/base/executor.h"
#include "core/base/random.h"

#include <absl/time/time.h>

#include <utility>

namespace penstock::simulation {

// Runs tasks on another executor, each after a time drawn up to a maximum;
// zero: at once. So a target's commits are slow, and are overtaken by each
// other.
//
// Owner:   a life of a worker; what it is made of outlives it. `delay_max` may
//          change.
// Threads: confined to the test's thread.
class SlowExecutor final : public core::Executor {
 public:
  SlowExecutor(core::Executor& inner, const absl::Duration& delay_max,
               core::Random& random)
      : inner_(inner), delay_max_(delay_max), random_(random) {}

  void Schedule(Task task) override {
    if (delay_max_ == absl::ZeroDuration()) {
      inner_.Schedule(std::move(task));
    } else {
      inner_.ScheduleAfter(delay_max_ * random_.Double(), std::move(task));
    }
  }
  void ScheduleTail(Task task) override { Schedule(std::move(task)); }
  TimerId ScheduleAfter(absl::Duration delay, Task task) override {
    return inner_.ScheduleAfter(delay, std::move(task));
  }
  bool Cancel(TimerId id) override { return inner_.Cancel(id); }
  const core::Clock& clock() const override { return inner_.clock(); }

 private:
  core::Executor& inner_;
  const absl::Duration& delay_max_;
  core::Random& random_;
};

}  // namespace penstock::simulation
