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
  // Resolved.
  std::string spec_bytes;
  bool validate_only = false;
};

// Errors: INVALID_REQUEST; INVALID_CONFIG, with every violation in the spec.
absl::StatusOr<DecodedUpdate> FromProto(
    const v1::UpdateConnectorRequest& request);

// What an update says of a connector that runs with `running` (resolved bytes):
// every field that differs, with its class. No field is taken over while a
// connector lives: so, unless it is only asked, any difference is refused with
// INVALID_CONFIG and a violation for each field, whose reason is
// NEEDS_REOPEN (the next open takes it, with the journal as it is),
// NEEDS_CLEAN_CHECKPOINT or NEEDS_RESET.
absl::StatusOr<v1::UpdateConnectorResponse> AnswerUpdate(
    const DecodedUpdate& update, absl::string_view running);

}  // namespace penstock::wire
