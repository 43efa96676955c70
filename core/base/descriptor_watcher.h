// Waits for descriptors that something comes through.
#pragma once

#include "core/base/mutex.h"
#include "core/base/thread.h"

#include <absl/functional/any_invocable.h>

#include <map>
#include <memory>
#include <stop_token>

namespace penstock::core {

// One thread for all who wait; it is made for the first of them.
//
// Owner:     the application; outlives those who watch.
// Threads:   thread-safe. Callbacks run one at a time on the watcher's thread
//            and must not block.
// Lifecycle: the destructor drops callbacks that were not called.
// Bound:     few descriptors: each wake-up looks at all of them.
class DescriptorWatcher {
 public:
  using Callback = absl::AnyInvocable<void()>;

  DescriptorWatcher();
  ~DescriptorWatcher();
  DescriptorWatcher(const DescriptorWatcher&) = delete;
  DescriptorWatcher& operator=(const DescriptorWatcher&) = delete;

  // Calls `callback` once, as soon as reading `fd` would not block: there are
  // bytes, or its end, or an error. Replaces a callback that waits for `fd`.
  // Requires: `fd` stays open until the callback is called, or Forget.
  void WatchOnce(int fd, Callback callback) ABSL_LOCKS_EXCLUDED(mu_);
  // Blocks: while the callback of `fd` runs; it is not called any more.
  void Forget(int fd) ABSL_LOCKS_EXCLUDED(mu_);

 private:
  void Run(const std::stop_token& stop);
  void CallIfWatched(int fd) ABSL_LOCKS_EXCLUDED(mu_);
  void Wake() const;

  // Wakes the thread.
  const int wake_fd_;
  Mutex mu_;
  CondVar called_;
  std::map<int, Callback> waiting_ ABSL_GUARDED_BY(mu_);
  // Whose callback runs; -1: none.
  int calling_ ABSL_GUARDED_BY(mu_) = -1;
  // Null until something is watched.
  std::unique_ptr<Thread> thread_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
