#include "client/conformance/checks.h"
#include "core/base/status_macros.h"
#include "proto/wire/status.h"

#include <absl/strings/str_cat.h>
#include <grpcpp/client_context.h>

#include <functional>
#include <string>
#include <vector>

namespace penstock::conformance {
namespace {

using core::Reason;

// How each verb is answered: '.' it is legal, 'x' it is not.
struct Row {
  const char* state;
  std::function<absl::Status(Hand&)> reach;
  // Replay, Extend, Pause, Queue, Disconnect.
  const char* legal;
};

absl::Status Fail(Hand& hand) {
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(hand.Reopen());
  v1::StepResult lie = hand.journal[0];
  v1::StepHash& hash = *lie.mutable_resume()->mutable_replay()->mutable_hash();
  hash.set_value(hash.value() ^ 1);
  return ExpectRefused(hand.Replay(lie).status(), Reason::REPLAY_MISMATCH,
                       "a replay with another hash");
}

// With a step to replay.
absl::Status ReachOpened(Hand& hand) {
  RETURN_IF_ERROR(hand.Run(1));
  return hand.Reopen();
}

absl::Status ReachReplayed(Hand& hand) {
  RETURN_IF_ERROR(hand.Run(2));
  RETURN_IF_ERROR(hand.Reopen());
  RETURN_IF_ERROR(hand.Replay(hand.journal[0]).status());
  hand.steps = hand.journal[0].step() + 1;
  return absl::OkStatus();
}

absl::Status ReachPaused(Hand& hand) {
  RETURN_IF_ERROR(hand.Run(1));
  return hand.Pause().status();
}

absl::Status ReachClosed(Hand& hand) {
  RETURN_IF_ERROR(hand.Run(1));
  return hand.Disconnect().status();
}

std::vector<Row> Table() {
  return {
      {"OPENED", ReachOpened, "..xx."},
      {"REPLAYED", ReachReplayed, "..xx."},
      {"RUNNING", [](Hand& hand) { return hand.Run(1); }, "xx..."},
      {"PAUSED", ReachPaused, "x.x.."},
      {"FAILED", Fail, "xxxx."},
      {"CLOSED", ReachClosed, "xxxx."},
  };
}

absl::Status SayReplay(Hand& hand) {
  return hand.Replay(hand.journal.back()).status();
}

absl::Status TransitionTable(Subject& subject) {
  const std::vector<std::pair<const char*, std::function<absl::Status(Hand&)>>>
      verbs = {
          {"Replay", SayReplay},
          {"Extend", [](Hand& hand) { return hand.Extend().status(); }},
          {"Pause", [](Hand& hand) { return hand.Pause().status(); }},
          {"Queue",
           [](Hand& hand) {
             return hand.Send(hand.QueueRequest(hand.steps + 10)).status();
           }},
          {"Disconnect", [](Hand& hand) { return hand.Disconnect().status(); }},
      };
  for (const Row& row : Table()) {
    for (size_t i = 0; i < verbs.size(); ++i) {
      Hand hand(subject);
      RETURN_IF_ERROR(row.reach(hand))
      << "reaching " << row.state;
      const std::string what = absl::StrCat(verbs[i].first, " in ", row.state);
      const absl::Status answer = verbs[i].second(hand);
      if (row.legal[i] == '.') {
        RETURN_IF_ERROR(answer)
        << what;
      } else {
        RETURN_IF_ERROR(
            ExpectRefused(answer, Reason::ILLEGAL_TRANSITION, what));
      }
    }
  }
  return absl::OkStatus();
}

absl::Status DisconnectIsFinal(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(2));
  ASSIGN_OR_RETURN(const v1::DisconnectResponse first, hand.Disconnect());
  RETURN_IF_ERROR(Expect(first.dropped_steps_size() == 2,
                         "unreleased steps are not listed as dropped"));
  ASSIGN_OR_RETURN(const v1::DisconnectResponse again, hand.Disconnect());
  return Expect(first.SerializeAsString() == again.SerializeAsString(),
                "a second Disconnect has another answer");
}

absl::Status FailedStaysReadable(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(Fail(hand));
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  RETURN_IF_ERROR(Expect(!now.health().reason().empty() &&
                             now.health().error_count() > 0 &&
                             now.health().has_first_error(),
                         "a failed connector does not say why"));
  return hand.Release(hand.base_steps).status();
}

absl::Status IdleIsHealthy(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  RETURN_IF_ERROR(hand.Pause().status());
  ASSIGN_OR_RETURN(const v1::Connector now, hand.Get());
  return Expect(now.health().condition() == v1::CONDITION_OK &&
                    now.health().error_count() == 0,
                absl::StrCat("a paused connector is not OK: ",
                             now.health().ShortDebugString()));
}

absl::Status BadSpecNamesItsFields(Subject& subject) {
  Hand hand(subject);
  hand.spec.set_shards(5000);
  hand.spec.mutable_source()->mutable_file()->clear_path();
  v1::ValidateConnectorRequest request;
  *request.mutable_spec() = hand.spec;
  v1::ValidateConnectorResponse answer;
  grpc::ClientContext context;
  SetDeadline(context);
  RETURN_IF_ERROR(wire::StatusFromGrpc(
      subject.connectors().ValidateConnector(&context, request, &answer)));
  std::string fields;
  for (const auto& violation : answer.violations()) {
    absl::StrAppend(&fields, violation.field(), ";");
  }
  RETURN_IF_ERROR(Expect(fields.find("shards") != std::string::npos &&
                             fields.find("path") != std::string::npos,
                         absl::StrCat("violations name only: ", fields)));
  return ExpectRefused(hand.SendOpen(hand.OpenStart()).status(),
                       Reason::INVALID_CONFIG, "a wrong spec");
}

absl::Status UnknownConnector(Subject& subject) {
  Hand hand(subject);
  return ExpectRefused(hand.Get().status(), Reason::NO_SUCH_CONNECTOR,
                       "a connector that is not there");
}

absl::Status ErrorsCarryTheirInfo(Subject& subject) {
  Hand hand(subject);
  RETURN_IF_ERROR(hand.Run(1));
  hand.ref.set_instance("of-another-life");
  v1::ReleaseRequest request;
  *request.mutable_fence() = hand.fence;
  *request.mutable_connector() = hand.ref;
  request.set_released_steps(0);
  v1::ReleaseResponse response;
  grpc::ClientContext context;
  SetDeadline(context);
  const grpc::Status status =
      subject.control().Release(&context, request, &response);
  v1::Status details;
  RETURN_IF_ERROR(Expect(details.ParseFromString(status.error_details()),
                         "the details are no google.rpc.Status"));
  RETURN_IF_ERROR(Expect(
      details.code() == status.error_code() && details.details_size() >= 1,
      "code or details are missing"));
  v1::ErrorInfo info;
  RETURN_IF_ERROR(Expect(details.details(0).type_url() ==
                                 "type.googleapis.com/google.rpc.ErrorInfo" &&
                             info.ParseFromString(details.details(0).value()),
                         "the first detail is no ErrorInfo"));
  return Expect(
      info.reason() == "INSTANCE_MISMATCH" && info.domain() == "penstock",
      info.ShortDebugString());
}

constexpr ConformanceCheck kChecks[] = {
    {"table/transitions", "every verb in every state is as the table says",
     TransitionTable},
    {"table/disconnect", "Disconnect lists what it dropped, always the same",
     DisconnectIsFinal},
    {"14/failed", "a failed connector says why, and stays readable",
     FailedStaysReadable},
    {"14/idle", "who has nothing to do is OK", IdleIsHealthy},
    {"15/violations", "a wrong spec names its fields", BadSpecNamesItsFields},
    {"15/unknown", "what is not there has its own reason", UnknownConnector},
    {"15/error_info", "errors are google.rpc.Status with one ErrorInfo",
     ErrorsCarryTheirInfo},
};

}  // namespace

std::span<const ConformanceCheck> StateChecks() { return kChecks; }

}  // namespace penstock::conformance
