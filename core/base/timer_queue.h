// Timers in order of time; the part that executors have in common.
#pragma once

#include "core/base/executor.h"

#include <absl/container/flat_hash_map.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <vector>

namespace penstock::core {

// A heap of deadlines beside a table of tasks. A cancelled timer leaves a dead
// entry in the heap, which goes when it comes to the top or when the dead
// outnumber the living.
// Owner:   an executor.
// Threads: thread-compatible.
// Bound:   O(living timers).
class TimerQueue {
 public:
  // Timers of equal deadline come out in the order they went in.
  Executor::TimerId Add(absl::Time deadline, Executor::Task task);

  // Takes a living timer's task out, for the caller to destroy without a lock.
  // nullopt: no such timer.
  std::optional<Executor::Task> Cancel(Executor::TimerId id);

  // The earliest deadline of a living timer; InfiniteFuture if there is none.
  absl::Time NextDeadline();

  // Takes out the first task whose deadline is at or before `now`, if any.
  std::optional<Executor::Task> PopDue(absl::Time now);

  // Takes out everything that is left, for destruction without a lock.
  std::vector<Executor::Task> Clear();

  size_t size() const { return tasks_.size(); }

 private:
  struct Entry {
    absl::Time deadline;
    uint64_t id;
  };
  // Orders a max-heap so that the earliest, then the oldest, is on top.
  static bool Later(const Entry& a, const Entry& b);
  void DropDeadTop();

  std::vector<Entry> heap_;
  absl::flat_hash_map<uint64_t, Executor::Task> tasks_;
  uint64_t next_id_ = 1;
};

}  // namespace penstock::core
