// Scalars as people write them in YAML. Internal to client/.
#pragma once

#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::client::internal {

// "true" or "false"; nothing else, so that nobody wonders about `no` or `on`.
std::optional<bool> ParseBool(absl::string_view text);

// Decimal digits; nullopt also above 2^64 - 1.
std::optional<uint64_t> ParseNumber(absl::string_view text);

// A number, or one with a unit, perhaps a blank between: B, kB, MB, GB, TB
// (10^3 each), KiB, MiB, GiB, TiB (2^10 each).
std::optional<uint64_t> ParseBytes(absl::string_view text);

// Numbers with units (`10s`, `100ms`, `1m30s`, `1.5h`), or 0. Not negative, not
// infinite.
std::optional<absl::Duration> ParseTime(absl::string_view text);

// The one of `known` that is nearest to `text`, if one is so near that it was
// probably meant.
std::optional<std::string> NearestOf(absl::string_view text,
                                     const std::vector<std::string>& known);

// "; did you mean 'x'?", or else "; known are: x, y, z".
std::string SuggestOf(absl::string_view text,
                      const std::vector<std::string>& known);

}  // namespace penstock::client::internal
