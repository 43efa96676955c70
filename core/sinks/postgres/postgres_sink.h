// The sink `postgres`. See core/sinks/postgres/README.md; upholds INV-1,
// INV-7 and INV-11.
#pragma once

#include "core/contract/component.h"
#include "core/contract/output_target.h"
#include "core/sinks/postgres/config.h"
#include "core/sinks/postgres/postgres_endpoint.h"
#include "core/sinks/postgres/table_name.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <memory>
#include <optional>
#include <vector>

namespace penstock::core {

// Owner:     the connector. Threads and Lifecycle: as OutputTarget.
//            `environment` outlives it.
// Bound:     one session a shard, one more during Open.
class PostgresSink final : public OutputTarget {
 public:
  // Requires: CheckPostgresConfig(config).
  PostgresSink(PostgresSinkConfig config, const Environment& environment);

  std::optional<FtModel> FaultTolerance() const override;
  FrameKind Frames() const override { return FrameKind::kConcatenated; }
  bool TellsRowsApart() const override { return true; }
  // Checks the schema against the table, ends the sessions of lower writers,
  // then takes the progress of all shards.
  absl::StatusOr<std::vector<Step>> Open(const OutputOpen& open) override;
  std::unique_ptr<RowEncoder> MakeEncoder() const override;
  absl::StatusOr<std::unique_ptr<OutputEndpoint>> MakeEndpoint(
      ShardIndex shard) override;
  OutputCommitter& Committer() override { return committer_; }
  absl::Status Close() override;

 private:
  absl::StatusOr<std::vector<Step>> TryOpen(const OutputOpen& open);

  const PostgresSinkConfig config_;
  const Environment environment_;
  CommitInBatchEnd committer_;

  // Shared by: this and the endpoints. Null before Open.
  std::shared_ptr<const PostgresWriting> writing_;
  std::vector<Step> progress_;
};

// NOT_FOUND, about the table that `field` names.
absl::Status MissingTable(const TableName& table, absl::string_view field);

// The factory that is registered under "postgres".
absl::StatusOr<std::unique_ptr<OutputTarget>> MakePostgresSink(
    const ComponentConfig& config, const Environment& environment);

}  // namespace penstock::core
