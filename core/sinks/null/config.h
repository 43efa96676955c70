// Configuration of the `null` sink: there is nothing to configure.
#pragma once

#include "absl/strings/string_view.h"
#include "core/contract/component.h"

namespace penstock::core {

struct NullSinkConfig final : ComponentConfig {
  absl::string_view type() const override { return "null"; }
};

}  // namespace penstock::core
