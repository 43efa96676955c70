#include "core/sources/file/file_source.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/sources/file/file_position.h"
#include "core/sources/file/file_reader.h"
#include "core/sources/file/open_file.h"

#include <absl/strings/str_cat.h>

#include <utility>

namespace penstock::core {
namespace {

absl::Status GoneSince(const FilePosition& resume, const absl::Status& status) {
  return MakeError(
      Reason::POSITION_EXPIRED,
      absl::StrCat(
          "go on in ", resume.path, " at byte ", resume.end, ": ",
          status.message(),
          "; put the file back, or start anew: another connector name, "
          "another directory for its sink"),
      {{"path", resume.path}, {"position", absl::StrCat(resume.end)}});
}

}  // namespace

absl::StatusOr<OpenedInput> FileSource::Open(
    InputConsumer& consumer, std::unique_ptr<Parser> parser,
    const Schema& /*schema*/, std::optional<std::string> resume_info) {
  RETURN_IF_ERROR(environment_.paths.Check(environment_.files, config_.path));
  std::optional<FilePosition> resume;
  if (resume_info.has_value()) {
    ASSIGN_OR_RETURN(resume, FilePosition::Parse(*resume_info));
  }
  absl::StatusOr<OpenFile> file =
      OpenFile::Open(environment_, config_.path, config_.compression);
  if (resume.has_value() && HasReason(file.status(), Reason::NOT_FOUND)) {
    return GoneSince(*resume, file.status());
  }
  if (!file.ok()) return file.status();
  FilePosition position;
  position.path = config_.path;
  if (!file->is_compressed()) {
    ASSIGN_OR_RETURN(position.length, file->file().Size());
  }
  ASSIGN_OR_RETURN(
      position.fingerprint,
      ReadFingerprint(file->content(), FileFingerprint::kBytesMax));
  if (resume.has_value()) {
    RETURN_IF_ERROR(CheckPosition(file->content(), *resume));
    position.start = position.end = resume->end;
    position.records = resume->records;
    position.lines = resume->lines;
  }
  OpenedInput opened;
  opened.position = position.ToJson();
  opened.reader = std::make_unique<FileReader>(
      environment_, consumer, *std::move(file), std::move(parser),
      FileReader::Options{.position = std::move(position),
                          .block_bytes = config_.block_bytes});
  return opened;
}

absl::StatusOr<std::unique_ptr<InputEndpoint>> MakeFileSource(
    const ComponentConfig& config, const Environment& environment) {
  if (config.type() != "file") {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("make source file: the configuration is one "
                                  "of ",
                                  config.type()));
  }
  const auto& file = static_cast<const FileSourceConfig&>(config);
  if (file.path.empty()) {
    return MakeError(Reason::INVALID_CONFIG,
                     "source file: path is empty; name a file",
                     {{"field", "path"}});
  }
  if (file.block_bytes == 0 ||
      file.block_bytes > FileSourceConfig::kBlockBytesMax) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("source file: block_bytes is ", file.block_bytes,
                     "; set 1 to ", FileSourceConfig::kBlockBytesMax),
        {{"field", "block_bytes"}});
  }
  return std::make_unique<FileSource>(file, environment);
}

}  // namespace penstock::core
