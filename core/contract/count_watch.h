// A monotone count that others may watch.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "absl/functional/any_invocable.h"
#include "core/base/mutex.h"

namespace penstock::core {

// Seed type: the `tokio::sync::watch::Receiver` of `completion_watcher` and
// `checkpoint_watcher` (`Completion` is its value). The value is an exclusive
// count of steps.
//
// Threads: thread-safe. Callbacks run on the advancing thread, outside the
//          lock, and must not block.
// Bound:   one callback per live subscription.
class CountWatch {
 public:
  using Callback = absl::AnyInvocable<void(uint64_t)>;

  explicit CountWatch(uint64_t value) : value_(value) {}

  uint64_t value() const;
  // Raises the value; a lower or equal one has no effect (counts never go
  // back). Calls the subscribers if it rose.
  void Advance(uint64_t value);
  // Calls `callback` with each new value until the returned token is dropped.
  // A callback running while the token is dropped may still finish.
  [[nodiscard]] std::shared_ptr<void> Subscribe(Callback callback);

 private:
  mutable Mutex mu_;
  uint64_t value_ ABSL_GUARDED_BY(mu_);
  // Weak: a subscription ends with its token.
  std::vector<std::weak_ptr<Callback>> subscribers_ ABSL_GUARDED_BY(mu_);
};

}  // namespace penstock::core
