#include "core/sinks/file/file_sink.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sinks/file/file_endpoint.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"
#include "core/sinks/file/takeover.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {
namespace {

DataFormat FormatOf(const FileSinkConfig& config) {
  DataFormat format = {.compression = config.compression, .name = {}};
  if (config.visibility == FileVisibility::kRename) {
    format.name =
        config.name.empty() ? std::string(kDefaultNamePattern) : config.name;
  }
  return format;
}

absl::Status CheckOpen(const OutputOpen& open) {
  if (open.shards == 0 || open.shards > kSinkShardsMax) {
    return InvalidSinkField(
        "shards",
        absl::StrCat("must be 1 to ", kSinkShardsMax, ", not ", open.shards));
  }
  if (open.incarnation.size() + open.pipeline.size() + open.connector.size() >
      kHeaderBytesMax / 2) {
    return InvalidSinkField("connector",
                            "and its pipeline have too long names");
  }
  return absl::OkStatus();
}

}  // namespace

FileSink::FileSink(FileSinkConfig config, const Environment& environment)
    : config_(std::move(config)), environment_(environment) {}

std::optional<FtModel> FileSink::FaultTolerance() const {
  return FtModel::kExactlyOnce;
}

absl::StatusOr<std::vector<Step>> FileSink::Open(const OutputOpen& open) {
  CHECK(committer_ == nullptr) << "opened twice: " << config_.path;
  RETURN_IF_ERROR(CheckOpen(open));
  RETURN_IF_ERROR(environment_.paths.Check(environment_.files, config_.path));
  RETURN_IF_ERROR(environment_.files.CreateDirectories(config_.path));
  absl::StatusOr<TakenOver> taken = TakeOver(
      environment_.files, config_.path, open,
      {.format = FormatOf(config_), .segment_files = config_.segment_files});
  RETURN_IF_ERROR(taken.status())
  << "while opening sink file " << config_.path;
  level_ = open.level;
  endpoints_made_.assign(open.shards, false);
  std::vector<Step> progress = taken->state.progress;
  committer_ = std::make_shared<FileCommitter>(
      environment_.files, environment_.io,
      FileCommitter::Options{.directory = config_.path,
                             .manifest_bytes_max = config_.manifest_bytes_max,
                             .segment_files = config_.segment_files,
                             .roll = config_.roll},
      *std::move(taken));
  return progress;
}

absl::StatusOr<std::unique_ptr<OutputEndpoint>> FileSink::MakeEndpoint(
    ShardIndex shard) {
  if (shard >= endpoints_made_.size() || endpoints_made_[shard]) {
    return MakeError(
        Reason::INVALID_REQUEST,
        absl::StrCat("shard ", shard, " of sink file ", config_.path,
                     " does not exist or has its endpoint"));
  }
  endpoints_made_[shard] = true;
  return std::make_unique<FileEndpoint>(
      environment_.files,
      FileEndpoint::Options{.directory = config_.path,
                            .compression_level = config_.compression_level,
                            .shard = shard,
                            .buffer_bytes_max = config_.buffer_bytes_max,
                            .fault_tolerant = level_ == FtModel::kExactlyOnce},
      committer_);
}

OutputCommitter& FileSink::Committer() {
  CHECK(committer_ != nullptr) << "not open: " << config_.path;
  return *committer_;
}

absl::Status FileSink::Close() {
  if (committer_ != nullptr) {
    committer_->FinishFiles();
    committer_->Break(
        MakeError(Reason::CANCELLED,
                  absl::StrCat("sink file ", config_.path, " is closed")));
  }
  return absl::OkStatus();
}

absl::StatusOr<std::unique_ptr<OutputTarget>> MakeFileSink(
    const ComponentConfig& config, const Environment& environment) {
  CHECK(config.type() == "file") << config.type();
  const auto& file_config = static_cast<const FileSinkConfig&>(config);
  RETURN_IF_ERROR(CheckFileSinkConfig(file_config));
  return std::make_unique<FileSink>(file_config, environment);
}

}  // namespace penstock::core
