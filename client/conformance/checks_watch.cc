#include "client/conformance/checks.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <grpcpp/client_context.h>

#include <memory>
#include <vector>

namespace penstock::conformance {
namespace {

// A watch whose events are read one by one.
// Lifecycle: the destructor cancels it.
class Watching {
 public:
  Watching(Subject& subject, const v1::WatchRequest& request) {
    SetDeadline(context_);
    reader_ = subject.watch().Watch(&context_, request);
  }
  ~Watching() {
    context_.TryCancel();
    v1::WatchResponse rest;
    while (reader_->Read(&rest)) {
    }
    reader_->Finish();
  }

  absl::StatusOr<v1::WatchEvent> Next() {
    while (next_ == events_.size()) {
      v1::WatchResponse response;
      if (!reader_->Read(&response)) {
        return absl::InternalError("the watch ended too early");
      }
      events_.assign(response.events().begin(), response.events().end());
      next_ = 0;
    }
    return events_[next_++];
  }

 private:
  grpc::ClientContext context_;
  std::unique_ptr<grpc::ClientReader<v1::WatchResponse>> reader_;
  std::vector<v1::WatchEvent> events_;
  size_t next_ = 0;
};

v1::WatchRequest RequestFor(const Hand& hand, v1::WatchKind kind) {
  v1::WatchRequest request;
  request.add_connectors(hand.ref.connector());
  request.add_kinds(kind);
  return request;
}

absl::Status OrderOfTheFirstEvents(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  Watching watch(subject, RequestFor(hand, v1::WATCH_KIND_COMPLETION));
  ASSIGN_OR_RETURN(v1::WatchEvent event, watch.Next());
  RETURN_IF_ERROR(
      Expect(event.has_created() && !event.created().run_id().empty(),
             "the first event does not acknowledge the watch"));
  ASSIGN_OR_RETURN(event, watch.Next());
  RETURN_IF_ERROR(Expect(event.has_completion(),
                         "no snapshot follows the acknowledgement"));
  RETURN_IF_ERROR(Expect(event.instance() == hand.ref.instance(),
                         "an event names no instance"));
  ASSIGN_OR_RETURN(event, watch.Next());
  return Expect(event.has_snapshot_end(), "no marker ends the snapshot");
}

absl::Status CompletionRises(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  Watching watch(subject, RequestFor(hand, v1::WATCH_KIND_COMPLETION));
  RETURN_IF_ERROR(hand.Release(3).status());
  uint64_t last = 0;
  while (last < 3) {
    ASSIGN_OR_RETURN(const v1::WatchEvent event, watch.Next());
    if (!event.has_completion()) continue;
    RETURN_IF_ERROR(Expect(event.completion().completed_steps() >= last,
                           "the completed count went back"));
    last = event.completion().completed_steps();
  }
  return absl::OkStatus();
}

absl::Status StatesAreSeen(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Open());
  Watching watch(subject, RequestFor(hand, v1::WATCH_KIND_STATE));
  while (true) {
    ASSIGN_OR_RETURN(const v1::WatchEvent event, watch.Next());
    if (event.has_snapshot_end()) break;
  }
  RETURN_IF_ERROR(hand.Extend().status());
  RETURN_IF_ERROR(hand.Pause().status());
  // None of them coalesces. That it was opened may come behind a snapshot that
  // shows it.
  uint64_t sequence = 0;
  for (const v1::ConnectorState wanted :
       {v1::CONNECTOR_STATE_RUNNING, v1::CONNECTOR_STATE_PAUSED}) {
    v1::WatchEvent event;
    do {
      ASSIGN_OR_RETURN(event, watch.Next());
    } while (!event.has_state_changed() ||
             event.state_changed().state() == v1::CONNECTOR_STATE_OPENED);
    RETURN_IF_ERROR(Expect(event.state_changed().state() == wanted,
                           event.ShortDebugString()));
    RETURN_IF_ERROR(
        Expect(event.sequence() > sequence, "sequence numbers do not rise"));
    sequence = event.sequence();
  }
  return absl::OkStatus();
}

absl::Status WatchingNeedsNoFence(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  v1::WatchRequest request = RequestFor(hand, v1::WATCH_KIND_HEALTH);
  request.set_pipeline(hand.fence.pipeline());
  Watching watch(subject, request);
  RETURN_IF_ERROR(watch.Next().status());
  // And it evicts nobody.
  return hand.Queue().status();
}

constexpr ConformanceCheck kChecks[] = {
    {"11/order", "acknowledgement, snapshot, marker", OrderOfTheFirstEvents},
    {"11/completion", "counters reach the newest, and never go back",
     CompletionRises},
    {"11/state", "changes of state do not coalesce", StatesAreSeen},
    {"11/no_fence", "watching needs no epoch, and evicts nobody",
     WatchingNeedsNoFence},
};

}  // namespace

std::span<const ConformanceCheck> WatchChecks() { return kChecks; }

}  // namespace penstock::conformance
