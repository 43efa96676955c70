// What a session's worker has to say and has not written yet.
#pragma once

#include "core/base/mutex.h"
#include "proto/penstock/v1/session.pb.h"

#include <absl/functional/any_invocable.h>

#include <cstddef>
#include <deque>
#include <utility>

namespace penstock::server {

// A FIFO that many connectors' answers fill and one stream empties, as much at
// a time as a message holds.
//
// Owner:     shared by the session and the commands it has begun.
// Threads:   thread-safe.
// Lifecycle: until Close; what is pushed then is dropped.
// Bound:     `bytes_max` and one message: then it has overflowed, and takes
//            nothing more.
class SessionOutbound {
 public:
  // In one SessionResponse, beside its last message. A slow line must bring it
  // before the controller hears too little of us.
  static constexpr size_t kBatchBytes = size_t{64} << 10;

  // `wake` runs, outside the lock, when there is something to Take, or it has
  // overflowed: once, until the next Take. It must only record.
  SessionOutbound(size_t bytes_max, absl::AnyInvocable<void()> wake)
      : bytes_max_(bytes_max), wake_(std::move(wake)) {}

  void Push(v1::WorkerMessage message);
  // As if something had been pushed. Beside others.
  void Wake();
  // Moves what one message holds into `batch`. Returns: whether there is any.
  bool Take(v1::SessionResponse& batch);
  void Close();
  size_t bytes() const;
  bool overflowed() const;

 private:
  struct Item {
    v1::WorkerMessage message;
    size_t bytes;
  };
  const size_t bytes_max_;
  absl::AnyInvocable<void()> wake_;
  mutable core::Mutex mu_;
  std::deque<Item> items_ ABSL_GUARDED_BY(mu_);
  size_t bytes_ ABSL_GUARDED_BY(mu_) = 0;
  bool woken_ ABSL_GUARDED_BY(mu_) = false;
  bool overflowed_ ABSL_GUARDED_BY(mu_) = false;
  bool closed_ ABSL_GUARDED_BY(mu_) = false;
};

}  // namespace penstock::server
