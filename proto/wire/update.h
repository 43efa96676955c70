// UpdateConnector: what is asked, and what may be changed while it lives.
#pragma once

#include "core/connector/requests.h"
#include "proto/penstock/v1/connector.pb.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>

namespace penstock::wire {

struct DecodedUpdate {
  core::CommandHeader header;
  core::UpdateRequest request;
};

// Its check refuses, with INVALID_CONFIG, what differs and is not `in_place`: a
// violation for each such field, whose reason is NEEDS_REOPEN (the next open
// takes it, with the journal as it is), NEEDS_CLEAN_CHECKPOINT or NEEDS_RESET.
// One that only asks may differ in anything.
// Errors: INVALID_REQUEST; INVALID_CONFIG, with every violation in the spec.
absl::StatusOr<DecodedUpdate> FromProto(
    const v1::UpdateConnectorRequest& request);

// What an update that was let pass says of a connector that ran with
// `reply.before`: every field that differs, with its class.
absl::StatusOr<v1::UpdateConnectorResponse> AnswerUpdate(
    const core::UpdateRequest& request, const core::UpdateReply& reply);

}  // namespace penstock::wire
