#include "server/rpc/watch_service.h"

#include "core/base/error.h"
#include "core/base/strand.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/status.h"
#include "server/rpc/cut_off.h"

#include <deque>
#include <memory>
#include <optional>
#include <utility>
#include <vector>

namespace penstock::server {
namespace {

template <typename Request>
WatchFilter FilterOf(const Request& request) {
  WatchFilter filter;
  filter.connectors.insert(request.connectors().begin(),
                           request.connectors().end());
  filter.pipeline = request.pipeline();
  return filter;
}

// Makes responses of events: all of a batch in one (Watch), or one each.
void Convert(std::vector<v1::WatchEvent> events,
             std::deque<v1::WatchResponse>& responses) {
  if (events.empty()) return;
  v1::WatchResponse& response = responses.emplace_back();
  for (v1::WatchEvent& event : events) {
    *response.add_events() = std::move(event);
  }
}

template <typename Response, typename Fill>
void ConvertEach(std::vector<v1::WatchEvent> events,
                 std::deque<Response>& responses, Fill fill) {
  for (const v1::WatchEvent& event : events) {
    Response response;
    if (!fill(event, response)) continue;
    response.set_connector(event.connector());
    response.set_instance(event.instance());
    responses.push_back(std::move(response));
  }
}

void Convert(std::vector<v1::WatchEvent> events,
             std::deque<v1::WatchCompletionResponse>& responses) {
  ConvertEach(
      std::move(events), responses,
      [](const v1::WatchEvent& event, auto& response) {
        response.set_completed_steps(event.completion().completed_steps());
        return event.has_completion();
      });
}

void Convert(std::vector<v1::WatchEvent> events,
             std::deque<v1::WatchCheckpointResponse>& responses) {
  ConvertEach(std::move(events), responses,
              [](const v1::WatchEvent& event, auto& response) {
                response.set_checkpointed_steps(
                    event.checkpoint().checkpointed_steps());
                return event.has_checkpoint();
              });
}

void Convert(std::vector<v1::WatchEvent> events,
             std::deque<v1::WatchHealthResponse>& responses) {
  ConvertEach(std::move(events), responses,
              [](const v1::WatchEvent& event, auto& response) {
                *response.mutable_health() = event.health();
                return event.has_health();
              });
}

// One watch on the wire. All decisions run on a strand; gRPC's callbacks and
// the watcher's wake only post to it.
//
// Owner:     itself, from creation until OnDone has run on the strand.
// Bound:     one write in flight; behind it one batch of the watcher. A client
//            that does not read holds up a watch that has ended no longer than
//            `last_write_max`: then it is cut off, and told why.
template <typename Response>
class WatchReactor final : public grpc::ServerWriteReactor<Response> {
 public:
  struct Place {
    WatchHub& hub;
    core::Executor& executor;
    WatchService::Times times;
    // Of the call; lives at least until Finish.
    grpc::CallbackServerContext& context;
  };

  WatchReactor(const Place& place, WatchFilter filter,
               std::optional<uint64_t> from_sequence = std::nullopt,
               const std::string& run_id = "")
      : hub_(place.hub),
        times_(place.times),
        context_(place.context),
        strand_(std::make_shared<core::Strand>(place.executor)) {
    auto watcher = hub_.Watch(
        std::move(filter), from_sequence, run_id,
        [strand = strand_, this] { strand->Post([this] { Pump(); }); });
    if (!watcher.ok()) {
      finished_ = true;
      this->Finish(wire::StatusToGrpc(watcher.status()));
      return;
    }
    // It may wake the strand before this constructor is through.
    strand_->Post([this, watcher = *std::move(watcher)]() mutable {
      watcher_ = std::move(watcher);
      Note();
      Pump();
    });
  }

  void OnWriteDone(bool ok) override {
    strand_->Post([this, ok] {
      writing_ = false;
      if (ok) responses_.pop_front();
      if (!ok) return End(grpc::Status::CANCELLED);
      Pump();
    });
  }
  void OnCancel() override {
    strand_->Post([this] { End(grpc::Status::CANCELLED); });
  }
  void OnDone() override {
    // Nothing wakes this reactor once the hub has forgotten the watcher and the
    // tasks already posted have run: deletion is posted behind them.
    if (watcher_ != nullptr) {
      watcher_->Close(absl::OkStatus());
      hub_.Forget(watcher_);
    }
    strand_->Post([self = std::unique_ptr<WatchReactor>(this),
                   strand = strand_] { strand->Close(); });
  }

