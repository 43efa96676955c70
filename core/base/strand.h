// A serial queue of tasks on an Executor: one at a time, in order.
#pragma once

#include "core/base/executor.h"

#include <absl/time/time.h>

#include <memory>

namespace penstock::core {

// What a driver is confined to instead of a lock. At most one thread runs the
// strand's tasks at any time, and what one task wrote the next one sees.
//
//   idle ──Post──▶ scheduled ──executor──▶ held ──queue empty──▶ idle
//     └────────────Dispatch, inline────────▲  └─queue not empty─▶ scheduled
//
// Owner:     the object whose state it confines. Tasks in flight share the
//            strand's state, so the Strand may be destroyed before they end;
//            what the tasks capture is theirs to keep alive.
// Threads:   thread-safe.
// Lifecycle: open, closed by Close or the destructor; it never reopens.
// Bound:     none of its own; in the executor it is one task at most.
class Strand {
 public:
  using Task = Executor::Task;
  using TimerId = Executor::TimerId;

  // `executor` outlives the strand and every call on it.
  explicit Strand(Executor& executor);
  Strand(const Strand&) = delete;
  Strand& operator=(const Strand&) = delete;
  // As Close.
  ~Strand();

  // Runs `task` after all that were posted before it, never inside this call.
  // One lock. Blocks: never. Dropped if closed.
  void Post(Task task);

  // Runs `task` inside this call, on this thread, if the strand is idle, and
  // holds the strand meanwhile; tasks posted meanwhile run afterwards, on the
  // executor. If the strand is not idle (also from its own task), as Post.
  void Dispatch(Task task);

  // Posts `task` once `delay` has passed.
  TimerId PostAfter(absl::Duration delay, Task task);
  // True: the task was not posted yet and never will run. False: it ran, is
  // queued and will run, was cancelled before, or is kNone.
  bool Cancel(TimerId id);

  // Whether the calling thread is inside a task of this strand.
  bool RunsHere() const;

  // Drops every task not begun, now and later; a running one ends by itself
  // and is not waited for. Tasks of timers are dropped when they are due.
  // Idempotent. May be called by a task of the strand.
  void Close();

  Executor& executor() const;

 private:
  class State;
  const std::shared_ptr<State> state_;
};

}  // namespace penstock::core
