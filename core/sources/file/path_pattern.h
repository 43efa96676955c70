// Which paths a file source reads: one, or all that match a pattern.
#pragma once

#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace penstock::core {

// A path whose names may hold `*` (any characters), `?` (one), `[a-z]` and
// `[!a-z]` (one of these, none of these); none of them matches `/`, nor a dot
// at a name's beginning. A name `**` stands for any number of directories,
// none too. A backslash takes a wildcard's meaning away.
//
// Threads: thread-compatible; constant.
class PathPattern {
 public:
  // One name on the way.
  struct Part {
    // A pattern if `has_wildcard`, otherwise the name itself.
    std::string text;
    bool has_wildcard = false;
    // `**`.
    bool is_any_directories = false;

    bool Matches(const std::string& name) const;
  };

  explicit PathPattern(absl::string_view text);

  // Whether there is a wildcard in it.
  static bool IsPattern(absl::string_view text);

  // The directory above the first name with a wildcard; of a path without any,
  // the directory of the file. Never empty.
  const std::string& root() const { return root_; }
  // What is below it: at least one.
  const std::vector<Part>& parts() const { return parts_; }

 private:
  std::string root_;
  std::vector<Part> parts_;
};

}  // namespace penstock::core
