// The source "file": one file, or all that match a pattern; to their ends, or
// followed.
#pragma once

#include "core/base/directory_events.h"
#include "core/base/piped_input.h"
#include "core/contract/component.h"
#include "core/contract/endpoint.h"
#include "core/sources/file/config.h"
#include "core/sources/file/file_finder.h"
#include "core/sources/file/file_reader.h"
#include "core/sources/file/source_position.h"

#include <absl/status/statusor.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::core {

// Level exactly-once: a position names the content, and Replay reads it again.
// A file's number is the partition of its records; a record's offset is that of
// its first byte in the content.
//
// Threads: thread-compatible. Outlived by the environment.
class FileSource final : public TransportInputEndpoint {
 public:
  // Requires: the configuration is good (MakeFileSource checks it).
  // `events` as in FileServices.
  FileSource(FileSourceConfig config, const Environment& environment,
             DirectoryEvents* events = nullptr)
      : config_(std::move(config)),
        environment_(environment),
        events_(events) {}

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
  // One plain path that is not followed.
  absl::Status OpenSingle(std::optional<SourcePosition> resume,
                          FileReader::Options& options);
  // Where a source of many files starts.
  absl::StatusOr<SourcePosition> FindStart(std::optional<SourcePosition> resume,
                                           const Parser& parser);
  // `found`, at its end; nullopt: what is there later is read whole.
  absl::StatusOr<std::optional<FilePosition>> Pass(const FoundFile& found,
                                                   const Parser& parser);
  // A file, behind all whole records that it has now.
  absl::StatusOr<FilePosition> EndOf(const FoundFile& found,
                                     const Parser& parser);

  const FileSourceConfig config_;
  const Environment environment_;
  DirectoryEvents* const events_;
};

// What a file source may use besides its environment; all outlive it.
struct FileServices {
  // For the path "-". Null: there is none to be read.
  PipedInput* standard_input = nullptr;
  // Null: files that are followed are looked at from time to time only.
  DirectoryEvents* directory_events = nullptr;
};

// For the registry. Errors: INVALID_CONFIG naming the field.
absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeFileSource(
    const ComponentConfig& config, const Environment& environment);
absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeFileSourceWith(
    const FileServices& services, const ComponentConfig& config,
    const Environment& environment);

}  // namespace penstock::core
