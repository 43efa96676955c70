// The seed's watermark: when data was ingested, and from where.
#pragma once

#include <absl/time/time.h>

#include <optional>
#include <string>

namespace penstock::core {

// Seed type: `Watermark`.
struct Watermark {
  // Wall-clock time at which the data came in from the outside.
  absl::Time timestamp;
  // JSON bytes: where the data came from, e.g. {"offset": 12}.
  std::optional<std::string> metadata;

  friend bool operator==(const Watermark&, const Watermark&) = default;
};

}  // namespace penstock::core
