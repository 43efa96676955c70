// Which files a source or sink may reach (`protocol.md` rule 16).
#pragma once

#include "core/base/filesystem.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace penstock::core {

// Owner:   the application; outlives every connector. Constant.
// Threads: thread-safe. Blocks: as the disk does.
//
// It judges the name as it resolves now: whoever can put symbolic links below
// a root can point them elsewhere between the check and the opening. So roots
// belong to users who are trusted with what they may read.
class PathPolicy {
 public:
  // `roots`: directories (or single files), absolute or relative to the working
  // directory; empty: every path is allowed.
  explicit PathPolicy(std::vector<std::string> roots);

  // OK if `path`, with symbolic links and ".." resolved, is one of the roots or
  // below one. Of a path that does not exist yet the longest existing prefix
  // is resolved; the rest must be plain names.
  // Errors: PATH_NOT_ALLOWED, saying what `path` is and which roots there are;
  // INVALID_CONFIG for an empty path or one with a NUL byte; the file system's
  // own error if a directory on the way cannot be looked into.
  absl::Status Check(FileSystem& fs, absl::string_view path) const;

  const std::vector<std::string>& roots() const { return roots_; }

 private:
  const std::vector<std::string> roots_;
};

}  // namespace penstock::core
