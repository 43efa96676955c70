// The splitter of formats of messages, in which nothing says where a record
// ends.
#pragma once

#include "core/contract/parser.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>

namespace penstock::core {

// The record is the whole input.
class WholeSplitter final : public Splitter {
 public:
  std::optional<size_t> Input(absl::string_view /*data*/) override {
    return std::nullopt;
  }
  void Clear() override {}
  std::optional<size_t> PassSeam(char /*before*/,
                                 absl::string_view /*behind*/) const override {
    return std::nullopt;
  }
};

}  // namespace penstock::core
