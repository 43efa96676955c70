// A FIFO of tasks that allocates only to grow.
#pragma once

#include "core/base/check.h"
#include "core/base/executor.h"

#include <cstddef>
#include <utility>
#include <vector>

namespace penstock::core {

// A ring that doubles when it is full and gives its storage back when it runs
// empty after a burst.
// Owner:   an executor or a strand.
// Threads: thread-compatible.
// Bound:   none of its own.
class TaskQueue {
 public:
  TaskQueue() = default;
  TaskQueue(const TaskQueue&) = delete;
  TaskQueue& operator=(const TaskQueue&) = delete;

  bool empty() const { return size_ == 0; }
  size_t size() const { return size_; }

  void Push(Executor::Task task) {
    if (size_ == ring_.size()) Grow();
    ring_[(first_ + size_) & (ring_.size() - 1)] = std::move(task);
    ++size_;
  }

  // Requires: not empty.
  Executor::Task Pop() {
    DCHECK_GT(size_, 0);
    Executor::Task task = std::move(ring_[first_]);
    ring_[first_] = nullptr;
    first_ = (first_ + 1) & (ring_.size() - 1);
    if (--size_ == 0 && ring_.size() > kKeptMax) {
      ring_ = std::vector<Executor::Task>();
    }
    if (size_ == 0) first_ = 0;
    return task;
  }

  void Swap(TaskQueue& other) noexcept {
    ring_.swap(other.ring_);
    std::swap(first_, other.first_);
    std::swap(size_, other.size_);
  }

 private:
  static constexpr size_t kFirstSize = 8;
  // A ring of at most this many tasks is kept when it runs empty.
  static constexpr size_t kKeptMax = 1024;

  void Grow() {
    std::vector<Executor::Task> larger(ring_.empty() ? kFirstSize
                                                     : 2 * ring_.size());
    for (size_t i = 0; i < size_; ++i) {
      larger[i] = std::move(ring_[(first_ + i) & (ring_.size() - 1)]);
    }
    ring_ = std::move(larger);
    first_ = 0;
  }

  // Its size is 0 or a power of two.
  std::vector<Executor::Task> ring_;
  size_t first_ = 0;
  size_t size_ = 0;
};

}  // namespace penstock::core
