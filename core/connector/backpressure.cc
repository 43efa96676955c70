#include "core/connector/backpressure.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <algorithm>
#include <cstdint>
#include <string>

namespace penstock::core {
namespace {

absl::Status Refuse(absl::string_view field, absl::string_view problem) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("checking limits: ", field, " ", problem),
                   {{"field", absl::StrCat("limits.", field)}});
}

absl::Status CheckPositive(const ConnectorLimits& limits) {
  if (limits.record_bytes_max == 0) {
    return Refuse("record_bytes_max", "must be above 0");
  }
  if (limits.block_bytes == 0) return Refuse("block_bytes", "must be above 0");
  if (limits.queued_bytes_max == 0) {
    return Refuse("queued_bytes_max", "must be above 0");
  }
  if (limits.chunk_bytes == 0) return Refuse("chunk_bytes", "must be above 0");
  if (limits.shard_queue_chunks == 0) {
    return Refuse("shard_queue_chunks", "must be above 0");
  }
  if (limits.step_bytes == 0) return Refuse("step_bytes", "must be above 0");
  if (limits.step_bytes_max == 0) {
    return Refuse("step_bytes_max", "must be above 0");
  }
  if (limits.step_records_max == 0) {
    return Refuse("step_records_max", "must be above 0");
  }
  if (limits.steps_outstanding_max == 0) {
    return Refuse("steps_outstanding_max", "must be above 0");
  }
  if (limits.retained_bytes_max == 0) {
    return Refuse("retained_bytes_max", "must be above 0");
  }
  if (limits.chunk_age < absl::ZeroDuration()) {
    return Refuse("chunk_age_max", "must not be negative");
  }
  if (limits.step_linger < absl::ZeroDuration()) {
    return Refuse("step_linger", "must not be negative");
  }
  return absl::OkStatus();
}

absl::Status CheckMarks(const ConnectorLimits& limits) {
  // Written so that NaN is refused, too.
  if (!(limits.inflight_low > 0 && limits.inflight_low <= 1)) {
    return Refuse("inflight_low", "must be above 0 and at most 1");
  }
  if (!(limits.inflight_high > limits.inflight_low &&
        limits.inflight_high <= 1)) {
    return Refuse("inflight_high", "must be above inflight_low, at most 1");
  }
  return absl::OkStatus();
}

absl::Status CheckMemory(const ConnectorLimits& limits) {
  // Saturating: nobody means more than this.
  const auto add = [](uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
  };
  const uint64_t needed =
      add(add(limits.queued_bytes_max, limits.inflight_bytes_max),
          limits.retained_bytes_max);
  if (needed <= limits.memory_max) return absl::OkStatus();
  return Refuse(
      "memory_max",
      absl::StrCat("is ", limits.memory_max, " bytes, but queued_bytes_max, ",
                   "inflight_bytes_max and retained_bytes_max add up to ",
                   needed, "; raise it, or lower one of them"));
}

// How many chunks each shard queue may hold so that the budget falls to its
// low mark while they are all still full.
absl::StatusOr<uint32_t> FitShardQueue(const ConnectorLimits& limits,
                                       uint32_t shards) {
  const auto low = static_cast<uint64_t>(
      limits.inflight_low * static_cast<double>(limits.inflight_bytes_max));
  const uint64_t chunks = low / 2 / shards / limits.chunk_bytes;
  if (chunks > 0) {
    return static_cast<uint32_t>(
        std::min<uint64_t>(chunks, limits.shard_queue_chunks));
  }
  return Refuse(
      "inflight_bytes_max",
      absl::StrCat("is too small: its low mark of ", low, " bytes must hold ",
                   "two chunks of ", limits.chunk_bytes, " bytes for each of ",
                   shards, " shards; raise it or inflight_low, or lower ",
                   "chunk_bytes or shards"));
}

}  // namespace

absl::StatusOr<ConnectorLimits> ResolveLimits(ConnectorLimits limits,
                                              uint32_t shards) {
  if (shards == 0) {
    return MakeError(Reason::INVALID_CONFIG,
                     "checking limits: shards must be above 0",
                     {{"field", "shards"}});
  }
  RETURN_IF_ERROR(CheckPositive(limits));
  RETURN_IF_ERROR(CheckMarks(limits));
  ASSIGN_OR_RETURN(limits.shard_queue_chunks, FitShardQueue(limits, shards));
  RETURN_IF_ERROR(CheckMemory(limits));
  limits.step_bytes_max =
      std::min(limits.step_bytes_max,
               std::max<uint64_t>(1, limits.inflight_bytes_max / 4));
  limits.step_bytes = std::min(limits.step_bytes, limits.step_bytes_max);
  return limits;
}

StepCaps CapsOf(const QueueRequest& request, const ConnectorLimits& limits) {
  const auto within = [](uint64_t asked, uint64_t limit) {
    return asked == 0 ? limit : std::min(asked, limit);
  };
  return {
      .records = within(request.max_records, limits.step_records_max),
      .bytes = within(request.max_bytes, limits.step_bytes_max),
      .payload_bytes_max = limits.step_bytes_max,
      .reserved_bytes_max =
          std::max<uint64_t>(1, limits.inflight_bytes_max / 4),
  };
}

}  // namespace penstock::core
