#include "client/internal/session_stream.h"

#include "core/base/error.h"
#include "core/base/notification.h"
#include "proto/wire/connection_error.h"
#include "proto/wire/fragments.h"
#include "proto/wire/header.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/session_lane.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <limits>
#include <utility>
#include <vector>

namespace penstock::client::internal {
namespace {

constexpr int kSilentIntervals = 3;
// How often deadlines are looked at.
constexpr absl::Duration kTickMax = absl::Seconds(1);
// One message, and one fragment: a slow line must bring one before the other
// end hears too little of us.
constexpr size_t kBatchBytes = size_t{64} << 10;
constexpr size_t kFragmentBytes = size_t{64} << 10;
// At most this many in one message.
constexpr size_t kDesiredInPart = 256;
// Until the worker's hello, which waits for its disk.
constexpr absl::Duration kHelloMin = absl::Seconds(30);
// An offset at which no fragment can be.
constexpr uint64_t kNowhere = std::numeric_limits<uint64_t>::max();

// No worker said so.
absl::Status MadeHere(absl::string_view what) {
  return wire::MarkConnectionError(
      core::MakeError(core::Reason::UNAVAILABLE, what));
}

// What the end of a stream says to its commands: that it may be asked again,
// except where another stream would end in the same way.
absl::Status ForCommands(const absl::Status& why) {
  if (absl::IsUnavailable(why) || absl::IsCancelled(why) ||
      absl::IsPermissionDenied(why) || absl::IsUnauthenticated(why) ||
      core::HasReason(why, core::Reason::SHUTTING_DOWN) ||
      core::HasReason(why, core::Reason::STALE_EPOCH) ||
      core::HasReason(why, core::Reason::EPOCH_TAKEN) ||
      core::HasReason(why, core::Reason::SUPERSEDED)) {
    return why;
  }
  return core::MakeError(
      core::Reason::UNAVAILABLE,
      absl::StrCat("waiting for the answer to a command of a Session, which "
                   "ended: ",
                   core::ErrorText(why), "; ask again"));
}

}  // namespace

SessionStream::SessionStream(std::shared_ptr<CallGroup> group,
                             core::Executor& executor, Terms terms,
                             Desired desired, OnOver on_over)
    : group_(std::move(group)),
      executor_(executor),
      terms_(terms),
      context_(group_->Enter(absl::InfiniteDuration())),
      strand_(executor),
      on_over_(std::move(on_over)),
      desired_(std::move(desired)),
      heartbeat_(terms.heartbeat),
      silence_max_(std::max(kHelloMin, kSilentIntervals * terms.heartbeat)),
      heard_(executor.clock().SteadyNow()),
      said_(heard_) {}

std::shared_ptr<SessionStream> SessionStream::Start(
    std::shared_ptr<CallGroup> group, v1::ControlService::Stub& stub,
    core::Executor& executor, const core::Fence& fence, Terms terms,
    Desired desired, OnOver on_over) {
  const std::shared_ptr<SessionStream> stream(
      new SessionStream(std::move(group), executor, terms, std::move(desired),
                        std::move(on_over)));
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
  // Between its end and Finish it waits for that, which knows why.
  if (self_ == nullptr) {
    return command.done(
        MadeHere("sending a command: the Session has just ended; ask again"));
  }
  Waiting waiting{.bytes = command.message.ByteSizeLong(),
                  .deadline = executor_.clock().SteadyNow() + command.deadline,
                  .command = std::move(command)};
  const size_t data = waiting.data_bytes();
  const bool is_first = waiting_.empty() && held_.empty();
  if ((waiting_bytes_ + waiting.bytes > terms_.bytes_max && !is_first) ||
      (upload_bytes_ + data > terms_.upload_bytes_max && data > 0 &&
       upload_bytes_ > 0)) {
    return waiting.command.done(core::WithRetryDelay(
        core::MakeError(core::Reason::BUDGET_EXCEEDED,
                        "sending a command: too much waits to be written to "
                        "this worker; ask again later"),
        absl::Milliseconds(100)));
  }
  waiting_bytes_ += waiting.bytes;
  upload_bytes_ += data;
  waiting_.push_back(std::move(waiting));
  Pump();
}

// --- writing ---------------------------------------------------------------

bool SessionStream::HasRoomFor(uint64_t bytes) const {
  // One that never has room is the worker's to refuse.
  return announced_max_ == 0 || announced_ == 0 ||
         announced_ + bytes <= announced_max_;
}

// Data waits for its turn behind data, so that the longest one has one, too;
// no command overtakes one before it in its ordered lane.
bool SessionStream::IsToBeHeld(const Waiting& waiting) const {
  const size_t data = waiting.data_bytes();
  if (data > 0 && (!held_.empty() || !HasRoomFor(data))) return true;
  const std::string* const lane =
      wire::OrderedConnector(waiting.command.message);
  return lane != nullptr &&
         std::any_of(held_.begin(), held_.end(), [&](const Waiting& one) {
           const std::string* const other =
               wire::OrderedConnector(one.command.message);
           return other != nullptr && *other == *lane;
         });
}

void SessionStream::AddDesired() {
  v1::DesiredState& part = *request_.add_messages()->mutable_desired();
  const size_t end =
      std::min(desired_.connectors.size(), desired_sent_ + kDesiredInPart);
  for (; desired_sent_ < end; ++desired_sent_) {
    *part.add_connectors() = std::move(desired_.connectors[desired_sent_]);
  }
  if (end < desired_.connectors.size()) return;
  part.set_is_last(true);
  part.set_drop_others(desired_.drop_others);
  phase_ = Phase::kComparing;
}

// A fragment that cannot be the next one fails its command at the worker, which
// lets go of what it has of it.
void SessionStream::AddAbandoned() {
  for (const uint64_t id : abandoned_) {
    v1::CommandFragment& fragment =
        *request_.add_messages()->mutable_fragment();
    fragment.set_id(id);
    fragment.mutable_fragment()->set_offset(kNowhere);
  }
  abandoned_.clear();
}

void SessionStream::AddCommand(Waiting& waiting, size_t& bytes) {
  const uint64_t id = next_id_++;
  const size_t data = waiting.data_bytes();
  bytes += waiting.bytes;
  waiting_bytes_ -= waiting.bytes;
  announced_ += data;
  if (data > 0) uploads_.push_back(id);
  waiting.command.message.set_id(id);
  *request_.add_messages()->mutable_command() =
      std::move(waiting.command.message);
  outstanding_.emplace(
      id, Outstanding{.deadline = waiting.deadline,
                      .done = std::move(waiting.command.done),
                      .announced = data,
                      .data = std::move(waiting.command.data).value_or("")});
}

void SessionStream::AddCommands(size_t& bytes) {
  while (!held_.empty() && bytes < kBatchBytes &&
         HasRoomFor(held_.front().data_bytes())) {
    AddCommand(held_.front(), bytes);
    held_.pop_front();
  }
  while (!waiting_.empty() && bytes < kBatchBytes) {
    if (IsToBeHeld(waiting_.front())) {
      held_.push_back(std::move(waiting_.front()));
    } else {
      AddCommand(waiting_.front(), bytes);
    }
    waiting_.pop_front();
  }
}

// One at a time, in turn: a long one delays neither commands nor other ones.
void SessionStream::AddFragment() {
  while (!uploads_.empty()) {
    const uint64_t id = uploads_.front();
    uploads_.pop_front();
    const auto found = outstanding_.find(id);
    if (found == outstanding_.end()) continue;
    Outstanding& one = found->second;
    v1::CommandFragment& fragment =
        *request_.add_messages()->mutable_fragment();
    fragment.set_id(id);
    *fragment.mutable_fragment() =
        wire::FragmentAt(one.data, one.offset, kFragmentBytes);
    one.offset += fragment.fragment().data().size();
    if (one.offset < one.data.size()) return uploads_.push_back(id);
    upload_bytes_ -= one.data.size();
    one.data = std::string();
    return;
  }
}

void SessionStream::Pump() {
  if (writing_ || reads_over_ || phase_ == Phase::kHello) return;
  request_.clear_messages();
  if (phase_ == Phase::kDesiring) {
    AddDesired();
  } else if (phase_ == Phase::kReady) {
    size_t bytes = 0;
    // First: it makes room.
    AddAbandoned();
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
      announced_max_ = message.hello().fragment_bytes_max();
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
      if (desired_.done) {
        std::exchange(desired_.done, nullptr)(std::move(reconciled_));
      }
      return;
    case v1::WorkerMessage::kReply:
      return OnReply(*message.mutable_reply());
    case v1::WorkerMessage::kReconciled:
      for (auto& one : *message.mutable_reconciled()->mutable_connectors()) {
        reconciled_.push_back(std::move(one));
      }
      return;
    case v1::WorkerMessage::kEvent:
    case v1::WorkerMessage::kHeartbeat:
    case v1::WorkerMessage::KIND_NOT_SET:
      return;
  }
}

void SessionStream::OnReply(v1::SessionReply& reply) {
  const auto found = outstanding_.find(reply.id());
  if (found == outstanding_.end()) return;  // Its deadline is over.
  Settle(found)(std::move(reply));
}

SessionStream::Done SessionStream::Settle(Outstandings::iterator one) {
  Done done = std::move(one->second.done);
  upload_bytes_ -= one->second.data.size();
  announced_ -= one->second.announced;
  outstanding_.erase(one);
  return done;
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

void SessionStream::ExpireWaiting(std::deque<Waiting>& waiting, absl::Time now,
                                  std::vector<Done>& expired) {
  std::erase_if(waiting, [&](Waiting& one) {
    if (one.deadline > now) return false;
    waiting_bytes_ -= one.bytes;
    upload_bytes_ -= one.data_bytes();
    expired.push_back(std::move(one.command.done));
    return true;
  });
}

void SessionStream::Expire(absl::Time now) {
  std::vector<Done> expired;
  ExpireWaiting(held_, now, expired);
  ExpireWaiting(waiting_, now, expired);
  for (auto one = outstanding_.begin(); one != outstanding_.end();) {
    if (one->second.deadline > now) {
      ++one;
      continue;
    }
    if (!one->second.data.empty()) abandoned_.push_back(one->first);
    expired.push_back(Settle(one++));
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
  if (is_unknown) {
    // It is there, and answers calls.
    why = core::MakeError(core::Reason::UNAVAILABLE,
                          "holding a Session: the worker does not know it");
  } else if (why.ok()) {
    why = MadeHere("holding a Session: the worker has ended it");
  }
  if (on_over_) std::exchange(on_over_, nullptr)(why, is_unknown);
  if (desired_.done) std::exchange(desired_.done, nullptr)(why);
  const absl::Status answer = ForCommands(why);
  for (auto& [id, one] : std::exchange(outstanding_, {})) one.done(answer);
  for (Waiting& one : std::exchange(held_, {})) one.command.done(answer);
  for (Waiting& one : std::exchange(waiting_, {})) one.command.done(answer);
  group_->Leave(std::move(context_));
}

}  // namespace penstock::client::internal
