#include "core/format/line_splitter.h"

namespace penstock::core {

std::optional<size_t> LineSplitter::Input(absl::string_view data) {
  const size_t newline = data.rfind('\n');
  if (newline == absl::string_view::npos) return std::nullopt;
  return newline + 1;
}

}  // namespace penstock::core
