#include "proto/wire/requests.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "proto/penstock/v1/connector.pb.h"
#include "proto/penstock/v1/control.pb.h"
#include "proto/wire/enums.h"
#include "proto/wire/header.h"

#include <google/protobuf/duration.pb.h>

#include <cstdint>
#include <memory>
#include <utility>

namespace penstock::wire {
namespace {

constexpr int kStepsListedMax = 1024;
constexpr int kBlockersMax = 100;

absl::Status Check(const Violations& violations) {
  return violations.ToStatus(core::Reason::INVALID_REQUEST);
}

// Fields that count "from 1" when given; 0 in the core means "not given".
template <typename Field>
uint64_t ReadMinimum(absl::string_view name, bool given, Field value,
                     Violations& violations) {
  if (given && value == 0) {
    violations.Add(std::string(name), "must be 1 or higher", kOutOfRange);
  }
  return value;
}

template <typename Request>
absl::StatusOr<core::CommandHeader> HeaderAlone(const Request& request) {
  Violations violations;
  core::CommandHeader header = ReadHeader(request, violations);
  RETURN_IF_ERROR(Check(violations));
  return header;
}

template <typename Response>
void StepsToProto(const core::DisconnectReply& reply, Response& to) {
  for (const core::Step step : reply.unconfirmed_steps) {
    if (to.unconfirmed_steps_size() == kStepsListedMax) break;
    to.add_unconfirmed_steps(step);
  }
  for (const core::Step step : reply.dropped_steps) {
    if (to.dropped_steps_size() == kStepsListedMax) break;
    to.add_dropped_steps(step);
  }
}

template <typename Response>
core::DisconnectReply StepsFromProto(const Response& response,
                                     std::string connector) {
  core::DisconnectReply reply;
  reply.connector = std::move(connector);
  reply.unconfirmed_steps.assign(response.unconfirmed_steps().begin(),
                                 response.unconfirmed_steps().end());
  reply.dropped_steps.assign(response.dropped_steps().begin(),
                             response.dropped_steps().end());
  return reply;
}

template <typename Request>
absl::StatusOr<Command<core::DisconnectRequest>> ReadEnd(const Request& request,
                                                         InstanceRule rule) {
  Violations violations;
  Command<core::DisconnectRequest> result;
  result.header = ReadHeader(request, violations, rule);
  if (request.has_deadline()) {
    result.request.deadline =
        ReadTime("deadline", request.deadline(), kWaitMax, violations);
  }
  RETURN_IF_ERROR(Check(violations));
  return result;
}

}  // namespace

v1::ReplayStart ToProto(const core::CommandHeader& header,
                        const core::ReplayRequest& request) {
  v1::ReplayStart to;
  WriteHeader(header, to);
  to.set_step(request.result.step);
  to.set_previous_steps(request.previous_steps);
  *to.mutable_journaled() = ToProto(request.result);
  // It is for a checkpoint, not for a replay.
  to.mutable_journaled()->clear_full_position();
  return to;
}

absl::StatusOr<DecodedReplay> FromProto(const v1::ReplayStart& start) {
  Violations violations;
  DecodedReplay result;
  result.header = ReadHeader(start, violations);
  result.previous_steps = start.previous_steps();
  if (!start.has_journaled()) {
    violations.Add("journaled", "is missing", kRequired);
  } else if (!start.journaled().resume().has_replay()) {
    violations.Add("journaled.resume.replay",
                   "is missing: the step cannot be replayed", kRequired);
  }
  if (start.has_journaled() && start.journaled().step() != start.step()) {
    violations.Add("step", "differs from journaled.step", kContradiction);
  }
  RETURN_IF_ERROR(Check(violations));
  ASSIGN_OR_RETURN(result.step, FromProto(start.journaled(), "journaled"));
  result.step.full_position.reset();
  result.step.result.full_position.reset();
  return result;
}

v1::ReplayResponse ToProto(const core::ReplayReply& reply) {
  v1::ReplayResponse to;
  *to.mutable_amount() = ToProto(reply.amount);
  to.set_already_held(reply.already_held);
  return to;
}

absl::StatusOr<core::ReplayReply> FromProto(
    const v1::ReplayResponse& response) {
  core::ReplayReply reply;
  reply.amount = FromProto(response.amount());
  reply.already_held = response.already_held();
  return reply;
}

v1::ExtendRequest ExtendToProto(const core::CommandHeader& header) {
  v1::ExtendRequest to;
  WriteHeader(header, to);
  return to;
}

absl::StatusOr<core::CommandHeader> FromProto(
    const v1::ExtendRequest& request) {
  return HeaderAlone(request);
}

v1::PauseRequest PauseToProto(const core::CommandHeader& header) {
  v1::PauseRequest to;
  WriteHeader(header, to);
  return to;
}

absl::StatusOr<core::CommandHeader> FromProto(const v1::PauseRequest& request) {
  return HeaderAlone(request);
}

v1::QueueRequest ToProto(const core::CommandHeader& header,
                         const core::QueueRequest& request) {
  v1::QueueRequest to;
  WriteHeader(header, to);
  to.set_step(request.step);
  to.set_previous_steps(request.previous_steps);
  if (request.min_records > 0) to.set_min_records(request.min_records);
  if (request.min_bytes > 0) to.set_min_bytes(request.min_bytes);
  if (request.linger.has_value()) {
    *to.mutable_linger() = DurationToProto(*request.linger);
  }
  *to.mutable_wait() = DurationToProto(request.wait);
  if (request.max_records > 0) to.set_max_records(request.max_records);
  if (request.max_bytes > 0) to.set_max_bytes(request.max_bytes);
  to.set_checkpoint_requested(request.checkpoint_requested);
  return to;
}

absl::StatusOr<Command<core::QueueRequest>> FromProto(
    const v1::QueueRequest& request) {
  Violations violations;
  Command<core::QueueRequest> result;
  result.header = ReadHeader(request, violations);
  core::QueueRequest& to = result.request;
  to.step = request.step();
  to.previous_steps = request.previous_steps();
  to.min_records = ReadMinimum("min_records", request.has_min_records(),
                               request.min_records(), violations);
  to.min_bytes = ReadMinimum("min_bytes", request.has_min_bytes(),
                             request.min_bytes(), violations);
  to.max_records = ReadMinimum("max_records", request.has_max_records(),
                               request.max_records(), violations);
  to.max_bytes = ReadMinimum("max_bytes", request.has_max_bytes(),
                             request.max_bytes(), violations);
  if (request.has_linger()) {
    to.linger = ReadTime("linger", request.linger(), kWaitMax, violations);
  }
  to.wait = request.has_wait()
                ? ReadTime("wait", request.wait(), kWaitMax, violations)
                : absl::Seconds(10);
  to.checkpoint_requested = request.checkpoint_requested();
  RETURN_IF_ERROR(Check(violations));
  return result;
}

v1::QueueResponse ToProto(const core::QueueReply& reply, size_t bytes_max) {
  v1::QueueResponse to;
  if (reply.result != nullptr) {
    *to.mutable_result() = ToProto(*reply.result, bytes_max);
    return to;
  }
  CHECK(reply.no_step.has_value());
  v1::NoStep& no_step = *to.mutable_no_step();
  no_step.set_reason(ToProto(reply.no_step->reason));
  no_step.set_end_of_input(reply.no_step->end_of_input);
  return to;
}

absl::StatusOr<DecodedQueueReply> FromProto(const v1::QueueResponse& response) {
  Violations violations;
  DecodedQueueReply reply;
  switch (response.outcome_case()) {
    case v1::QueueResponse::kResult: {
      ASSIGN_OR_RETURN(reply.step, FromProto(response.result(), "result"));
      break;
    }
    case v1::QueueResponse::kNoStep: {
      const v1::NoStep& from = response.no_step();
      const auto reason = FromProto(from.reason());
      if (!reason.has_value()) {
        violations.Add("no_step.reason",
                       absl::StrCat("is ", from.reason(),
                                    ", which is not a reason of this version"),
                       kUnknownValue);
        break;
      }
      reply.no_step =
          core::NoStep{.reason = *reason, .end_of_input = from.end_of_input()};
      break;
    }
    case v1::QueueResponse::OUTCOME_NOT_SET:
      violations.Add("outcome", "is missing, or one that is not known",
                     kRequired);
      break;
  }
  RETURN_IF_ERROR(Check(violations));
  return reply;
}

v1::ReleaseRequest ReleaseToProto(const core::CommandHeader& header) {
  v1::ReleaseRequest to;
  WriteHeader(header, to);
  return to;
}

absl::StatusOr<core::CommandHeader> FromProto(
    const v1::ReleaseRequest& request) {
  Violations violations;
  core::CommandHeader header = ReadHeader(request, violations);
  if (!header.released_steps.has_value()) {
    violations.Add("released_steps", "is missing", kRequired);
  }
  RETURN_IF_ERROR(Check(violations));
  return header;
}

v1::PrepareCheckpointRequest ToProto(
    const core::CommandHeader& header,
    const core::PrepareCheckpointRequest& request) {
  v1::PrepareCheckpointRequest to;
  WriteHeader(header, to);
  to.set_steps(request.steps);
  *to.mutable_deadline() = DurationToProto(request.deadline);
  return to;
}

absl::StatusOr<Command<core::PrepareCheckpointRequest>> FromProto(
    const v1::PrepareCheckpointRequest& request) {
  Violations violations;
  Command<core::PrepareCheckpointRequest> result;
  result.header = ReadHeader(request, violations);
  result.request.steps = request.steps();
  if (request.has_deadline()) {
    result.request.deadline =
        ReadTime("deadline", request.deadline(), kWaitMax, violations);
  }
  RETURN_IF_ERROR(Check(violations));
  return result;
}

v1::PrepareCheckpointResponse ToProto(
    const core::PrepareCheckpointReply& reply) {
  v1::PrepareCheckpointResponse to;
  to.set_ready(reply.ready);
  for (const core::Blocker& blocker : reply.blockers) {
    if (to.blockers_size() == kBlockersMax) break;
    *to.add_blockers() = ToProto(blocker);
  }
  return to;
}

absl::StatusOr<core::PrepareCheckpointReply> FromProto(
    const v1::PrepareCheckpointResponse& response) {
  core::PrepareCheckpointReply reply;
  reply.ready = response.ready();
  for (const v1::Blocker& from : response.blockers()) {
    ASSIGN_OR_RETURN(core::Blocker blocker, FromProto(from));
    reply.blockers.push_back(std::move(blocker));
  }
  return reply;
}

v1::CommitCheckpointRequest ToProto(
    const core::CommandHeader& header,
    const core::CommitCheckpointRequest& request) {
  v1::CommitCheckpointRequest to;
  WriteHeader(header, to);
  to.set_steps(request.steps);
  return to;
}

absl::StatusOr<Command<core::CommitCheckpointRequest>> FromProto(
    const v1::CommitCheckpointRequest& request) {
  Violations violations;
  Command<core::CommitCheckpointRequest> result;
  result.header = ReadHeader(request, violations);
  result.request.steps = request.steps();
  RETURN_IF_ERROR(Check(violations));
  return result;
}

v1::DisconnectRequest ToProto(const core::CommandHeader& header,
                              const core::DisconnectRequest& request) {
  v1::DisconnectRequest to;
  WriteHeader(header, to);
  *to.mutable_deadline() = DurationToProto(request.deadline);
  return to;
}

absl::StatusOr<Command<core::DisconnectRequest>> FromProto(
    const v1::DisconnectRequest& request) {
  return ReadEnd(request, InstanceRule::kGiven);
}

v1::DisconnectResponse ToProto(const core::DisconnectReply& reply) {
  v1::DisconnectResponse to;
  StepsToProto(reply, to);
  return to;
}

core::DisconnectReply FromProto(const v1::DisconnectResponse& response,
                                std::string connector) {
  return StepsFromProto(response, std::move(connector));
}

v1::DeleteConnectorRequest DeleteToProto(
    const core::CommandHeader& header, const core::DisconnectRequest& request) {
  v1::DeleteConnectorRequest to;
  WriteHeader(header, to);
  *to.mutable_deadline() = DurationToProto(request.deadline);
  return to;
}

absl::StatusOr<Command<core::DisconnectRequest>> FromProto(
    const v1::DeleteConnectorRequest& request) {
  return ReadEnd(request, InstanceRule::kMayBeEmpty);
}

v1::DeleteConnectorResponse DeleteToProto(const core::DisconnectReply& reply) {
  v1::DeleteConnectorResponse to;
  StepsToProto(reply, to);
  return to;
}

core::DisconnectReply FromProto(const v1::DeleteConnectorResponse& response,
                                std::string connector) {
  return StepsFromProto(response, std::move(connector));
}

absl::StatusOr<DecodedDrain> FromProto(const v1::DrainRequest& request) {
  Violations violations;
  DecodedDrain result;
  if (request.has_connector()) {
    result.header = ReadHeader(request, violations);
  } else {
    CheckRequestId(request.request_id(), violations);
    if (request.has_released_steps()) {
      violations.Add("released_steps", "is given only with `connector`",
                     kContradiction);
    }
  }
  result.request_id = request.request_id();
  if (request.has_deadline()) {
    result.deadline =
        ReadTime("deadline", request.deadline(), absl::Hours(1), violations);
  }
  RETURN_IF_ERROR(Check(violations));
  return result;
}

v1::DrainResponse ToProto(const std::vector<core::DrainedConnector>& drained) {
  v1::DrainResponse to;
  to.set_complete(true);
  for (const core::DrainedConnector& one : drained) {
    v1::DrainedConnector& connector = *to.add_connectors();
    connector.set_connector(one.connector);
    connector.set_instance(one.instance);
    if (one.reply.ok()) {
      StepsToProto(*one.reply, connector);
    } else {
      connector.set_error(core::ErrorText(one.reply.status()));
    }
    if (!one.unqueued.IsEmpty()) {
      *connector.mutable_unqueued() = ToProto(one.unqueued);
    }
    if (!one.IsComplete()) to.set_complete(false);
  }
  return to;
}

}  // namespace penstock::wire
