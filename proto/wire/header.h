// The fields that all commands begin with, and checks that requests share.
#pragma once

#include "core/connector/requests.h"
#include "proto/penstock/v1/common.pb.h"
#include "proto/wire/proto_time.h"
#include "proto/wire/violations.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>

namespace penstock::wire {

v1::Fence ToProto(const core::Fence& fence);
v1::ConnectorRef ToProto(const core::ConnectorRef& ref);
v1::Writer ToProto(const core::Writer& writer);
core::Writer FromProto(const v1::Writer& writer);

core::Fence ReadFence(const v1::Fence& fence, absl::string_view path,
                      Violations& violations);

enum class InstanceRule { kGiven, kMayBeEmpty };
core::ConnectorRef ReadRef(const v1::ConnectorRef& ref, InstanceRule rule,
                           Violations& violations);

void CheckRequestId(const std::string& id, Violations& violations);

// What the proto calls `deadline`, `wait` and `linger`: from 0 to `max`.
absl::Duration ReadTime(absl::string_view name,
                        const google::protobuf::Duration& time,
                        absl::Duration max, Violations& violations);

// The longest that a call may be told to wait, Drain excepted.
inline constexpr absl::Duration kWaitMax = absl::Minutes(10);

// For every request with `fence`, `connector` and `released_steps`.
template <typename Request>
void WriteHeader(const core::CommandHeader& header, Request& to) {
  *to.mutable_fence() = ToProto(header.fence);
  *to.mutable_connector() = ToProto(header.ref);
  if (header.released_steps.has_value()) {
    to.set_released_steps(*header.released_steps);
  }
  if constexpr (requires { to.request_id(); }) {
    to.set_request_id(header.request_id);
  }
}

template <typename Request>
core::CommandHeader ReadHeader(const Request& request, Violations& violations,
                               InstanceRule rule = InstanceRule::kGiven) {
  core::CommandHeader header;
  header.fence = ReadFence(request.fence(), "fence", violations);
  header.ref = ReadRef(request.connector(), rule, violations);
  if (request.has_released_steps()) {
    header.released_steps = request.released_steps();
  }
  if constexpr (requires { request.request_id(); }) {
    CheckRequestId(request.request_id(), violations);
    header.request_id = request.request_id();
  }
  return header;
}

}  // namespace penstock::wire
