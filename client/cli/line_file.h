// The lines of a file, plain or compressed, for verification.
#pragma once

#include "core/sources/file/content.h"

#include <absl/functional/function_ref.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <string>

namespace penstock::client {

struct LineOptions {
  // Pass over lines of white space only: they are no records of NDJSON.
  bool skip_blank = true;
  // A last line without its end is none: the rest of it may come.
  bool whole_only = false;
};

// Calls `on_line` with each line, without its line end (LF, or CR LF), and the
// offset of its first byte in the content. A last line without line end counts,
// unless the content ends badly behind it: nobody knows the rest of it.
// Bound:  the longest line. Errors: those of the file.
absl::Status ForEachLine(
    core::Content& content, LineOptions options,
    absl::FunctionRef<void(uint64_t offset, absl::string_view line)> on_line);

// The one line that begins at `offset`. Of compressed content it costs decoding
// from where was read last, or from the beginning.
absl::StatusOr<std::string> LineAt(core::Content& content, uint64_t offset);

}  // namespace penstock::client
