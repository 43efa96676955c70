#include "core/format/line_splitter.h"

namespace penstock::core {

std::optional<size_t> LineSplitter::Input(absl::string_view data) {
  const size_t newline = data.rfind('\n');
  if (newline == absl::string_view::npos) return std::nullopt;
  return newline + 1;
}

std::optional<size_t> LineSplitter::PassSeam(char before,
                                             absl::string_view behind) const {
  if (before == '\n') return 0;
  if (behind.front() == '\n') return 1;
  if (behind == "\r\n") return 2;
  return std::nullopt;
}

}  // namespace penstock::core
