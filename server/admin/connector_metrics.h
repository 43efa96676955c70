// What Prometheus sees of connectors.
// See server/README.md.
#pragma once

#include "core/connector/connector_status.h"
#include "core/connector/parse_error_counts.h"
#include "server/admin/exposition.h"
#include "server/admin/metric_row.h"

#include <absl/strings/string_view.h>

#include <string>
#include <vector>

namespace penstock::server {

// "ok", "degraded", "stalled", "needs_config", "fatal".
absl::string_view ConditionName(core::Condition condition);

// Writes every family of connectors. Series come and go with their connector;
// labels are bounded: connector, shard, reason, state, condition.
void AddConnectorMetrics(const std::vector<core::ConnectorStatus>& statuses,
                         Exposition& to);
// The same of their shards, and histograms: what takes the most room, so that
// it is written last.
void AddConnectorDetails(const std::vector<core::ConnectorStatus>& statuses,
                         Exposition& to);
struct ConnectorParseErrors {
  std::string connector;
  core::ParseErrorCounts counts;
};
// The same of bad records: a series for each reason that occurred.
void AddParseErrors(const std::vector<ConnectorParseErrors>& all,
                    Exposition& to);
std::vector<MetricRow> ConnectorMetricRows();

}  // namespace penstock::server
