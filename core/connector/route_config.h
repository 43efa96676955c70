// Configurations of the routers: there is nothing to configure but which.
#pragma once

#include "core/contract/component.h"

#include <absl/strings/string_view.h>

namespace penstock::core {

// KeyHashRouter of core/handoff/router.h.
struct KeyHashRouteConfig final : ComponentConfig {
  absl::string_view type() const override { return "key_hash"; }
};

// PartitionRouter.
struct PartitionRouteConfig final : ComponentConfig {
  absl::string_view type() const override { return "partition"; }
};

}  // namespace penstock::core
