#include "client/cli/input_size.h"

#include "core/sources/file/config.h"
#include "core/sources/file/file_finder.h"
#include "core/sources/file/open_file.h"
#include "core/sources/file/path_pattern.h"

#include <absl/strings/string_view.h>

#include <vector>

namespace penstock::client {
namespace {

// Of more files it would take too long to ask each.
constexpr size_t kFilesMax = 1'000;

// 0: nobody knows.
uint64_t BytesOf(core::FileSystem& files,
                 const core::FileSourceConfig& source) {
  if (source.follow) return 0;
  if (source.compression != core::FileCompression::kAuto &&
      source.compression != core::FileCompression::kNone) {
    return 0;
  }
  core::FileFinder finder(files, core::PathPattern(source.path), source.order);
  const std::vector<core::FoundFile> found = finder.FindAll();
  if (!finder.problem().ok() || found.size() > kFilesMax) return 0;
  uint64_t bytes = 0;
  for (const core::FoundFile& file : found) {
    if (source.compression == core::FileCompression::kAuto) {
      const auto content =
          core::OpenFile::Open(files, file.path, source.compression);
      if (!content.ok() || content->is_compressed()) return 0;
    }
    bytes += file.stat.size;
  }
  return bytes;
}

}  // namespace

uint64_t InputBytesOf(core::FileSystem& files, const PipelineFile& pipeline) {
  if (!pipeline.workers.empty()) return 0;
  uint64_t bytes = 0;
  for (const core::ConnectorSpec& spec : pipeline.connectors) {
    if (spec.source == nullptr || spec.source->type() != "file") return 0;
    const uint64_t own = BytesOf(
        files, static_cast<const core::FileSourceConfig&>(*spec.source));
    if (own == 0) return 0;
    bytes += own;
  }
  return bytes;
}

}  // namespace penstock::client
