// Where lines end.
#pragma once

#include "core/contract/parser.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>

namespace penstock::core {

// Cuts behind the last LF it sees; a CR before it belongs to the line end.
// Keeps no state: whatever lies behind the last LF is looked at again.
class LineSplitter final : public Splitter {
 public:
  std::optional<size_t> Input(absl::string_view data) override;
  void Clear() override {}
  std::optional<size_t> PassSeam(char before,
                                 absl::string_view behind) const override;
};

}  // namespace penstock::core
