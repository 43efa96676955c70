// The sink `file`: rows appended to files of one directory, exactly once.
#pragma once

#include "core/contract/component.h"
#include "core/contract/output_target.h"
#include "core/sinks/file/config.h"
#include "core/sinks/file/file_committer.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// core/sinks/file/README.md says how it keeps steps exactly once.
//
// Owner:     the connector.
// Threads:   as OutputTarget.
// Lifecycle: as OutputTarget; its writer is used up by Open, also by one that
//            failed, unless that left nothing behind. `environment` outlives
//            it and the round under way.
// Bound:     one manifest, one open data file a shard; no buffer but, where
//            files are compressed, one compressor a shard.
class FileSink final : public OutputTarget {
 public:
  FileSink(FileSinkConfig config, const Environment& environment);

  std::optional<FtModel> FaultTolerance() const override;
  FrameKind Frames() const override { return FrameKind::kConcatenated; }
  absl::StatusOr<std::vector<Step>> Open(const OutputOpen& open) override;
  // Once a shard, after Open.
  absl::StatusOr<std::unique_ptr<OutputEndpoint>> MakeEndpoint(
      ShardIndex shard) override;
  // Requires: Open succeeded.
  OutputCommitter& Committer() override;
  absl::Status Close() override;

 private:
  const FileSinkConfig config_;
  const Environment environment_;

  std::optional<FtModel> level_;
  // By shard: whether its endpoint was made.
  std::vector<bool> endpoints_made_;
  // Shared by: this, the endpoints, the round under way. Null before Open.
  std::shared_ptr<FileCommitter> committer_;
};

// The factory that is registered under "file".
// Errors: INVALID_CONFIG naming the field.
absl::StatusOr<std::unique_ptr<OutputTarget>> MakeFileSink(
    const ComponentConfig& config, const Environment& environment);

}  // namespace penstock::core
