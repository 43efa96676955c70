// Tables and numbers for people.
#pragma once

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::client {

// Rows under a header, each column as wide as its widest cell; numbers stand at
// the right. The last column is never cut.
// Threads: thread-compatible. Bound: what is added.
class TextTable {
 public:
  explicit TextTable(std::vector<std::string> header);
  // Requires: as many cells as the header has.
  void Add(std::vector<std::string> row);
  // With a line end behind each line, and no blanks at the end of one.
  std::string ToString() const;
  size_t rows() const { return rows_.size() - 1; }

 private:
  std::vector<std::vector<std::string>> rows_;
};

// 1234567 as "1.23 M".
std::string ShortNumber(double value);
// 3 units at most: "1h2m", "340ms".
std::string ShortDuration(absl::Duration duration);
// Words to lines of at most `width`, each indented by `indent`.
std::string Wrapped(absl::string_view text, size_t width, size_t indent);

}  // namespace penstock::client
