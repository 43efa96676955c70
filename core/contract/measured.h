// Metrics of a connector by a table, so that what is shown is what is listed.
#pragma once

#include "core/contract/health.h"

#include <atomic>
#include <cstdint>
#include <span>
#include <vector>

namespace penstock::core {

// What is measured. A plain value; texts of static storage.
struct Measure {
  const char* name;
  const char* help;
  ConnectorMetrics::Kind kind = ConnectorMetrics::Kind::kGauge;
  // Left out while it is 0: it would take room in every scrape.
  bool is_rare = false;
};

// A measure and the member of `Metrics` that has its value. A plain value.
template <class Metrics>
struct Measured {
  Measure what;
  std::atomic<uint64_t> Metrics::*value;
};

// What `metrics` shows now.
template <class Metrics>
std::vector<ConnectorMetrics::Sample> SamplesOf(
    const Metrics& metrics, std::span<const Measured<Metrics>> table) {
  std::vector<ConnectorMetrics::Sample> samples;
  for (const auto& [what, member] : table) {
    const uint64_t value = (metrics.*member).load();
    if (value == 0 && what.is_rare) continue;
    samples.push_back({.name = what.name,
                       .help = what.help,
                       .kind = what.kind,
                       .value = static_cast<double>(value)});
  }
  return samples;
}

// What it may ever show.
template <class Metrics>
std::vector<Measure> MeasuresOf(std::span<const Measured<Metrics>> table) {
  std::vector<Measure> measures;
  for (const auto& [what, member] : table) measures.push_back(what);
  return measures;
}

}  // namespace penstock::core
