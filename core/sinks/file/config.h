// Configuration of the `file` sink.
#pragma once

#include "core/compress/compression.h"
#include "core/contract/component.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::core {

// When a file is finished and the next one begun: at the first commit that
// reaches any of them. A step is never divided.
struct FileRoll {
  // 0: never. As it lies on the disk, so compressed.
  uint64_t bytes = 0;
  // Since the file's first commit; infinite: never.
  absl::Duration interval = absl::InfiniteDuration();
  // 0: never.
  uint64_t steps = 0;

  bool IsNever() const {
    return bytes == 0 && steps == 0 && interval == absl::InfiniteDuration();
  }
};

// How a reader tells what is committed.
enum class FileVisibility {
  // By the manifest; files keep their names.
  kManifest,
  // By its name: whole committed files, and nothing else, are in files/.
  kRename,
};

struct FileSinkConfig final : ComponentConfig {
  absl::string_view type() const override { return "file"; }

  // A directory, made if need be. One connector's, nobody else's. Required.
  std::string path;
  // The largest buffer that PushBuffer takes: above the largest record
  // (16 MiB) as any encoder of ours may blow it up.
  size_t buffer_bytes_max = size_t{64} << 20;
  // A manifest that has grown by this much goes on in a new part.
  uint64_t manifest_bytes_max = uint64_t{16} << 20;
  // So many finished files go into a segment, out of the manifest.
  uint32_t segment_files = 1024;

  Compression compression = Compression::kNone;
  // 0: the compression's own default.
  int compression_level = 0;
  FileRoll roll;
  FileVisibility visibility = FileVisibility::kManifest;
  // Of finished files, with kRename: NamePattern. Empty: the default one.
  std::string name;
};

// Errors: INVALID_CONFIG with the field, as it stands below `sink.file`, as
// metadata, and what to set.
absl::Status CheckFileSinkConfig(const FileSinkConfig& config);
// Such an error: `what` is wrong with `field`.
absl::Status InvalidSinkField(absl::string_view field, absl::string_view what);

}  // namespace penstock::core
