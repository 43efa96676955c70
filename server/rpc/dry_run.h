// A spec looked at phase by phase, without opening it.
#pragma once

#include "core/base/executor.h"
#include "core/connector/registry.h"
#include "core/contract/component.h"
#include "proto/penstock/v1/connector.grpc.pb.h"

#include <grpcpp/support/server_callback.h>

#include <cstdint>

namespace penstock::server {

// What a dry run needs of the worker; all of it outlives the gRPC server.
struct DryRunContext {
  const core::Registry& registry;
  core::Environment environment;
  // Left for another connector, in bytes.
  uint64_t memory_left = 0;
};

// Answers ValidateConnector. Owner: itself, until the call is done; ends early
// if the caller goes. Blocks: never; what blocks runs on `environment.io`.
grpc::ServerUnaryReactor* StartDryRun(
    DryRunContext context, const v1::ValidateConnectorRequest& request,
    v1::ValidateConnectorResponse& response);

}  // namespace penstock::server
