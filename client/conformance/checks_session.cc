#include "client/conformance/checks.h"
#include "core/base/status_macros.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/status.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <chrono>
#include <deque>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace penstock::conformance {
namespace {

using core::Reason;

// A Session, typed message by message.
// Owner: a check, on its stack. Threads: confined to one.
class Wire {
 public:
  explicit Wire(Subject& subject) {
    SetDeadline(context_);
    stream_ = subject.control().Session(&context_);
  }
  Wire(const Wire&) = delete;
  Wire& operator=(const Wire&) = delete;
  ~Wire() {
    context_.TryCancel();
    (void)End();
  }

  void Send(const v1::ControllerMessage& message) {
    v1::SessionRequest request;
    *request.add_messages() = message;
    stream_->Write(request);
  }
  void Send(const v1::SessionCommand& command) {
    v1::ControllerMessage message;
    *message.mutable_command() = command;
    Send(message);
  }
  // The next that is no heartbeat; nullopt: the stream is over.
  std::optional<v1::WorkerMessage> Next() {
    while (true) {
      while (read_.empty()) {
        v1::SessionResponse response;
        if (!stream_->Read(&response)) return std::nullopt;
        read_.assign(response.messages().begin(), response.messages().end());
      }
      v1::WorkerMessage message = std::move(read_.front());
      read_.pop_front();
      if (!message.has_heartbeat()) return message;
    }
  }
  // How it ended; asks it to end if it does not by itself.
  absl::Status End() {
    if (stream_ == nullptr) return ended_;
    while (Next().has_value()) {
    }
    const grpc::Status status = std::exchange(stream_, nullptr)->Finish();
    ended_ = wire::StatusFromGrpc(status);
    return ended_;
  }
  // Hello, inventory, desired, complete.
  absl::StatusOr<std::vector<v1::InventoryEntry>> Initialize(
      const v1::Fence& fence, v1::DesiredState desired = {});
  // What the worker said to what was desired.
  const std::map<std::string, v1::Reconciliation>& outcomes() const {
    return outcomes_;
  }
  absl::StatusOr<v1::SessionReply> NextReply() {
    while (true) {
      auto message = Next();
      if (!message.has_value()) return EndedEarly();
      if (message->has_reply()) return std::move(*message->mutable_reply());
    }
  }

 private:
  absl::Status EndedEarly() {
    return core::WithContext(
        Expect(false, "the Session ended before it was to"),
        std::string(End().message()));
  }

  grpc::ClientContext context_;
  std::unique_ptr<
      grpc::ClientReaderWriter<v1::SessionRequest, v1::SessionResponse>>
      stream_;
  std::deque<v1::WorkerMessage> read_;
  std::map<std::string, v1::Reconciliation> outcomes_;
  absl::Status ended_;
};

v1::ControllerMessage Hello(const v1::Fence& fence) {
  v1::ControllerMessage message;
  *message.mutable_hello()->mutable_fence() = fence;
  message.mutable_hello()->set_protocol_version(1);
  return message;
}

absl::StatusOr<std::vector<v1::InventoryEntry>> Wire::Initialize(
    const v1::Fence& fence, v1::DesiredState desired) {
  Send(Hello(fence));
  std::vector<v1::InventoryEntry> entries;
  bool greeted = false;
  while (true) {
    auto message = Next();
    if (!message.has_value()) return EndedEarly();
    if (message->has_hello()) greeted = true;
    RETURN_IF_ERROR(Expect(greeted, "something came before the hello"));
    if (message->has_inventory()) {
      for (const auto& one : message->inventory().connectors()) {
        entries.push_back(one);
      }
      if (!message->inventory().is_last()) continue;
      v1::ControllerMessage last;
      desired.set_is_last(true);
      *last.mutable_desired() = desired;
      Send(last);
    }
    for (const auto& one : message->reconciled().connectors()) {
      outcomes_[one.connector()] = one.outcome();
    }
    if (message->has_initialization_complete()) return entries;
  }
}

v1::SessionCommand Gate(Hand& hand, uint64_t id, bool open) {
  v1::SessionCommand command;
  command.set_id(id);
  if (open) {
    *command.mutable_extend()->mutable_connector() = hand.ref;
    command.mutable_extend()->set_request_id(hand.NewRequestId());
  } else {
    *command.mutable_pause()->mutable_connector() = hand.ref;
    command.mutable_pause()->set_request_id(hand.NewRequestId());
  }
  return command;
}

absl::Status HelloComesFirst(Subject& subject) {
  Hand hand(subject);
  Wire wire(subject);
  v1::ControllerMessage desired;
  desired.mutable_desired()->set_is_last(true);
  wire.Send(desired);
  RETURN_IF_ERROR(ExpectRefused(wire.End(), Reason::INVALID_REQUEST,
                                "a Session without a hello"));
  Wire hasty(subject);
  hasty.Send(Hello(hand.fence));
  if (!hasty.Next().has_value()) {
    return Expect(false, "a hello was not answered");
  }
  hasty.Send(Gate(hand, 1, true));
  return ExpectRefused(hasty.End(), Reason::INVALID_REQUEST,
                       "a command before InitializationComplete");
}

absl::Status InventoryIsComplete(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(3));
  RETURN_IF_ERROR(hand.Release(1).status());
  ASSIGN_OR_RETURN(const v1::Connector shown, hand.Get());
  Wire wire(subject);
  ASSIGN_OR_RETURN(const auto entries, wire.Initialize(hand.fence));
  RETURN_IF_ERROR(
      Expect(entries.size() == 1, "the pipeline has one connector"));
  const v1::ConnectorSummary& one = entries[0].connector();
  RETURN_IF_ERROR(Expect(one.connector() == hand.ref.connector() &&
                             one.instance() == hand.ref.instance(),
                         "it is that one"));
  RETURN_IF_ERROR(Expect(one.spec_hash() == shown.spec_hash() &&
                             one.last_step() == hand.steps - 1 &&
                             one.health().state() == shown.health().state(),
                         "hash, last step and state are told"));
  RETURN_IF_ERROR(Expect(one.writer().epoch() == hand.fence.epoch() &&
                             one.writer().open_number() == hand.open_number,
                         "its writer is told"));
  return Expect(entries[0].retained_steps_size() == 2,
                "the two steps that are not released are retained");
}

