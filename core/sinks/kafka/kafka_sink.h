// The sink `kafka`. See core/sinks/kafka/README.md; upholds INV-1, INV-2 and
// INV-7.
#pragma once

#include "core/base/executor.h"
#include "core/contract/component.h"
#include "core/contract/output_target.h"
#include "core/sinks/kafka/config.h"
#include "core/sinks/kafka/kafka_lane.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// Lifecycle: as OutputTarget; what it needs of an environment outlives it.
class KafkaSink final : public OutputTarget {
 public:
  KafkaSink(KafkaSinkConfig config, const Environment& environment);
  ~KafkaSink() override;

  std::optional<FtModel> FaultTolerance() const override {
    return FtModel::kExactlyOnce;
  }
  FrameKind Frames() const override { return FrameKind::kMessages; }
  bool TellsRowsApart() const override { return true; }
  absl::StatusOr<std::vector<Step>> Open(const OutputOpen& open) override;
  absl::StatusOr<std::unique_ptr<OutputEndpoint>> MakeEndpoint(
      ShardIndex shard) override;
  OutputCommitter& Committer() override { return committer_; }
  absl::Status Close() override;

 private:
  class Renewal;

  const KafkaSinkConfig config_;
  const Environment environment_;
  CommitInBatchEnd committer_;
  // Set by Open. Shared by: this, lanes, endpoints.
  std::shared_ptr<const KafkaWriting> writing_;
  std::vector<std::shared_ptr<KafkaLane>> lanes_;
  // Exactly-once only. Shared by: this and its timer.
  std::shared_ptr<Renewal> renewal_;
};

// For the registry. Errors: INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<OutputTarget>> MakeKafkaSink(
    const ComponentConfig& config, const Environment& environment);

}  // namespace penstock::core
