// Configuration of the `null` sink: there is nothing to configure.
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>

namespace penstock::core {

struct NullSinkConfig final : ComponentConfig {
  absl::string_view type() const override { return "null"; }
};

}  // namespace penstock::core
