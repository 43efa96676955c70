#include "core/sinks/file/config.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/compress/compressor.h"
#include "core/sinks/file/layout.h"
#include "core/sinks/file/manifest.h"

#include <absl/strings/str_cat.h>

namespace penstock::core {
absl::Status InvalidSinkField(absl::string_view field, absl::string_view what) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("sink file: ", field, " ", what),
                   {{"field", std::string(field)}});
}

namespace {

absl::Status CheckCompression(const FileSinkConfig& config) {
  const int level = config.compression_level;
  if (config.compression == Compression::kNone) {
    if (level == 0) return absl::OkStatus();
    return InvalidSinkField("compression_level",
                            absl::StrCat("is ", level,
                                         ", but nothing is compressed"
                                         "; set compression: gzip or zstd"));
  }
  const CompressionLevels levels = LevelsOf(config.compression);
  if (level == 0 || (level >= levels.lowest && level <= levels.highest)) {
    return absl::OkStatus();
  }
  return InvalidSinkField("compression_level",
                          absl::StrCat("is ", level, "; set ", levels.lowest,
                                       " to ", levels.highest,
                                       ", or leave it out "
                                       "for ",
                                       levels.by_default));
}

absl::Status CheckVisibility(const FileSinkConfig& config) {
  if (config.visibility == FileVisibility::kManifest) {
    if (config.name.empty()) return absl::OkStatus();
    return InvalidSinkField("name",
                            "is for files that are renamed when they are "
                            "whole; set visibility: rename");
  }
  if (config.roll.IsNever()) {
    return InvalidSinkField("visibility",
                            "is rename, but no file is ever finished; set "
                            "roll.bytes, roll.interval or roll.steps");
  }
  if (config.name.empty()) return absl::OkStatus();
  return CheckNamePattern(config.name);
}

}  // namespace

absl::Status CheckFileSinkConfig(const FileSinkConfig& config) {
  if (config.path.empty()) return InvalidSinkField("path", "is empty");
  if (config.buffer_bytes_max == 0) {
    return InvalidSinkField("buffer_bytes_max", "is 0");
  }
  // A part may outgrow it eightfold, and has to be read in one piece.
  constexpr uint64_t kManifestBytesMax = kManifestReadBytesMax / 16;
  if (config.manifest_bytes_max == 0 ||
      config.manifest_bytes_max > kManifestBytesMax) {
    return InvalidSinkField("manifest_bytes_max",
                            absl::StrCat("is ", config.manifest_bytes_max,
                                         "; set 1 to ", kManifestBytesMax));
  }
  constexpr uint32_t kSegmentFilesMax = 100'000;
  if (config.segment_files == 0 || config.segment_files > kSegmentFilesMax) {
    return InvalidSinkField("segment_files",
                            absl::StrCat("is ", config.segment_files,
                                         "; set 1 to ", kSegmentFilesMax));
  }
  RETURN_IF_ERROR(CheckCompression(config));
  if (config.roll.interval <= absl::ZeroDuration()) {
    return InvalidSinkField("roll.interval",
                            "is not above 0; leave it out for "
                            "files that know no time");
  }
  return CheckVisibility(config);
}

}  // namespace penstock::core
