#include "server/admin/exposition.h"

#include "proto/wire/text.h"

#include <absl/strings/str_replace.h>
#include <prometheus/metric_type.h>
#include <prometheus/text_serializer.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <sstream>
#include <vector>

namespace penstock::server {
namespace {

prometheus::MetricType TypeOf(Exposition::Type type) {
  switch (type) {
    case Exposition::Type::kCounter:
      return prometheus::MetricType::Counter;
    case Exposition::Type::kGauge:
      return prometheus::MetricType::Gauge;
    case Exposition::Type::kHistogram:
      return prometheus::MetricType::Histogram;
  }
  return prometheus::MetricType::Untyped;
}

// Records of all parts that are at most `bound`.
uint64_t CountBelow(std::span<const core::Histogram* const> parts,
                    double bound) {
  uint64_t count = 0;
  for (const core::Histogram* part : parts) {
    for (size_t i = 0; i < part->counts().size(); ++i) {
      const bool is_last = i == part->bounds().size();
      if (is_last ? std::isinf(bound) : part->bounds()[i] <= bound) {
        count += part->counts()[i];
      }
    }
  }
  return count;
}

}  // namespace

absl::string_view Exposition::TypeName(Type type) {
  switch (type) {
    case Type::kCounter:
      return "counter";
    case Type::kGauge:
      return "gauge";
    case Type::kHistogram:
      return "histogram";
  }
  return "untyped";
}

void Exposition::Family(absl::string_view name, absl::string_view help,
                        Type type) {
  End();
  family_.name = std::string(name);
  // The library escapes labels, but not this.
  family_.help =
      absl::StrReplaceAll(wire::ToUtf8(help), {{"\\", "\\\\"}, {"\n", "\\n"}});
  family_.type = TypeOf(type);
}

void Exposition::End() {
  if (family_.metric.empty()) return;
  std::vector<prometheus::MetricFamily> families;
  families.push_back(std::move(family_));
  std::ostringstream text;
  prometheus::TextSerializer().Serialize(text, families);
  family_ = {};
  if (text.view().size() > bytes_max_ - text_.size()) {
    ++left_out_;
    return;
  }
  text_.append(text.view());
}

prometheus::ClientMetric& Exposition::Add(std::initializer_list<Label> labels) {
  prometheus::ClientMetric& metric = family_.metric.emplace_back();
  metric.label.reserve(labels.size());
  for (const auto& [name, text] : labels) {
    // An empty label is the same as none, and takes room in every scrape.
    if (text.empty()) continue;
    metric.label.push_back({std::string(name), wire::ToUtf8(text)});
  }
  return metric;
}

void Exposition::Sample(std::initializer_list<Label> labels, double value) {
  prometheus::ClientMetric& metric = Add(labels);
  if (family_.type == prometheus::MetricType::Counter) {
    metric.counter.value = value;
  } else {
    metric.gauge.value = value;
  }
}

void Exposition::Histogram(std::initializer_list<Label> labels,
                           std::span<const core::Histogram* const> parts,
                           std::span<const double> bounds) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  auto& histogram = Add(labels).histogram;
  for (const double bound : bounds) {
    histogram.bucket.push_back(
        {.cumulative_count = CountBelow(parts, bound), .upper_bound = bound});
  }
  histogram.sample_count = CountBelow(parts, kInfinity);
  histogram.bucket.push_back(
      {.cumulative_count = histogram.sample_count, .upper_bound = kInfinity});
  for (const core::Histogram* part : parts) {
    histogram.sample_sum += part->sum();
  }
}

size_t Exposition::CountLeftOut() {
  End();
  return left_out_;
}

std::string Exposition::Take() && {
  End();
  return std::move(text_);
}

}  // namespace penstock::server
