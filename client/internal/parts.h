// Reads what was too long for a reply (ReadStepPart). Internal to client/.
#pragma once

#include "client/internal/calls.h"
#include "core/connector/requests.h"
#include "proto/penstock/v1/control.grpc.pb.h"
#include "proto/wire/fragments.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <string>

namespace penstock::client::internal {

struct PartRequest {
  core::ConnectorRef ref;
  core::Step step = 0;
  v1::StepPart part = v1::STEP_PART_UNSPECIFIED;
  // What the reply named.
  wire::Part announced;
};

// `done` gets the whole, checked against length and hash, on gRPC's thread.
// Errors: the worker's; MALFORMED_FRAME, RECORD_TOO_LARGE (FragmentAssembler).
void ReadPart(const std::shared_ptr<CallGroup>& group,
              v1::ControlService::Stub& stub, absl::Duration deadline,
              const PartRequest& request,
              absl::AnyInvocable<void(absl::StatusOr<std::string>)> done);

}  // namespace penstock::client::internal
