#include "client/internal/session_stream.h"

#include "core/base/error.h"
#include "core/base/notification.h"
#include "proto/wire/connection_error.h"
#include "proto/wire/fragments.h"
#include "proto/wire/header.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace penstock::client::internal {
namespace {

constexpr int kSilentIntervals = 3;
// How often deadlines are looked at.
constexpr absl::Duration kTickMax = absl::Seconds(1);
constexpr size_t kBatchBytes = size_t{256} << 10;

}  // namespace

SessionStream::SessionStream(std::shared_ptr<CallGroup> group,
                             core::Executor& executor, Terms terms,
                             OnOver on_over)
    : group_(std::move(group)),
      executor_(executor),
      terms_(terms),
      context_(group_->Enter(absl::InfiniteDuration())),
      strand_(executor),
      on_over_(std::move(on_over)),
      heartbeat_(terms.heartbeat),
      silence_max_(kSilentIntervals * terms.heartbeat),
      heard_(executor.clock().SteadyNow()),
      said_(heard_) {}

std::shared_ptr<SessionStream> SessionStream::Start(
    std::shared_ptr<CallGroup> group, v1::ControlService::Stub& stub,
    core::Executor& executor, const core::Fence& fence, Terms terms,
    OnOver on_over) {
  const std::shared_ptr<SessionStream> stream(
      new SessionStream(std::move(group), executor, terms, std::move(on_over)));
  stream->strand_.Post([stream, &stub, fence] { stream->Begin(stub, fence); });
  return stream;
}

void SessionStream::Begin(v1::ControlService::Stub& stub,
                          const core::Fence& fence) {
  self_ = shared_from_this();
  stub.async()->Session(context_.get(), this);
  // Writes are started outside of gRPC's callbacks.
  AddHold();
  v1::ControllerHello& hello = *request_.add_messages()->mutable_hello();
  *hello.mutable_fence() = wire::ToProto(fence);
  hello.set_protocol_version(1);
  *hello.mutable_heartbeat_interval() = wire::DurationToProto(terms_.heartbeat);
  writing_ = true;
  StartWrite(&request_);
  StartRead(&response_);
  StartCall();
  Tick();
}

void SessionStream::Send(Command command) {
  strand_.Post(
      [self = shared_from_this(), command = std::move(command)]() mutable {
        self->Take(std::move(command));
      });
}

void SessionStream::Flush() {
  core::Notification flushed;
  strand_.Post([&flushed] { flushed.Notify(); });
  flushed.WaitForNotification();
}

void SessionStream::Cancel() {
  strand_.Post([self = shared_from_this()] {
    self->GiveUp(core::MakeError(core::Reason::UNAVAILABLE,
                                 "holding a Session: it was ended here"));
  });
}

void SessionStream::Take(Command command) {
  if (is_over()) {
    return command.done(core::MakeError(
        core::Reason::UNAVAILABLE,
        "sending a command: the Session has just ended; ask again"));
  }
  const size_t bytes = command.message.ByteSizeLong();
  if (waiting_bytes_ + bytes > terms_.bytes_max && !waiting_.empty()) {
    return command.done(core::WithRetryDelay(
        core::MakeError(core::Reason::BUDGET_EXCEEDED,
                        "sending a command: too much waits to be written to "
                        "this worker; ask again later"),
        absl::Milliseconds(100)));
  }
  const uint64_t id = next_id_++;
  waiting_bytes_ += bytes;
  command.message.set_id(id);
  outstanding_.emplace(
      id,
      Outstanding{.deadline = executor_.clock().SteadyNow() + command.deadline,
                  .done = std::move(command.done)});
  waiting_.push_back({.id = id, .bytes = bytes, .command = std::move(command)});
  Pump();
}

// --- writing ---------------------------------------------------------------

void SessionStream::AddCommands(size_t& bytes) {
  while (!waiting_.empty() && bytes < kBatchBytes) {
    Waiting& next = waiting_.front();
    waiting_bytes_ -= next.bytes;
    // Unless its time was over before it was sent.
    if (outstanding_.contains(next.id)) {
      bytes += next.bytes;
      *request_.add_messages()->mutable_command() =
          std::move(next.command.message);
      if (next.command.data.has_value()) {
        uploads_.push_back(
            {.id = next.id, .data = *std::move(next.command.data)});
      }
    }
    waiting_.pop_front();
  }
}

// One at a time, in turn: a long one delays neither commands nor other ones.
void SessionStream::AddFragment() {
  if (uploads_.empty()) return;
  Upload upload = std::move(uploads_.front());
  uploads_.pop_front();
  v1::CommandFragment& fragment = *request_.add_messages()->mutable_fragment();
  fragment.set_id(upload.id);
  *fragment.mutable_fragment() = wire::FragmentAt(upload.data, upload.offset);
  upload.offset += fragment.fragment().data().size();
  if (upload.offset < upload.data.size()) uploads_.push_back(std::move(upload));
}

