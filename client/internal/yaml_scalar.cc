#include "client/internal/yaml_scalar.h"

#include <absl/strings/ascii.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>

namespace penstock::client::internal {
namespace {

struct Unit {
  absl::string_view name;
  uint64_t bytes;
};

constexpr std::array kUnits = {
    Unit{"B", 1},
    Unit{"kB", 1'000},
    Unit{"KB", 1'000},
    Unit{"MB", 1'000'000},
    Unit{"GB", 1'000'000'000},
    Unit{"TB", 1'000'000'000'000},
    Unit{"KiB", uint64_t{1} << 10},
    Unit{"MiB", uint64_t{1} << 20},
    Unit{"GiB", uint64_t{1} << 30},
    Unit{"TiB", uint64_t{1} << 40},
};

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

// Letters to be changed, added or left out to make one from the other.
size_t EditDistance(absl::string_view a, absl::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 0; i < a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i + 1;
    for (size_t j = 0; j < b.size(); ++j) {
      const size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, row[j + 1] + 1});
    }
  }
  return row.back();
}

}  // namespace

std::optional<bool> ParseBool(absl::string_view text) {
  if (text == "true") return true;
  if (text == "false") return false;
  return std::nullopt;
}

std::optional<uint64_t> ParseNumber(absl::string_view text) {
  uint64_t value = 0;
  if (text.empty() || !std::all_of(text.begin(), text.end(), IsDigit) ||
      !absl::SimpleAtoi(text, &value)) {
    return std::nullopt;
  }
  return value;
}

std::optional<uint64_t> ParseBytes(absl::string_view text) {
  const auto end = std::find_if_not(text.begin(), text.end(), IsDigit);
  const auto digits = static_cast<size_t>(end - text.begin());
  const std::optional<uint64_t> number = ParseNumber(text.substr(0, digits));
  if (!number.has_value()) return std::nullopt;
  const absl::string_view name =
      absl::StripLeadingAsciiWhitespace(text.substr(digits));
  if (name.empty()) return number;
  for (const Unit& unit : kUnits) {
    if (unit.name != name) continue;
    if (*number > UINT64_MAX / unit.bytes) return std::nullopt;
    return *number * unit.bytes;
  }
  return std::nullopt;
}

std::optional<absl::Duration> ParseTime(absl::string_view text) {
  absl::Duration value;
  if (!absl::ParseDuration(text, &value) || value < absl::ZeroDuration() ||
      value == absl::InfiniteDuration()) {
    return std::nullopt;
  }
  return value;
}

std::optional<std::string> NearestOf(absl::string_view text,
                                     const std::vector<std::string>& known) {
  // A third of its letters may be wrong, at least one.
  size_t best = std::max<size_t>(1, text.size() / 3) + 1;
  std::optional<std::string> nearest;
  // Longer texts are no slips of the pen, and would take long to compare.
  constexpr size_t kTextMax = 64;
  if (text.size() > kTextMax) return nearest;
  for (const std::string& candidate : known) {
    const size_t distance = EditDistance(text, candidate);
    if (distance >= best) continue;
    best = distance;
    nearest = candidate;
  }
  return nearest;
}

std::string SuggestOf(absl::string_view text,
                      const std::vector<std::string>& known) {
  if (const auto nearest = NearestOf(text, known)) {
    return absl::StrCat("; did you mean '", *nearest, "'?");
  }
  if (known.empty()) return "; nothing can be given here";
  return absl::StrCat("; known are: ", absl::StrJoin(known, ", "));
}

}  // namespace penstock::client::internal
