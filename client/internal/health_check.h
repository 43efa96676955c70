// grpc.health.v1.Health.Check, whose messages are not installed with gRPC.
// Internal to client/.
#pragma once

#include "client/internal/calls.h"

#include <absl/functional/any_invocable.h>
#include <absl/status/status.h>
#include <absl/time/time.h>

#include <memory>

namespace grpc {
class Channel;
}  // namespace grpc

namespace penstock::client::internal {

// Asks about the whole server (service ""), waiting for the connection as long
// as the deadline allows. `done` runs on gRPC's thread.
// Errors: SHUTTING_DOWN (any answer but SERVING), and those of the call.
void CheckHealth(const std::shared_ptr<grpc::Channel>& channel,
                 const std::shared_ptr<CallGroup>& group,
                 absl::Duration deadline,
                 absl::AnyInvocable<void(absl::Status)> done);

}  // namespace penstock::client::internal
