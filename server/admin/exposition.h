// Prometheus' text format, by prometheus-cpp, a family at a time.
// See server/README.md.
#pragma once

#include "core/handoff/histogram.h"

#include <absl/strings/string_view.h>
#include <prometheus/client_metric.h>
#include <prometheus/metric_family.h>

#include <cstddef>
#include <initializer_list>
#include <limits>
#include <span>
#include <string>
#include <utility>

namespace penstock::server {

// One label; views of what outlives the call.
using Label = std::pair<absl::string_view, absl::string_view>;

// Writes families one after the other into one text. The library's model of a
// family owns each label of each sample, so no more than one is held at a time.
//
// Source:  prometheus.io/docs/instrumenting/exposition_formats, 0.0.4.
// Owner:   one scrape. Threads: confined to it.
// Bound:   `bytes_max` of text: a family that has no room is left out whole,
// for
//          a sum over a part of its series would be wrong. So what matters most
//          is written first.
class Exposition {
 public:
  enum class Type { kCounter, kGauge, kHistogram };

  explicit Exposition(size_t bytes_max = std::numeric_limits<size_t>::max())
      : bytes_max_(bytes_max) {}

  // Begins a family. One without samples leaves no trace.
  void Family(absl::string_view name, absl::string_view help, Type type);
  // Bytes of a label that are no UTF-8 become U+FFFD: one such byte would make
  // Prometheus refuse the whole scrape.
  void Sample(std::initializer_list<Label> labels, double value);
  // The sum of `parts`, whose own buckets are merged into those that end at
  // `bounds`, each of which is one of theirs.
  void Histogram(std::initializer_list<Label> labels,
                 std::span<const core::Histogram* const> parts,
                 std::span<const double> bounds);

  // Ends the last family. Returns: how many were left out.
  size_t CountLeftOut();
  std::string Take() &&;

  static absl::string_view TypeName(Type type);

 private:
  // Writes the family and forgets it.
  void End();
  prometheus::ClientMetric& Add(std::initializer_list<Label> labels);

  const size_t bytes_max_;
  std::string text_;
  size_t left_out_ = 0;
  prometheus::MetricFamily family_;
};

}  // namespace penstock::server
