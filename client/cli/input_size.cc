#include "client/cli/input_size.h"

#include "core/sources/file/config.h"
#include "core/sources/file/file_finder.h"
#include "core/sources/file/open_file.h"
#include "core/sources/file/path_pattern.h"

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <vector>

namespace penstock::client {
namespace {

// Of more files it would take too long to ask each.
constexpr size_t kFilesMax = 1'000;
// Of the search for them: as many directories, or many names in one.
constexpr int kStepsMax = 256;
// Of all of it: a run waits for it.
constexpr absl::Duration kTimeMax = absl::Seconds(1);

// Whether what lies in a file is what its records count as their bytes, but for
// an LF behind each.
bool IsOfLines(const core::ConnectorSpec& spec) {
  if (spec.format == nullptr) return false;
  const absl::string_view type = spec.format->type();
  return type == "raw" || type == "ndjson" || type == "csv";
}

// 0: nobody knows.
uint64_t BytesOf(core::FileSystem& files, const core::Clock& clock,
                 absl::Time deadline, const core::FileSourceConfig& source) {
  if (source.follow) return 0;
  if (source.compression != core::FileCompression::kAuto &&
      source.compression != core::FileCompression::kNone) {
    return 0;
  }
  core::FileFinder finder(files, core::PathPattern(source.path), source.order);
  finder.Begin();
  for (int steps = 0; !finder.Step(); ++steps) {
    if (steps == kStepsMax || clock.SteadyNow() >= deadline) return 0;
  }
  const std::vector<core::FoundFile> found = finder.Take();
  if (!finder.problem().ok() || found.size() > kFilesMax) return 0;
  uint64_t bytes = 0;
  for (const core::FoundFile& file : found) {
    if (clock.SteadyNow() >= deadline) return 0;
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

uint64_t InputBytesOf(core::FileSystem& files, const core::Clock& clock,
                      const PipelineFile& pipeline) {
  if (!pipeline.workers.empty()) return 0;
  const absl::Time deadline = clock.SteadyNow() + kTimeMax;
  uint64_t bytes = 0;
  for (const core::ConnectorSpec& spec : pipeline.connectors) {
    if (spec.source == nullptr || spec.source->type() != "file") return 0;
    if (!IsOfLines(spec)) return 0;
    const uint64_t own =
        BytesOf(files, clock, deadline,
                static_cast<const core::FileSourceConfig&>(*spec.source));
    if (own == 0) return 0;
    bytes += own;
  }
  return bytes;
}

}  // namespace penstock::client
