// How a connector writes to its target, and what follows a failure.
// See core/handoff/README.md.
#pragma once

#include "core/handoff/breaker.h"
#include "core/handoff/retry.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>

namespace penstock::core {

// Each changes only when something is written and how often, never what: a
// step comes out of replay the same with any of them.
struct DeliveryOptions {
  // After so long a write counts as failed: BatchStart to commit. Not infinite.
  absl::Duration write_deadline = absl::Minutes(1);
  // Below exactly-once: a batch is written at one of these sizes, or this age.
  // It has no more rows, and passes the bytes by one row at most.
  uint64_t batch_rows_max = 500'000;
  uint64_t batch_bytes_max = uint64_t{4} << 20;
  absl::Duration batch_linger = absl::Milliseconds(100);
  // Below exactly-once: how many batches of a shard are written at the same
  // time; they overtake each other. nullopt: as many as the target allows.
  std::optional<uint32_t> writes_in_flight_max;
  RetryPolicy retry;
  Breaker::Options breaker;
};

// Errors: INVALID_CONFIG, naming the field.
absl::Status CheckDelivery(const DeliveryOptions& options);

}  // namespace penstock::core
