// The sink `null`: counts and discards. For benchmarks and dry runs.
#pragma once

#include "core/contract/component.h"
#include "core/contract/output_target.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <atomic>
#include <cstdint>
#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// What a null sink was given, since its open, in batches that ended.
// Threads: thread-safe.
struct NullSinkCounts {
  std::atomic<uint64_t> batches{0};
  std::atomic<uint64_t> buffers{0};
  std::atomic<uint64_t> messages{0};
  std::atomic<uint64_t> bytes{0};
};

// Holds nothing, so in exactly-once every shard stands where the controller
// opened it, and no writer can be fenced: there is nothing to harm.
//
// Owner:     the connector. Threads: as OutputTarget; counts are thread-safe.
// Lifecycle: as OutputTarget. Bound: nothing held.
class NullSink final : public OutputTarget {
 public:
  std::optional<FtModel> FaultTolerance() const override;
  FrameKind Frames() const override { return FrameKind::kConcatenated; }
  absl::StatusOr<std::vector<Step>> Open(const OutputOpen& open) override;
  absl::StatusOr<std::unique_ptr<OutputEndpoint>> MakeEndpoint(
      ShardIndex shard) override;
  OutputCommitter& Committer() override { return committer_; }
  absl::Status Close() override { return absl::OkStatus(); }

  const NullSinkCounts& counts() const { return counts_; }

 private:
  CommitInBatchEnd committer_;
  NullSinkCounts counts_;
  OutputOpen open_;
};

// The factory that is registered under "null".
absl::StatusOr<std::unique_ptr<OutputTarget>> MakeNullSink(
    const ComponentConfig& config, const Environment& environment);

}  // namespace penstock::core
