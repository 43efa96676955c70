// What this process may do with files, asked without doing it.
#pragma once

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

namespace penstock::core {

// Whether names may be made and removed in `directory`. It changes nothing, and
// promises nothing: the next moment may differ.
// Errors: as FileSystem; PERMISSION_DENIED, also of a read-only file system.
absl::Status CheckDirectoryIsWritable(absl::string_view directory);

}  // namespace penstock::core
