// What can be set of the source "file".
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <string>

namespace penstock::core {

// How files are compressed. kAuto: as the first bytes of each say.
enum class FileCompression { kAuto, kNone, kGzip, kZstd };

// In which order files are taken that are found together.
enum class FileOrder { kName, kModified };

// Where files are begun that are there when the source is opened first.
enum class FileStart { kBeginning, kEnd };

struct FileSourceConfig final : ComponentConfig {
  // The file to read, or a pattern (PathPattern) of files.
  std::string path;
  // False: what is there is the input, and it ends. True: it never ends; what
  // is added is read, and files that appear.
  bool follow = false;
  FileOrder order = FileOrder::kName;
  // kEnd only with `follow`.
  FileStart start = FileStart::kBeginning;
  // Of these files those that were modified last before this are begun at their
  // end. Only with `follow`.
  absl::Time start_time = absl::InfinitePast();
  FileCompression compression = FileCompression::kAuto;
  // Bytes read at a time; a longer record gets a larger block of its own. From
  // 1 to FileSourceConfig::kBlockBytesMax.
  size_t block_bytes = size_t{1} << 20;

  // What the positions of all files may take, as a checkpoint holds them, of
  // the 64 MiB that a worker retains of results by default.
  size_t positions_bytes_max = size_t{48} << 20;

  static constexpr size_t kBlockBytesMax = size_t{64} << 20;

  absl::string_view type() const override { return "file"; }
};

}  // namespace penstock::core
