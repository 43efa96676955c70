// What a task on another thread leaves for a driver.
#pragma once

#include "core/base/mutex.h"
#include "core/connector/waker.h"

#include <absl/base/thread_annotations.h>

#include <memory>
#include <utility>
#include <vector>

namespace penstock::core {

// Owner:   shared by the driver and the tasks and callbacks that answer it: an
//          answer that comes after the driver is gone is harmless.
// Threads: thread-safe.
// Bound:   one value per question that is under way, which is for its owner to
//          bound: one Open, Checkpointer::kLiftsMax lifts of each shard, one
//          stop of each shard, one end of reader and target.
template <typename T>
class Mailbox {
 public:
  // Shared by: the driver and all that wake it.
  explicit Mailbox(std::shared_ptr<Waker> waker) : waker_(std::move(waker)) {}

  // Blocks: never.
  void Put(T value) ABSL_LOCKS_EXCLUDED(mu_) {
    {
      MutexLock lock(mu_);
      values_.push_back(std::move(value));
    }
    waker_->Wake();
  }
  // In the order they were put.
  std::vector<T> TakeAll() ABSL_LOCKS_EXCLUDED(mu_) {
    MutexLock lock(mu_);
    return std::exchange(values_, {});
  }

 private:
  const std::shared_ptr<Waker> waker_;
  Mutex mu_;
  std::vector<T> values_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
