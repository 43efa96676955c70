// A line of the reference of metrics.
#pragma once

#include "server/admin/exposition.h"

#include <absl/strings/string_view.h>

namespace penstock::server {

// Views of static storage. A plain value.
struct MetricRow {
  absl::string_view name;
  Exposition::Type type;
  // "connector, shard"; empty: none.
  absl::string_view labels;
  absl::string_view help;
  // Not shown as long as it is 0.
  bool is_rare = false;
};

}  // namespace penstock::server
