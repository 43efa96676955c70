// Requests and replies of the commands <-> core/connector/requests.h.
//
// ToProto is total. FromProto checks the form that the proto comments state
// (required, ranges, lengths); errors are INVALID_REQUEST with a violation for
// each field, or UNSUPPORTED for a field without a counterpart in the core.
#pragma once

#include "core/connector/requests.h"
#include "proto/wire/fragments.h"
#include "proto/wire/step.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace penstock::v1 {
class CommitCheckpointRequest;
class DeleteConnectorRequest;
class DeleteConnectorResponse;
class DisconnectRequest;
class DisconnectResponse;
class DrainRequest;
class DrainResponse;
class ExtendRequest;
class OpenConnectorResponse;
class OpenConnectorStart;
class PauseRequest;
class PrepareCheckpointRequest;
class PrepareCheckpointResponse;
class QueueRequest;
class QueueResponse;
class ReleaseRequest;
class ReplayResponse;
class ReplayStart;
}  // namespace penstock::v1

namespace penstock::wire {

// A command with what it carries beside its own fields.
template <typename Request>
struct Command {
  core::CommandHeader header;
  Request request;
};

// --- Open ------------------------------------------------------------------

// The first message; the position, if there is one, follows in fragments of
// `*request.position`. `request.spec_bytes` is sent if it is not empty, else
// `request.spec`. Errors: STATE_DAMAGED if spec_bytes does not parse.
absl::StatusOr<v1::OpenConnectorStart> ToProto(
    const core::OpenRequest& request);

struct DecodedOpen {
  // Without `position` as long as `position` below is not put together;
  // `spec_bytes` are the resolved spec's.
  core::OpenRequest request;
  std::optional<Part> position;
};
absl::StatusOr<DecodedOpen> FromProto(const v1::OpenConnectorStart& start);

// `spec`: as opened; gives resolved_spec, spec_hash and level_reason.
v1::OpenConnectorResponse ToProto(const core::OpenReply& reply,
                                  const core::ConnectorSpec& spec);
struct DecodedOpenReply {
  core::OpenReply reply;
  // Set: `reply.position` is to be read with ReadStepPart.
  std::optional<Part> base_position;
};
absl::StatusOr<DecodedOpenReply> FromProto(
    const v1::OpenConnectorResponse& response);

// --- Ordered lane ----------------------------------------------------------

// The first message. If its journaled result names the replay data as a part,
// the data follows in fragments.
v1::ReplayStart ToProto(const core::CommandHeader& header,
                        const core::ReplayRequest& request);
struct DecodedReplay {
  core::CommandHeader header;
  DecodedStep step;
  core::Step previous_steps = 0;
};
absl::StatusOr<DecodedReplay> FromProto(const v1::ReplayStart& start);
v1::ReplayResponse ToProto(const core::ReplayReply& reply);
absl::StatusOr<core::ReplayReply> FromProto(const v1::ReplayResponse& response);

v1::ExtendRequest ExtendToProto(const core::CommandHeader& header);
absl::StatusOr<core::CommandHeader> FromProto(const v1::ExtendRequest& request);
v1::PauseRequest PauseToProto(const core::CommandHeader& header);
absl::StatusOr<core::CommandHeader> FromProto(const v1::PauseRequest& request);

v1::QueueRequest ToProto(const core::CommandHeader& header,
                         const core::QueueRequest& request);
absl::StatusOr<Command<core::QueueRequest>> FromProto(
    const v1::QueueRequest& request);
v1::QueueResponse ToProto(const core::QueueReply& reply,
                          size_t bytes_max = kStepResultBytesMax);
// One of the two is set; `step` perhaps without its parts.
struct DecodedQueueReply {
  std::optional<DecodedStep> step;
  std::optional<core::NoStep> no_step;
};
absl::StatusOr<DecodedQueueReply> FromProto(const v1::QueueResponse& response);

// --- Immediate lane --------------------------------------------------------

v1::ReleaseRequest ReleaseToProto(const core::CommandHeader& header);
// Ensures: the header's released_steps is set.
absl::StatusOr<core::CommandHeader> FromProto(
    const v1::ReleaseRequest& request);

v1::PrepareCheckpointRequest ToProto(
    const core::CommandHeader& header,
    const core::PrepareCheckpointRequest& request);
absl::StatusOr<Command<core::PrepareCheckpointRequest>> FromProto(
    const v1::PrepareCheckpointRequest& request);
v1::PrepareCheckpointResponse ToProto(
    const core::PrepareCheckpointReply& reply);
absl::StatusOr<core::PrepareCheckpointReply> FromProto(
    const v1::PrepareCheckpointResponse& response);

v1::CommitCheckpointRequest ToProto(
    const core::CommandHeader& header,
    const core::CommitCheckpointRequest& request);
absl::StatusOr<Command<core::CommitCheckpointRequest>> FromProto(
    const v1::CommitCheckpointRequest& request);

v1::DisconnectRequest ToProto(const core::CommandHeader& header,
                              const core::DisconnectRequest& request);
absl::StatusOr<Command<core::DisconnectRequest>> FromProto(
    const v1::DisconnectRequest& request);
v1::DisconnectResponse ToProto(const core::DisconnectReply& reply);
// `connector` is the one that was asked; the response does not name it.
core::DisconnectReply FromProto(const v1::DisconnectResponse& response,
                                std::string connector);

v1::DeleteConnectorRequest DeleteToProto(
    const core::CommandHeader& header, const core::DisconnectRequest& request);
absl::StatusOr<Command<core::DisconnectRequest>> FromProto(
    const v1::DeleteConnectorRequest& request);
v1::DeleteConnectorResponse DeleteToProto(const core::DisconnectReply& reply);
core::DisconnectReply FromProto(const v1::DeleteConnectorResponse& response,
                                std::string connector);

// Of one connector (header.ref set) or of the whole worker.
struct DecodedDrain {
  // nullopt: the whole worker.
  std::optional<core::CommandHeader> header;
  std::string request_id;
  std::optional<absl::Duration> deadline;
};
absl::StatusOr<DecodedDrain> FromProto(const v1::DrainRequest& request);
v1::DrainResponse ToProto(const std::vector<core::DrainedConnector>& drained);

}  // namespace penstock::wire
