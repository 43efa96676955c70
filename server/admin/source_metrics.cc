#include "server/admin/source_metrics.h"

#include <absl/strings/ascii.h>
#include <absl/strings/str_cat.h>

#include <algorithm>
#include <map>
#include <utility>

namespace penstock::server {
namespace {

using Sample = core::ConnectorMetrics::Sample;

struct Family {
  Sample first;
  std::vector<std::pair<const std::string*, double>> values;
};

constexpr char kLeftOutName[] = "penstock_source_metrics_left_out";
constexpr char kLeftOutHelp[] =
    "Measurements of sources that are not shown: too many, or badly named.";

bool IsMetricName(absl::string_view name) {
  return !name.empty() && name.size() <= 64 && absl::ascii_islower(name[0]) &&
         std::all_of(name.begin(), name.end(), [](char c) {
           return absl::ascii_islower(c) || absl::ascii_isdigit(c) || c == '_';
         });
}

}  // namespace

std::string SourceFamilyName(absl::string_view name) {
  return absl::StrCat("penstock_source_", name);
}

Exposition::Type TypeOf(core::ConnectorMetrics::Kind kind) {
  switch (kind) {
    case core::ConnectorMetrics::Kind::kCounter:
      return Exposition::Type::kCounter;
    case core::ConnectorMetrics::Kind::kGauge:
      return Exposition::Type::kGauge;
  }
  return Exposition::Type::kGauge;
}

void AddSourceMetrics(const std::vector<SourceMetrics>& sources,
                      Exposition& to) {
  std::map<std::string, Family> families;
  double left_out = 0;
  for (const SourceMetrics& source : sources) {
    size_t taken = 0;
    for (Sample& sample : source.metrics->Metrics()) {
      const bool fits =
          taken < kSourceSamplesMax && IsMetricName(sample.name) &&
          (families.contains(sample.name) || families.size() < kSourceNamesMax);
      if (!fits) {
        ++left_out;
        continue;
      }
      ++taken;
      const double value = sample.value;
      Family& family = families[sample.name];
      // The same name twice of one connector would spoil the whole scrape.
      if (!family.values.empty() &&
          family.values.back().first == &source.connector) {
        ++left_out;
        continue;
      }
      family.values.emplace_back(&source.connector, value);
      if (family.first.name.empty()) family.first = std::move(sample);
    }
  }
  for (const auto& [name, family] : families) {
    to.Family(SourceFamilyName(name), family.first.help,
              TypeOf(family.first.kind));
    for (const auto& [connector, value] : family.values) {
      to.Sample({{"connector", *connector}}, value);
    }
  }
  to.Family(kLeftOutName, kLeftOutHelp, Exposition::Type::kGauge);
  to.Sample({}, left_out);
}

std::vector<MetricRow> SourceMetricRows() {
  return {{kLeftOutName, Exposition::Type::kGauge, "", kLeftOutHelp}};
}

}  // namespace penstock::server
