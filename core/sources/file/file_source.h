// The source "file": one plain file, by path, from its beginning to its end.
#pragma once

#include "core/contract/component.h"
#include "core/contract/endpoint.h"
#include "core/sources/file/config.h"

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// Level exactly-once: a position names the content, and Replay reads it again.
// Partition 0; a record's offset is that of its first byte.
//
// Threads: thread-compatible. Outlived by the environment.
class FileSource final : public TransportInputEndpoint {
 public:
  // Requires: the configuration is good (MakeFileSource checks it).
  FileSource(FileSourceConfig config, const Environment& environment)
      : config_(std::move(config)), environment_(environment) {}

  std::optional<FtModel> FaultTolerance() const override {
    return FtModel::kExactlyOnce;
  }

  // Errors: PATH_NOT_ALLOWED; INVALID_CONFIG if the path is no plain file;
  // NOT_FOUND, PERMISSION_DENIED, IO_ERROR of the file; with `resume_info`:
  // POSITION_EXPIRED if the file is gone, cut off, rewritten or replaced,
  // MALFORMED_FRAME if it is no FilePosition.
  absl::StatusOr<OpenedInput> Open(
      InputConsumer& consumer, std::unique_ptr<Parser> parser,
      const Schema& schema, std::optional<std::string> resume_info) override;

 private:
  const FileSourceConfig config_;
  const Environment environment_;
};

// For the registry. Errors: INVALID_CONFIG naming the field.
absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeFileSource(
    const ComponentConfig& config, const Environment& environment);

}  // namespace penstock::core
