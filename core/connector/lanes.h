// The commands on their way to a driver, in two lanes.
// See core/connector/README.md; upholds INV-5 (data never delays a command).
#pragma once

#include "core/base/mutex.h"
#include "core/connector/drain_scope.h"
#include "core/connector/requests.h"
#include "core/record/step.h"

#include <absl/base/thread_annotations.h>
#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <atomic>
#include <cstddef>
#include <functional>
#include <variant>
#include <vector>

namespace penstock::core {

template <typename T>
using ReplyTo = absl::AnyInvocable<void(absl::StatusOr<T>)>;
using DoneTo = absl::AnyInvocable<void(absl::Status)>;

// Ordered: one after the other.
struct ReplayCall {
  ReplayRequest request;
  ReplyTo<ReplayReply> reply;
};
struct ExtendCall {
  DoneTo reply;
};
struct PauseCall {
  DoneTo reply;
};
struct QueueCall {
  QueueRequest request;
  ReplyTo<QueueReply> reply;
};
using OrderedCall = std::variant<ReplayCall, ExtendCall, PauseCall, QueueCall>;

// Immediate: between any two buffers and while blocked.
struct OpenCall {
  ReplyTo<OpenReply> reply;
};
struct ReleaseCall {
  Step released_steps = 0;
  DoneTo reply;
};
struct PrepareCall {
  PrepareCheckpointRequest request;
  ReplyTo<PrepareCheckpointReply> reply;
};
struct CommitCall {
  CommitCheckpointRequest request;
  DoneTo reply;
};
struct DisconnectCall {
  DisconnectRequest request;
  ReplyTo<DisconnectReply> reply;
};
struct DrainCall {
  DrainScope scope = DrainScope::kWorker;
  DoneTo reply;
};
struct SupersedeCall {
  DoneTo reply;
};
struct OrphanCall {
  absl::Time unheard_since;
  // Whether that is so now.
  std::function<bool()> still;
  DoneTo reply;
};
struct UpdateCall {
  UpdateRequest request;
  ReplyTo<UpdateReply> reply;
};
using ImmediateCall =
    std::variant<OpenCall, ReleaseCall, PrepareCall, CommitCall, DisconnectCall,
                 SupersedeCall, DrainCall, OrphanCall, UpdateCall>;

// Answers any call with an error.
template <typename Call>
void Refuse(Call& call, const absl::Status& error) {
  std::visit([&error](auto& one) { one.reply(error); }, call);
}

// What is answered instead of one command more than there may be.
absl::Status TooManyCalls();
// What the commands of a controller get that was taken over from.
absl::Status SupersededCall();

// Owner:   the driver. Threads: thread-safe.
// Bound:   `kCallsMax` in each lane; one more is refused. A Supersede is always
//          taken: there is one for each takeover, which is durable first.
class Lanes {
 public:
  static constexpr size_t kCallsMax = 1024;
  struct Calls {
    std::vector<ImmediateCall> immediate;
    std::vector<OrderedCall> ordered;
  };

  // Beyond the bound the call is answered BUDGET_EXCEEDED, with a retry delay,
  // on this thread. Blocks: never.
  void Push(OrderedCall call) ABSL_LOCKS_EXCLUDED(mu_);
  // A Supersede refuses, on this thread, the ordered calls before it.
  void Push(ImmediateCall call) ABSL_LOCKS_EXCLUDED(mu_);

  // Both lanes at one instant, each in the order in which it was pushed: if a
  // call behind a Supersede is taken, the Supersede is, or was before.
  Calls TakeAll() ABSL_LOCKS_EXCLUDED(mu_);
  // In the order they were pushed.
  std::vector<ImmediateCall> TakeImmediate() ABSL_LOCKS_EXCLUDED(mu_);
  // No lock, for a look between any two buffers. May miss a call that is being
  // pushed: that one wakes the driver.
  bool HasImmediate() const {
    return has_immediate_.load(std::memory_order_acquire);
  }

 private:
  mutable Mutex mu_;
  std::vector<OrderedCall> ordered_ ABSL_GUARDED_BY(mu_);
  std::vector<ImmediateCall> immediate_ ABSL_GUARDED_BY(mu_);
  std::atomic<bool> has_immediate_{false};
};

}  // namespace penstock::core
