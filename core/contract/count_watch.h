// A monotone count that others may watch.
#pragma once

#include "core/base/mutex.h"

#include <absl/functional/any_invocable.h>

#include <cstdint>
#include <memory>
#include <vector>

namespace penstock::core {

// Seed type: the `tokio::sync::watch::Receiver` of `completion_watcher` and
// `checkpoint_watcher` (`Completion` is its value). The value is an exclusive
// count of steps.
//
// Threads: thread-safe. Callbacks run on an advancing thread, outside the
//          lock, one at a time, and must not block; they may Advance.
// Bound:   one callback per live subscription.
class CountWatch {
 public:
  using Callback = absl::AnyInvocable<void(uint64_t)>;

  explicit CountWatch(uint64_t value) : value_(value) {}

  uint64_t value() const;
  // Raises the value; a lower or equal one has no effect (counts never go
  // back). Calls the subscribers if it rose.
  void Advance(uint64_t value);
  // Calls the subscribers with the present value, for one that lost what it
  // did about it (`protocol.md` rule 7: acknowledge upstream again).
  void Repeat();
  // Calls `callback` with each new value, rising, until the returned token is
  // dropped; a value that a newer one overtook may be left out. It is not
  // called with the present value: subscribe first, then read value().
  // A callback running while the token is dropped may still finish.
  [[nodiscard]] std::shared_ptr<void> Subscribe(Callback callback);

 private:
  // Calls the subscribers until nothing is due. Lets go of the lock meanwhile.
  void Notify() ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);
  // Also forgets those whose token is gone. The pointers must be let go
  // outside the lock, for a callback may die with them.
  std::vector<std::shared_ptr<Callback>> LiveSubscribers()
      ABSL_EXCLUSIVE_LOCKS_REQUIRED(mu_);

  mutable Mutex mu_;
  uint64_t value_ ABSL_GUARDED_BY(mu_);
  // Weak: a subscription ends with its token.
  std::vector<std::weak_ptr<Callback>> subscribers_ ABSL_GUARDED_BY(mu_);
  // Subscribers are to be called with the present value.
  bool due_ ABSL_GUARDED_BY(mu_) = false;
  // A thread is calling subscribers; it goes on while something is due.
  bool notifying_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace penstock::core