// What a Session of `hand` says to `desired`.
absl::StatusOr<std::map<std::string, v1::Reconciliation>> Compare(
    Subject& subject, const Hand& hand, v1::DesiredState desired) {
  Wire wire(subject);
  RETURN_IF_ERROR(wire.Initialize(hand.fence, std::move(desired)).status());
  return wire.outcomes();
}

absl::Status ComparesWhatIsDesired(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  ASSIGN_OR_RETURN(const v1::Connector shown, hand.Get());
  const std::string& name = hand.ref.connector();
  v1::DesiredState desired;
  v1::DesiredConnector& one = *desired.add_connectors();
  one.set_connector(name);
  one.set_instance(hand.ref.instance());
  one.set_spec_hash(shown.spec_hash());
  one.set_journaled_steps(hand.steps);
  desired.add_connectors()->set_connector("nobody-has-this-name");
  ASSIGN_OR_RETURN(auto outcomes, Compare(subject, hand, desired));
  RETURN_IF_ERROR(Expect(outcomes[name] == v1::RECONCILIATION_REUSED,
                         "what agrees is to be used on"));
  RETURN_IF_ERROR(
      Expect(outcomes["nobody-has-this-name"] == v1::RECONCILIATION_MISSING,
             "what is not open is missing"));
  one.set_journaled_steps(hand.steps + 1);
  ASSIGN_OR_RETURN(outcomes, Compare(subject, hand, desired));
  RETURN_IF_ERROR(Expect(outcomes[name] == v1::RECONCILIATION_CHANGED,
                         "what lacks a journaled step is not to be used on"));
  one.set_journaled_steps(hand.steps);
  one.set_spec_hash("of another specification");
  ASSIGN_OR_RETURN(outcomes, Compare(subject, hand, desired));
  RETURN_IF_ERROR(Expect(outcomes[name] == v1::RECONCILIATION_CHANGED,
                         "nor is what has another specification"));
  return hand.Get().status();
}

absl::Status DropsWhatNobodyDesires(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  const std::string& name = hand.ref.connector();
  v1::DesiredState desired;
  ASSIGN_OR_RETURN(auto outcomes, Compare(subject, hand, desired));
  RETURN_IF_ERROR(Expect(outcomes.empty() && hand.Get().ok(),
                         "without drop_others it is left alone"));
  desired.set_drop_others(true);
  ASSIGN_OR_RETURN(outcomes, Compare(subject, hand, desired));
  RETURN_IF_ERROR(Expect(outcomes[name] == v1::RECONCILIATION_DROPPED,
                         "with it, it is dropped"));
  // That takes a moment. A Session is asked, which no line repeats.
  v1::DesiredState once_more;
  once_more.add_connectors()->set_connector(name);
  const auto give_up = std::chrono::steady_clock::now() +
                       absl::ToChronoMilliseconds(kCheckCallMax);
  do {
    ASSIGN_OR_RETURN(outcomes, Compare(subject, hand, once_more));
  } while (outcomes[name] != v1::RECONCILIATION_MISSING &&
           std::chrono::steady_clock::now() < give_up);
  return Expect(outcomes[name] == v1::RECONCILIATION_MISSING,
                "and is gone soon");
}

