// Prometheus' text format, written as it is asked for.
// See server/README.md.
#pragma once

#include "core/handoff/histogram.h"

#include <absl/strings/string_view.h>

#include <initializer_list>
#include <span>
#include <string>
#include <utility>

namespace penstock::server {

// One label; views of what outlives the call.
using Label = std::pair<absl::string_view, absl::string_view>;

// Writes families one after the other into one string: a scrape of a thousand
// connectors copies no label twice.
//
// Source:  prometheus.io/docs/instrumenting/exposition_formats, 0.0.4.
// Owner:   one scrape. Threads: confined to it.
class Exposition {
 public:
  enum class Type { kCounter, kGauge, kHistogram };

  // Begins a family. Its HELP and TYPE are written before its first sample, a
  // family without samples leaves no trace. Views stay until the next family.
  void Family(absl::string_view name, absl::string_view help, Type type);
  void Sample(std::initializer_list<Label> labels, double value);
  // The sum of `parts`, whose own buckets are merged into those that end at
  // `bounds`, each of which is one of theirs.
  void Histogram(std::initializer_list<Label> labels,
                 std::span<const core::Histogram* const> parts,
                 std::span<const double> bounds);

  std::string Take() && { return std::move(text_); }

  static absl::string_view TypeName(Type type);

 private:
  void Head();
  // `more`: "le=..." without comma; empty: none.
  void Line(absl::string_view suffix, std::initializer_list<Label> labels,
            absl::string_view more, double value);

  std::string text_;
  absl::string_view name_;
  absl::string_view help_;
  Type type_ = Type::kGauge;
  bool has_head_ = false;
};

// `text` with what would end a label's value escaped: backslashes, quotes and
// line feeds; bytes that are no UTF-8 become U+FFFD.
void AppendEscaped(absl::string_view text, std::string& to);
// The shortest text that gives `value` back; "+Inf", "-Inf", "NaN".
void AppendNumber(double value, std::string& to);

}  // namespace penstock::server
