// A configuration that is nothing but its type.
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>

#include <string>
#include <utility>

namespace penstock::core {

struct FakeNamedConfig final : ComponentConfig {
  explicit FakeNamedConfig(std::string the_name) : name(std::move(the_name)) {}
  absl::string_view type() const override { return name; }
  std::string name;
};

}  // namespace penstock::core
