#include "server/admin/exposition.h"

#include "proto/wire/text.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace penstock::server {

namespace {

// Escapes `extra`, besides backslashes and line feeds.
void AppendEscapedWith(absl::string_view text, char extra, std::string& to) {
  for (const char c : text) {
    if (c == '\n') {
      to += "\\n";
      continue;
    }
    if (c == '\\' || c == extra) to += '\\';
    to += c;
  }
}

bool IsAscii(absl::string_view text) {
  return std::all_of(text.begin(), text.end(), [](char c) {
    return static_cast<unsigned char>(c) < 128;
  });
}

}  // namespace

void AppendEscaped(absl::string_view text, std::string& to) {
  if (IsAscii(text)) {
    AppendEscapedWith(text, '"', to);
  } else {
    AppendEscapedWith(wire::ToUtf8(text), '"', to);
  }
}

void AppendNumber(double value, std::string& to) {
  if (std::isnan(value)) {
    to += "NaN";
    return;
  }
  if (std::isinf(value)) {
    to += value > 0 ? "+Inf" : "-Inf";
    return;
  }
  char buffer[32];
  // Counts as digits, not as 1e+06.
  const bool is_count = value == std::floor(value) && std::abs(value) < 1e15;
  const auto end = is_count
                       ? std::to_chars(buffer, buffer + sizeof buffer,
                                       static_cast<int64_t>(value))
                       : std::to_chars(buffer, buffer + sizeof buffer, value);
  to.append(buffer, end.ptr);
}

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
  name_ = name;
  help_ = help;
  type_ = type;
  has_head_ = false;
}

void Exposition::Head() {
  if (has_head_) return;
  has_head_ = true;
  absl::StrAppend(&text_, "# HELP ", name_, " ");
  // Quotes stay as they are here.
  AppendEscapedWith(wire::ToUtf8(help_), '\\', text_);
  absl::StrAppend(&text_, "\n# TYPE ", name_, " ", TypeName(type_), "\n");
}

void Exposition::Line(absl::string_view suffix,
                      std::initializer_list<Label> labels,
                      absl::string_view more, double value) {
  absl::StrAppend(&text_, name_, suffix);
  char separator = '{';
  for (const auto& [label, text] : labels) {
    text_ += separator;
    separator = ',';
    absl::StrAppend(&text_, label, "=\"");
    AppendEscaped(text, text_);
    text_ += '"';
  }
  if (!more.empty()) {
    text_ += separator;
    separator = ',';
    absl::StrAppend(&text_, more);
  }
  if (separator == ',') text_ += '}';
  text_ += ' ';
  AppendNumber(value, text_);
  text_ += '\n';
}

void Exposition::Sample(std::initializer_list<Label> labels, double value) {
  Head();
  Line("", labels, "", value);
}

void Exposition::Histogram(std::initializer_list<Label> labels,
                           std::span<const core::Histogram* const> parts,
                           std::span<const double> bounds) {
  Head();
  // Of all parts: at most `bound`.
  const auto below = [&](double bound) {
    uint64_t count = 0;
    for (const core::Histogram* part : parts) {
      for (size_t i = 0; i < part->counts().size(); ++i) {
        const bool is_last = i == part->bounds().size();
        if (is_last ? std::isinf(bound) : part->bounds()[i] <= bound) {
          count += part->counts()[i];
        }
      }
    }
    return static_cast<double>(count);
  };
  for (const double bound : bounds) {
    std::string le = "le=\"";
    AppendNumber(bound, le);
    le += '"';
    Line("_bucket", labels, le, below(bound));
  }
  const double all = below(std::numeric_limits<double>::infinity());
  Line("_bucket", labels, "le=\"+Inf\"", all);
  double sum = 0;
  for (const core::Histogram* part : parts) sum += part->sum();
  Line("_sum", labels, "", sum);
  Line("_count", labels, "", all);
}

}  // namespace penstock::server
