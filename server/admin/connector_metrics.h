// What Prometheus sees of connectors.
// See server/README.md.
#pragma once

#include "core/connector/connector_status.h"
#include "server/admin/exposition.h"
#include "server/admin/metric_row.h"

#include <absl/strings/string_view.h>

#include <vector>

namespace penstock::server {

// "ok", "degraded", "stalled", "needs_config", "fatal".
absl::string_view ConditionName(core::Condition condition);

// Writes every family of connectors and shards. Series come and go with their
// connector; labels are bounded: connector, shard, reason, state, condition.
void AddConnectorMetrics(const std::vector<core::ConnectorStatus>& statuses,
                         Exposition& to);
std::vector<MetricRow> ConnectorMetricRows();

}  // namespace penstock::server
