// Where lines end.
#pragma once

#include <cstddef>
#include <optional>

#include "absl/strings/string_view.h"
#include "core/contract/parser.h"

namespace penstock::core {

// Cuts behind the last LF it sees; a CR before it belongs to the line end.
// Keeps no state: whatever lies behind the last LF is looked at again.
class LineSplitter final : public Splitter {
 public:
  std::optional<size_t> Input(absl::string_view data) override;
  void Clear() override {}
};

}  // namespace penstock::core
