// A directory of its own for one test.
#pragma once

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Made by the constructor under the system's place for temporary files; the
// destructor removes it with all that is in it.
// Threads: thread-compatible.
class TempDir {
 public:
  TempDir();
  TempDir(const TempDir&) = delete;
  TempDir& operator=(const TempDir&) = delete;
  ~TempDir();

  // Absolute, real, without a trailing slash.
  const std::string& path() const { return path_; }
  // The path of `name` in it.
  std::string Path(absl::string_view name) const;

 private:
  std::string path_;
};

}  // namespace penstock::core
