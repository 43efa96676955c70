#include "server/rpc/session.h"

#include "core/base/error.h"
#include "core/base/log.h"
#include "proto/wire/header.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/status.h"
#include "proto/wire/violations.h"
#include "server/rpc/cut_off.h"
#include "server/rpc/session_inventory.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>

namespace penstock::server {
namespace {

constexpr absl::Duration kHeartbeatMin = absl::Milliseconds(100);
constexpr absl::Duration kHeartbeatMax = absl::Seconds(60);
constexpr int kSilentIntervals = 3;
constexpr size_t kDesiredMax = 10'000;

absl::Status Wrong(absl::string_view what) {
  return core::MakeError(core::Reason::INVALID_REQUEST,
                         absl::StrCat("reading a Session: ", what));
}

absl::Status Cancelled() {
  return core::MakeError(core::Reason::CANCELLED,
                         "holding a Session: the call was cancelled");
}

v1::WorkerMessage HeartbeatMessage() {
  v1::WorkerMessage message;
  message.mutable_heartbeat();
  return message;
}

}  // namespace

Session::Session(const Place& place, grpc::CallbackServerContext& context)
    : place_(place),
      context_(context),
      strand_(place.executor),
      heartbeat_(place.terms.heartbeat),
      heard_(place.executor.clock().SteadyNow()) {}

std::shared_ptr<Session> Session::Start(const Place& place,
                                        grpc::CallbackServerContext& context) {
  const std::shared_ptr<Session> session(new Session(place, context));
  session->outbound_ = std::make_shared<SessionOutbound>(
      place.terms.outbound_bytes_max, [weak = std::weak_ptr(session)] {
        const auto self = weak.lock();
        if (self != nullptr) self->strand_.Post([self] { self->Pump(); });
      });
  session->commands_ = std::make_unique<SessionCommands>(
      place.commands, session->outbound_, place.use);
  session->strand_.Post([session] {
    session->self_ = session;
    session->Read();
    session->Beat(session->beat_chain_);
  });
  return session;
}

absl::Duration Session::silence_max() const {
  return kSilentIntervals * heartbeat_;
}

void Session::End(absl::Status status) {
  strand_.Post(
      [self = shared_from_this(), status = std::move(status)]() mutable {
        self->EndNow(std::move(status));
      });
}

// --- gRPC's side -----------------------------------------------------------

void Session::OnReadDone(bool ok) {
  strand_.Post([this, ok] { OnReceived(ok); });
}

void Session::OnWriteDone(bool ok) {
  strand_.Post([this, ok] {
    writing_ = false;
    if (!ok) EndNow(Cancelled());
    // While nothing is read, what is taken from us is what shows life.
    if (!reading_) heard_ = place_.executor.clock().SteadyNow();
    Pump();
  });
}

void Session::OnCancel() { End(Cancelled()); }

void Session::OnDone() {
  // Tasks posted before still have `this`; those that come later find it gone.
  strand_.Post([this] {
    const std::shared_ptr<Session> self = std::move(self_);
    strand_.Close();
  });
}

void Session::Read() {
  if (reading_ || ending_ || finished_ || half_closed_) return;
  if (outbound_->bytes() > place_.terms.outbound_bytes) return;
  reading_ = true;
  StartRead(&request_);
}

void Session::Pump() {
  if (writing_ || finished_) return;
  if (ending_) return FinishNow();
  if (outbound_->overflowed()) {
    return EndNow(core::MakeError(
        core::Reason::BUDGET_EXCEEDED,
        absl::StrCat("writing a Session: more than ",
                     place_.terms.outbound_bytes_max,
                     " bytes of replies wait to be read; read them, and ask "
                     "again over another stream")));
  }
  // First: an answer that is counted is behind it to be taken.
  const bool all_answered = half_closed_ && commands_->AllAnswered();
  // There is always another one: then it would never end.
  if (!all_answered) TakeEvents();
  if (outbound_->Take(response_)) {
    writing_ = true;
    StartWrite(&response_);
  } else if (all_answered) {
    EndNow(absl::OkStatus());
  }
  Read();
}

void Session::EndNow(absl::Status status) {
  if (ending_) return;
  ending_ = true;
  end_status_ = std::move(status);
  if (absl::IsUnavailable(end_status_) && !fence_.pipeline.empty()) {
    LOG(WARNING)
            .With("pipeline", fence_.pipeline)
            .With("controller", fence_.controller_id)
        << "a Session ends: " << core::ErrorText(end_status_);
  }
  outbound_->Close();
  if (watcher_ != nullptr) {
    watcher_->Close(absl::OkStatus());
    place_.watches.Forget(watcher_);
  }
  reign_.reset();
  if (!writing_) return FinishNow();
  strand_.PostAfter(place_.terms.last_write_max, [this] {
    if (!finished_) CutOff(context_, end_status_);
  });
}

void Session::FinishNow() {
  finished_ = true;
  Finish(wire::StatusToGrpc(end_status_));
}

void Session::Beat(uint64_t chain) {
  if (ending_ || chain != beat_chain_) return;
  const absl::Duration silent = place_.executor.clock().SteadyNow() - heard_;
  // Before our hello the controller waits for it, and for our disk.
  if (phase_ != Phase::kTakingOver && silent >= silence_max()) {
    return EndNow(core::MakeError(
        core::Reason::UNAVAILABLE,
        absl::StrCat("reading a Session: nothing was heard of the controller "
                     "for ",
                     absl::FormatDuration(silent),
                     "; send a heartbeat in each interval")));
  }
  const bool has_said_hello =
      phase_ == Phase::kReconciling || phase_ == Phase::kReady;
  if (has_said_hello && !writing_ && outbound_->bytes() == 0) {
    outbound_->Push(HeartbeatMessage());
  }
  strand_.PostAfter(heartbeat_, [this, chain] { Beat(chain); });
}

// --- what is said ----------------------------------------------------------

void Session::OnReceived(bool ok) {
  reading_ = false;
  if (ending_) return;
  if (!ok) return OnHalfClosed();
  heard_ = place_.executor.clock().SteadyNow();
  if (request_.messages().empty()) return EndNow(Wrong("an empty message"));
  for (v1::ControllerMessage& message : *request_.mutable_messages()) {
    absl::Status handled = Handle(message);
    if (!handled.ok()) return EndNow(std::move(handled));
  }
  Read();
}

// The controller gives no more commands, and still wants its answers; or the
// call is dead, and cancelled.
void Session::OnHalfClosed() {
  if (phase_ != Phase::kReady) return EndNow(absl::OkStatus());
  half_closed_ = true;
  commands_->OnEnd();
  Pump();
}

absl::Status Session::Handle(v1::ControllerMessage& message) {
  switch (message.kind_case()) {
    case v1::ControllerMessage::kHello:
      if (phase_ != Phase::kHello) return Wrong("a second hello");
      return HandleHello(message.hello());
    case v1::ControllerMessage::kHeartbeat:
      if (phase_ == Phase::kHello) break;
      return absl::OkStatus();
    case v1::ControllerMessage::kDesired:
      if (phase_ != Phase::kReconciling) break;
      return HandleDesired(message.desired());
    case v1::ControllerMessage::kCommand:
      if (phase_ != Phase::kReady) break;
      return commands_->OnCommand(*message.mutable_command());
    case v1::ControllerMessage::kFragment:
      if (phase_ != Phase::kReady) break;
      return commands_->OnFragment(message.fragment());
    case v1::ControllerMessage::KIND_NOT_SET:
      return Wrong("a message of a kind that this worker does not know");
  }
  switch (phase_) {
    case Phase::kHello:
      return Wrong("the first message is to be the hello");
    case Phase::kTakingOver:
      return Wrong("before the worker's hello only heartbeats may be sent");
    case Phase::kReconciling:
      return Wrong(
          "commands are taken after InitializationComplete, which follows the "
          "last DesiredState");
    case Phase::kReady:
      return Wrong("what is desired was said before");
  }
  return absl::OkStatus();
}

absl::Status Session::HandleHello(const v1::ControllerHello& hello) {
  if (hello.protocol_version() != 1) {
    return core::MakeError(
        core::Reason::UNSUPPORTED,
        absl::StrCat("reading a Session: this worker speaks version 1 of the "
                     "protocol, not ",
                     hello.protocol_version()));
  }
  wire::Violations violations;
  fence_ = wire::ReadFence(hello.fence(), "hello.fence", violations);
  const absl::Status read = violations.ToStatus(core::Reason::INVALID_REQUEST);
  if (!read.ok()) return read;
  if (hello.has_heartbeat_interval()) {
    const auto asked = wire::DurationFromProto(hello.heartbeat_interval());
    if (!asked.has_value()) return Wrong("hello.heartbeat_interval is none");
    heartbeat_ = std::clamp(*asked, kHeartbeatMin, kHeartbeatMax);
  }
  for (const int kind : hello.events()) {
    event_kinds_.push_back(static_cast<v1::WatchKind>(kind));
  }
  phase_ = Phase::kTakingOver;
  commands_->SetFence(fence_);
  const auto weak = weak_from_this();
  place_.dispatcher.Lead(
      fence_,
      [weak] {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->End(core::MakeError(
            core::Reason::SUPERSEDED,
            "holding a Session: a controller with a higher epoch took over; "
            "end, or take a new epoch"));
      },
      [weak](absl::StatusOr<std::shared_ptr<const void>> reign) {
        const auto self = weak.lock();
        if (self == nullptr) return;
        self->strand_.Post([self, reign = std::move(reign)]() mutable {
          self->OnBegun(std::move(reign));
        });
      });
  return absl::OkStatus();
}

void Session::OnBegun(absl::StatusOr<std::shared_ptr<const void>> reign) {
  if (ending_) return;
  if (!reign.ok()) return EndNow(reign.status());
  reign_ = *std::move(reign);
  heard_ = place_.executor.clock().SteadyNow();
  phase_ = Phase::kReconciling;
  v1::WorkerMessage message;
  v1::WorkerHello& hello = *message.mutable_hello();
  *hello.mutable_worker() = WorkerInfoOf(place_.identity, place_.dispatcher);
  *hello.mutable_heartbeat_interval() = wire::DurationToProto(heartbeat_);
  *hello.mutable_silence_max() = wire::DurationToProto(silence_max());
  hello.set_outbound_bytes(place_.terms.outbound_bytes);
  hello.set_fragment_bytes_max(SessionCommands::kFragmentBytesMax);
  outbound_->Push(std::move(message));
  for (v1::WorkerMessage& part :
       InventoryOf(OfPipeline(place_.dispatcher.Statuses(), fence_.pipeline))) {
    outbound_->Push(std::move(part));
  }
  WatchEvents();
  // From now on at the pace that was asked for.
  Beat(++beat_chain_);
}

absl::Status Session::HandleDesired(const v1::DesiredState& desired) {
  desired_.insert(desired_.end(), desired.connectors().begin(),
                  desired.connectors().end());
  if (desired_.size() > kDesiredMax) {
    return Wrong(
        absl::StrCat("more than ", kDesiredMax, " connectors are desired"));
  }
  if (!desired.is_last()) return absl::OkStatus();
  std::vector<v1::ReconciledConnector> outcomes =
      Reconcile(OfPipeline(place_.dispatcher.Statuses(), fence_.pipeline),
                desired_, desired.drop_others());
  desired_.clear();
  for (const v1::ReconciledConnector& one : outcomes) {
    if (one.outcome() == v1::RECONCILIATION_DROPPED) Drop(one.connector());
  }
  for (v1::WorkerMessage& part : ReconciledParts(std::move(outcomes))) {
    outbound_->Push(std::move(part));
  }
  v1::WorkerMessage complete;
  complete.mutable_initialization_complete();
  outbound_->Push(std::move(complete));
  phase_ = Phase::kReady;
  return absl::OkStatus();
}

void Session::Drop(const std::string& connector) {
  core::CommandHeader header;
  header.fence = fence_;
  header.ref.connector = connector;
  // Whatever becomes of it is seen in the next inventory.
  place_.dispatcher.Delete(std::move(header), {},
                           [](const absl::StatusOr<core::DisconnectReply>&) {});
}

void Session::WatchEvents() {
  if (event_kinds_.empty()) return;
  WatchFilter filter;
  filter.pipeline = fence_.pipeline;
  filter.kinds.insert(event_kinds_.begin(), event_kinds_.end());
  auto watcher = place_.watches.Watch(
      std::move(filter), std::nullopt, "", [weak = weak_from_this()] {
        const auto self = weak.lock();
        if (self != nullptr) self->strand_.Post([self] { self->Pump(); });
      });
  if (!watcher.ok()) return EndNow(watcher.status());
  watcher_ = *std::move(watcher);
}

// Replies come first: events are taken for a batch that replies do not fill.
// Until then they queue in the watcher, which coalesces them.
void Session::TakeEvents() {
  if (watcher_ == nullptr ||
      outbound_->bytes() >= SessionOutbound::kBatchBytes) {
    return;
  }
  absl::Status status;
  if (watcher_->Ended(status) &&
      core::HasReason(status, core::Reason::SLOW_WATCHER)) {
    LOG(WARNING)
            .With("pipeline", fence_.pipeline)
            .With("controller", fence_.controller_id)
        << "the events of a Session begin again with what is there: "
        << core::ErrorText(status);
    place_.watches.Forget(watcher_);
    watcher_.reset();
    WatchEvents();
    if (watcher_ == nullptr) return;
  }
  for (v1::WatchEvent& event : watcher_->Take()) {
    v1::WorkerMessage message;
    *message.mutable_event() = std::move(event);
    outbound_->Push(std::move(message));
  }
  if (watcher_->Ended(status) && !status.ok() &&
      !core::HasReason(status, core::Reason::SLOW_WATCHER)) {
    EndNow(std::move(status));
  }
}

}  // namespace penstock::server
