// The lines of a plain file, for verification.
#pragma once

#include "core/base/filesystem.h"

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace penstock::client {

struct LineOptions {
  // Pass over lines of white space only: they are no records of NDJSON.
  bool skip_blank = true;
};

// Calls `on_line` with each line, without its line end (LF, or CR LF), and the
// offset of its first byte. A last line without line end counts.
// Bound:  the longest line. Errors: those of the file system.
absl::Status ForEachLine(
    core::FileSystem& files, const std::string& path, LineOptions options,
    absl::FunctionRef<void(uint64_t offset, absl::string_view line)> on_line);

// The one line that begins at `offset`.
absl::StatusOr<std::string> LineAt(core::FileSystem& files,
                                   const std::string& path, uint64_t offset);

}  // namespace penstock::client