void SessionStream::Pump() {
  if (writing_ || reads_over_ || phase_ == Phase::kHello) return;
  request_.clear_messages();
  if (phase_ == Phase::kDesiring) {
    request_.add_messages()->mutable_desired()->set_is_last(true);
    phase_ = Phase::kComparing;
  } else if (phase_ == Phase::kReady) {
    size_t bytes = 0;
    AddCommands(bytes);
    if (bytes < kBatchBytes) AddFragment();
  }
  const absl::Time now = executor_.clock().SteadyNow();
  if (request_.messages().empty()) {
    if (now - said_ < heartbeat_) return;
    request_.add_messages()->mutable_heartbeat();
  }
  said_ = now;
  writing_ = true;
  StartWrite(&request_);
}

void SessionStream::OnWriteDone(bool ok) {
  strand_.Post([this, ok] {
    writing_ = false;
    if (reads_over_) return ReleaseHold();
    // Not ok: the stream is over, and a read will say so.
    if (ok) Pump();
  });
}

// --- reading ---------------------------------------------------------------

void SessionStream::OnReadDone(bool ok) {
  strand_.Post([this, ok] { OnReceived(ok); });
}

void SessionStream::OnReceived(bool ok) {
  if (!ok) {
    reads_over_ = true;
    is_over_.store(true, std::memory_order_release);
    if (!writing_) ReleaseHold();
    return;
  }
  heard_ = executor_.clock().SteadyNow();
  for (v1::WorkerMessage& message : *response_.mutable_messages()) {
    Handle(message);
  }
  StartRead(&response_);
  Pump();
}

void SessionStream::Handle(v1::WorkerMessage& message) {
  switch (message.kind_case()) {
    case v1::WorkerMessage::kHello: {
      const auto interval =
          wire::DurationFromProto(message.hello().heartbeat_interval());
      const auto silence =
          wire::DurationFromProto(message.hello().silence_max());
      if (!interval.has_value() || !silence.has_value()) {
        return GiveUp(core::MakeError(
            core::Reason::INTERNAL,
            "reading a Session: the worker's hello names no intervals"));
      }
      heartbeat_ = *interval;
      silence_max_ = *silence;
      phase_ = Phase::kInventory;
      return;
    }
    case v1::WorkerMessage::kInventory:
      // What of it can be used is asked for, connector by connector.
      if (message.inventory().is_last()) phase_ = Phase::kDesiring;
      return;
    case v1::WorkerMessage::kInitializationComplete:
      phase_ = Phase::kReady;
      is_ready_.store(true, std::memory_order_release);
      return;
    case v1::WorkerMessage::kReply:
      return OnReply(*message.mutable_reply());
    case v1::WorkerMessage::kReconciled:
    case v1::WorkerMessage::kEvent:
    case v1::WorkerMessage::kHeartbeat:
    case v1::WorkerMessage::KIND_NOT_SET:
      return;
  }
}

void SessionStream::OnReply(v1::SessionReply& reply) {
  const auto found = outstanding_.find(reply.id());
  if (found == outstanding_.end()) return;  // Its deadline is over.
  Done done = std::move(found->second.done);
  outstanding_.erase(found);
  done(std::move(reply));
}

// --- time and the end ------------------------------------------------------

void SessionStream::Tick() {
  if (is_over()) return;
  const absl::Time now = executor_.clock().SteadyNow();
  if (now - heard_ >= silence_max_) {
    return GiveUp(wire::MarkConnectionError(core::MakeError(
        core::Reason::UNAVAILABLE,
        absl::StrCat("holding a Session: nothing was heard of the worker for ",
                     absl::FormatDuration(now - heard_)))));
  }
  Expire(now);
  Pump();
  strand_.PostAfter(std::min(heartbeat_, kTickMax), [this] { Tick(); });
}

void SessionStream::Expire(absl::Time now) {
  std::vector<Done> expired;
  for (auto one = outstanding_.begin(); one != outstanding_.end();) {
    if (one->second.deadline > now) {
      ++one;
      continue;
    }
    expired.push_back(std::move(one->second.done));
    one = outstanding_.erase(one);
  }
  for (Done& done : expired) {
    done(core::MakeError(
        core::Reason::DEADLINE,
        "waiting for the answer to a command of a Session: its time is over, "
        "which says nothing about what the worker did; ask again"));
  }
}

void SessionStream::GiveUp(absl::Status status) {
  if (is_over()) return;
  is_over_.store(true, std::memory_order_release);
  given_up_ = std::move(status);
  context_->TryCancel();
}

void SessionStream::ReleaseHold() {
  if (std::exchange(holding_, false)) RemoveHold();
}

void SessionStream::OnDone(const grpc::Status& status) {
  strand_.Post([this, status] { Finish(status); });
}

void SessionStream::Finish(const grpc::Status& status) {
  const std::shared_ptr<SessionStream> self = std::move(self_);
  is_over_.store(true, std::memory_order_release);
  absl::Status why =
      given_up_.ok() ? StatusOfCall(status, group_->cancelled()) : given_up_;
  const bool is_unknown = phase_ == Phase::kHello && absl::IsUnimplemented(why);
  if (why.ok() || is_unknown) {
    why = core::MakeError(core::Reason::UNAVAILABLE,
                          "holding a Session: the worker has ended it");
  }
  if (on_over_) std::exchange(on_over_, nullptr)(why, is_unknown);
  for (auto& [id, one] : std::exchange(outstanding_, {})) one.done(why);
  waiting_.clear();
  uploads_.clear();
  group_->Leave(std::move(context_));
}

}  // namespace penstock::client::internal