absl::Status RepliesCarryIds(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(0));
  Wire wire(subject);
  RETURN_IF_ERROR(wire.Initialize(hand.fence).status());
  std::set<uint64_t> ids;
  for (uint64_t id = 10; id < 60; id += 10) {
    v1::SessionCommand command;
    command.set_id(id);
    // One that fails among them.
    command.mutable_get_connector()->set_connector(
        id == 30 ? "nobody-has-this-name" : hand.ref.connector());
    wire.Send(command);
    ids.insert(id);
  }
  while (!ids.empty()) {
    ASSIGN_OR_RETURN(const v1::SessionReply reply, wire.NextReply());
    RETURN_IF_ERROR(Expect(ids.erase(reply.id()) == 1,
                           "each command is answered once, by its id"));
    RETURN_IF_ERROR(Expect(reply.has_error() == (reply.id() == 30),
                           "the one that fails is the one that was wrong"));
  }
  return absl::OkStatus();
}

absl::Status OrderWithinAConnector(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Open());
  Wire wire(subject);
  RETURN_IF_ERROR(wire.Initialize(hand.fence).status());
  // Out of order one of them would be illegal.
  constexpr uint64_t kCommands = 100;
  for (uint64_t id = 1; id <= kCommands; ++id) {
    v1::SessionCommand command = Gate(hand, id, id % 2 == 1);
    if (id % 3 == 0 && command.has_extend()) {
      command.mutable_extend()->set_released_steps(0);
    }
    wire.Send(command);
  }
  for (uint64_t id = 1; id <= kCommands; ++id) {
    ASSIGN_OR_RETURN(const v1::SessionReply reply, wire.NextReply());
    RETURN_IF_ERROR(Expect(
        !reply.has_error(),
        absl::StrCat("command ", reply.id(),
                     " was legal where it stood: ", reply.error().message())));
  }
  return absl::OkStatus();
}

absl::Status SilenceEndsIt(Subject& subject) {
  Hand hand(subject);
  Wire wire(subject);
  v1::ControllerMessage hello = Hello(hand.fence);
  *hello.mutable_hello()->mutable_heartbeat_interval() =
      wire::DurationToProto(absl::Milliseconds(200));
  wire.Send(hello);
  return ExpectRefused(wire.End(), Reason::UNAVAILABLE,
                       "a Session whose controller is silent");
}

absl::Status Superseded(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Open());
  Wire wire(subject);
  RETURN_IF_ERROR(wire.Initialize(hand.fence).status());
  const v1::Fence old = hand.fence;
  hand.TakeNextEpoch();
  RETURN_IF_ERROR(hand.Release(0).status());
  RETURN_IF_ERROR(ExpectRefused(wire.End(), Reason::SUPERSEDED,
                                "a Session of the epoch before"));
  Wire late(subject);
  late.Send(Hello(old));
  return ExpectRefused(late.End(), Reason::STALE_EPOCH, "a hello of it");
}

constexpr ConformanceCheck kChecks[] = {
    {"10/hello_first",
     "a Session begins with hellos, and takes commands when it is initialised",
     HelloComesFirst},
    {"10/inventory",
     "the inventory names every connector: instance, specification, steps",
     InventoryIsComplete},
    {"10/desired", "what is desired is compared with what is open",
     ComparesWhatIsDesired},
    {"10/drop_others", "what nobody desires is dropped only if that is asked",
     DropsWhatNobodyDesires},
    {"10/reply_ids", "every command is answered once, by its id",
     RepliesCarryIds},
    {"10/order", "commands to one connector take effect in their order",
     OrderWithinAConnector},
    {"10/silence", "a Session whose controller is silent ends", SilenceEndsIt},
    {"10/superseded", "a higher epoch ends the Sessions of the lower ones",
     Superseded},
};

}  // namespace

std::span<const ConformanceCheck> SessionChecks() { return kChecks; }

}  // namespace penstock::conformance
