// The limits of design §6 as one connector obeys them.
// See core/connector/README.md; upholds INV-6.
#pragma once

#include "core/connector/requests.h"

#include <absl/status/statusor.h>

#include <cstdint>

namespace penstock::core {

// Checks `limits` for a connector with `shards` shards and fits what may be
// fitted: the shard queues are made as short as the low mark of the budget
// needs (low ≥ 2 × shards × queue × chunk), at least one chunk; a step is at
// most a quarter of the budget, and waits for no more than it may hold.
// Errors: INVALID_CONFIG naming the field and what to change.
absl::StatusOr<ConnectorLimits> ResolveLimits(ConnectorLimits limits,
                                              uint32_t shards);

// What one step may take: the request's maxima within the connector's. Zero in
// a request means the connector's.
struct StepCaps {
  // At which a reader stops; it may exceed them by one buffer.
  uint64_t records = UINT64_MAX;
  uint64_t bytes = UINT64_MAX;
  // Which a second buffer must not exceed: payload, and reserved bytes.
  uint64_t payload_bytes_max = UINT64_MAX;
  uint64_t reserved_bytes_max = UINT64_MAX;
};
StepCaps CapsOf(const QueueRequest& request, const ConnectorLimits& limits);

}  // namespace penstock::core
