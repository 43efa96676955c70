// What sources measure of themselves.
#pragma once

#include "core/contract/health.h"
#include "server/admin/exposition.h"
#include "server/admin/metric_row.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace penstock::server {

struct SourceMetrics {
  std::string connector;
  // Shared with the source.
  std::shared_ptr<const core::ConnectorMetrics> metrics;
};

// What is taken of one connector, and of how many names in one scrape.
inline constexpr size_t kSourceSamplesMax = 32;
inline constexpr size_t kSourceNamesMax = 64;

// `penstock_source_NAME`.
std::string SourceFamilyName(absl::string_view name);
Exposition::Type TypeOf(core::ConnectorMetrics::Kind kind);

// Writes each sample `name` as `penstock_source_NAME{connector}`. What is above
// the limits, or whose name is not of [a-z][a-z0-9_]*, is left out, and counted
// in `penstock_source_metrics_left_out`.
void AddSourceMetrics(const std::vector<SourceMetrics>& sources,
                      Exposition& to);
std::vector<MetricRow> SourceMetricRows();

}  // namespace penstock::server