 private:
  void Pump() {
    if (watcher_ == nullptr || finished_) return;
    if (writing_) return LimitLastWrite();
    while (responses_.empty()) {
      std::vector<v1::WatchEvent> events = watcher_->Take();
      if (events.empty()) break;
      Convert(std::move(events), responses_);
    }
    if (responses_.empty()) {
      absl::Status status;
      if (watcher_->Ended(status)) End(wire::StatusToGrpc(status));
      return;
    }
    writing_ = true;
    wrote_ = true;
    this->StartWrite(&responses_.front());
  }

  void LimitLastWrite() {
    absl::Status status;
    if (is_last_ || !watcher_->IsClosed(status)) return;
    is_last_ = true;
    strand_->PostAfter(times_.last_write_max,
                       [this, status = std::move(status)] {
                         if (!finished_) CutOff(context_, status);
                       });
  }

  void End(grpc::Status status) {
    if (finished_) return;
    finished_ = true;
    this->Finish(std::move(status));
  }

  // Says now and then that nothing happened. Only Watch has a word for it.
  void Note() {
    if constexpr (std::is_same_v<Response, v1::WatchResponse>) {
      if (finished_) return;
      if (!wrote_ && !writing_ && responses_.empty()) {
        v1::WatchEvent note;
        note.mutable_progress_note()->set_next_sequence(hub_.next_sequence());
        Convert({std::move(note)}, responses_);
        Pump();
      }
      wrote_ = false;
      strand_->PostAfter(times_.progress_note, [this] { Note(); });
    }
  }

  WatchHub& hub_;
  const WatchService::Times times_;
  grpc::CallbackServerContext& context_;
  // Shared by: this reactor and the watcher's wake.
  const std::shared_ptr<core::Strand> strand_;
  // Confined to the strand, whose tasks are over when OnDone looks.
  std::shared_ptr<Watcher> watcher_;
  std::deque<Response> responses_;
  bool writing_ = false;
  bool wrote_ = true;
  bool is_last_ = false;
  bool finished_ = false;
};

}  // namespace

grpc::ServerWriteReactor<v1::WatchResponse>* WatchService::Watch(
    grpc::CallbackServerContext* context, const v1::WatchRequest* request) {
  WatchFilter filter = FilterOf(*request);
  filter.kinds.insert(request->kinds().begin(), request->kinds().end());
  std::optional<uint64_t> from;
  if (request->has_from_sequence()) from = request->from_sequence();
  return new WatchReactor<v1::WatchResponse>(
      {hub_, executor_, times_, *context}, std::move(filter), from,
      request->run_id());
}

grpc::ServerWriteReactor<v1::WatchCompletionResponse>*
WatchService::WatchCompletion(grpc::CallbackServerContext* context,
                              const v1::WatchCompletionRequest* request) {
  WatchFilter filter = FilterOf(*request);
  filter.kinds = {v1::WATCH_KIND_COMPLETION};
  return new WatchReactor<v1::WatchCompletionResponse>(
      {hub_, executor_, times_, *context}, std::move(filter));
}

grpc::ServerWriteReactor<v1::WatchCheckpointResponse>*
WatchService::WatchCheckpoint(grpc::CallbackServerContext* context,
                              const v1::WatchCheckpointRequest* request) {
  WatchFilter filter = FilterOf(*request);
  filter.kinds = {v1::WATCH_KIND_CHECKPOINT};
  return new WatchReactor<v1::WatchCheckpointResponse>(
      {hub_, executor_, times_, *context}, std::move(filter));
}

grpc::ServerWriteReactor<v1::WatchHealthResponse>* WatchService::WatchHealth(
    grpc::CallbackServerContext* context,
    const v1::WatchHealthRequest* request) {
  WatchFilter filter = FilterOf(*request);
  filter.kinds = {v1::WATCH_KIND_HEALTH};
  return new WatchReactor<v1::WatchHealthResponse>(
      {hub_, executor_, times_, *context}, std::move(filter));
}

}  // namespace penstock::server
