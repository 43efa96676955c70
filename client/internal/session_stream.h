// One Session with a worker, from its hello to its end. Internal to client/.
#pragma once

#include "client/internal/calls.h"
#include "core/base/executor.h"
#include "core/base/strand.h"
#include "core/connector/requests.h"
#include "proto/penstock/v1/control.grpc.pb.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>
#include <grpcpp/support/client_callback.h>

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client::internal {

//   hello ─▶ inventory ─▶ desired ─▶ reconciled ─▶ READY ─▶ over
//
// Owner:     itself, from Start to its end; its control sends.
// Threads:   thread-safe: Send and gRPC's callbacks post to a strand, to which
//            all else is confined.
// Lifecycle: until the stream ends, by the worker, by silence or by Cancel: all
//            that was sent and not answered then fails with the reason.
// Bound:     one read and one write in flight; commands that wait to be written
//            hold at most `bytes_max`, and data that is to travel in fragments
//            at most `upload_bytes_max` (or is one): one more is
//            BUDGET_EXCEEDED. Data is let go when its command is answered or
//            expires. What the worker has no room for yet (its hello says how
//            much) is held here, and what is of its connector's ordered lane
//            behind it.
class SessionStream final
    : public grpc::ClientBidiReactor<v1::SessionRequest, v1::SessionResponse>,
      public std::enable_shared_from_this<SessionStream> {
 public:
  using Done = absl::AnyInvocable<void(absl::StatusOr<v1::SessionReply>)>;

  struct Terms {
    absl::Duration heartbeat = absl::Seconds(5);
    size_t bytes_max = size_t{16} << 20;
    size_t upload_bytes_max = size_t{256} << 20;
  };
  struct Command {
    // Without id and fence.
    v1::SessionCommand message;
    // What follows in fragments.
    std::optional<std::string> data;
    absl::Duration deadline;
    // On the executor, exactly once.
    Done done;
  };
  // What is said to be desired; by default nothing, and all is left alone.
  struct Desired {
    std::vector<v1::DesiredConnector> connectors;
    bool drop_others = false;
    // What the worker says to it, once commands flow; or why they never will.
    // On the executor. May be null.
    absl::AnyInvocable<void(
        absl::StatusOr<std::vector<v1::ReconciledConnector>>)>
        done;
  };
  // Why; `is_unknown`: the worker does not know Sessions. On the executor.
  using OnOver =
      absl::AnyInvocable<void(const absl::Status& why, bool is_unknown)>;

  // `executor` outlives the group's Close and does not depend on its caller.
  static std::shared_ptr<SessionStream> Start(std::shared_ptr<CallGroup> group,
                                              v1::ControlService::Stub& stub,
                                              core::Executor& executor,
                                              const core::Fence& fence,
                                              Terms terms, Desired desired,
                                              OnOver on_over);

  void Send(Command command);
  // Ends it: UNAVAILABLE.
  void Cancel();
  // Blocks: until what was sent before is taken. Not on the executor.
  void Flush();
  // Nothing more can be sent.
  bool is_over() const { return is_over_.load(std::memory_order_acquire); }
  // The worker has taken it: commands flow.
  bool is_ready() const { return is_ready_.load(std::memory_order_acquire); }

  void OnReadDone(bool ok) override;
  void OnWriteDone(bool ok) override;
  void OnDone(const grpc::Status& status) override;

 private:
  // Written, and not answered yet.
  struct Outstanding {
    absl::Time deadline;
    Done done;
    // What the command announced.
    uint64_t announced = 0;
    // What of it is still to be sent, from `offset` on; empty: nothing.
    std::string data;
    uint64_t offset = 0;
  };
  struct Waiting {
    size_t bytes;
    absl::Time deadline;
    Command command;
    size_t data_bytes() const {
      return command.data.has_value() ? command.data->size() : 0;
    }
  };
  using Outstandings = std::map<uint64_t, Outstanding>;
  enum class Phase { kHello, kInventory, kDesiring, kComparing, kReady };

  SessionStream(std::shared_ptr<CallGroup> group, core::Executor& executor,
                Terms terms, Desired desired, OnOver on_over);

  void Begin(v1::ControlService::Stub& stub, const core::Fence& fence);
  void Take(Command command);
  void OnReceived(bool ok);
  void Handle(v1::WorkerMessage& message);
  void OnReply(v1::SessionReply& reply);
  void Pump();
  void AddDesired();
  void AddAbandoned();
  void AddCommands(size_t& bytes);
  void AddCommand(Waiting& waiting, size_t& bytes);
  void AddFragment();
  // Whether the worker has room for so much more.
  bool HasRoomFor(uint64_t bytes) const;
  bool IsToBeHeld(const Waiting& waiting) const;
  // Forgets it. Returns: whom to tell.
  Done Settle(Outstandings::iterator one);
  // Moves those that have expired out of `waiting`.
  void ExpireWaiting(std::deque<Waiting>& waiting, absl::Time now,
                     std::vector<Done>& expired);
  void Tick();
  void Expire(absl::Time now);
  void GiveUp(absl::Status status);
  void ReleaseHold();
  void Finish(const grpc::Status& status);

  const std::shared_ptr<CallGroup> group_;
  core::Executor& executor_;
  const Terms terms_;
  std::shared_ptr<grpc::ClientContext> context_;
  core::Strand strand_;
  std::atomic<bool> is_over_ = false;
  std::atomic<bool> is_ready_ = false;

  // Confined to the strand.
  OnOver on_over_;
  // Those of `connectors` before `desired_sent_` were sent.
  Desired desired_;
  size_t desired_sent_ = 0;
  std::vector<v1::ReconciledConnector> reconciled_;
  std::shared_ptr<SessionStream> self_;
  Phase phase_ = Phase::kHello;
  absl::Duration heartbeat_;
  absl::Duration silence_max_;
  absl::Time heard_;
  absl::Time said_;
  uint64_t next_id_ = 1;
  // Not written yet: in the order in which they came, and those of them that
  // had no room. Of both: bytes without data.
  std::deque<Waiting> waiting_;
  std::deque<Waiting> held_;
  size_t waiting_bytes_ = 0;
  // Data that is not sent yet, of all.
  size_t upload_bytes_ = 0;
  // By id, which is given when it is written: ids rise on the wire.
  Outstandings outstanding_;
  // Whose data is being sent, in turn; the answered ones are passed over.
  std::deque<uint64_t> uploads_;
  // Half-sent ones that the worker is to forget.
  std::deque<uint64_t> abandoned_;
  // What outstanding ones have announced, and how much of that the worker
  // keeps; 0: it does not say.
  uint64_t announced_ = 0;
  uint64_t announced_max_ = 0;
  v1::SessionRequest request_;
  v1::SessionResponse response_;
  bool writing_ = false;
  bool reads_over_ = false;
  bool holding_ = true;
  // Why we ended it, if we did.
  absl::Status given_up_;
};

}  // namespace penstock::client::internal
