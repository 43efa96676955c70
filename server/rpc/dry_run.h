// A spec looked at phase by phase, without opening it.
#pragma once

#include "core/base/executor.h"
#include "core/connector/registry.h"
#include "core/contract/component.h"
#include "proto/penstock/v1/connector.grpc.pb.h"

#include <grpcpp/support/server_callback.h>

#include <atomic>
#include <cstdint>

namespace penstock::server {

// How many look outside now. Each may keep a thread of the I/O executor for as
// long as a target does not answer, so that there are few.
// Threads: thread-safe. Owner: the service; outlives its calls.
class ProbeSlots {
 public:
  static constexpr int kMost = 2;

  bool Take() {
    if (taken_.fetch_add(1, std::memory_order_relaxed) < kMost) return true;
    Return();
    return false;
  }
  void Return() { taken_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  // Only a count: nothing is ordered by it.
  std::atomic<int> taken_ = 0;
};

// What a dry run needs of the worker; all of it outlives the gRPC server.
struct DryRunContext {
  const core::Registry& registry;
  core::Environment environment;
  ProbeSlots& slots;
  // Left for another connector, in bytes.
  uint64_t memory_left = 0;
};

// Answers ValidateConnector. Owner: itself, until the call is done; ends early
// if the caller goes. Blocks: never; what blocks runs on `environment.io`.
// Errors: BUDGET_EXCEEDED, if it is to look outside and no slot is free.
grpc::ServerUnaryReactor* StartDryRun(
    DryRunContext context, const v1::ValidateConnectorRequest& request,
    v1::ValidateConnectorResponse& response);

}  // namespace penstock::server
