// What can be set of the format "ndjson".
#pragma once

#include "core/contract/component.h"
#include "core/format/rows/envelope.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>
#include <string>

namespace penstock::core {

struct NdjsonConfig final : ComponentConfig {
  // Member names separated by dots ("user.id"): where a record's key is found.
  // Names that have a dot in them cannot be written. nullopt: no keys.
  std::optional<std::string> key;
  // Longest record, line end not counted. From 1.
  size_t record_bytes_max = size_t{16} << 20;
  // What is around the row; `key` is then looked for in the row.
  EnvelopeConfig envelope = {};

  absl::string_view type() const override { return "ndjson"; }
};

}  // namespace penstock::core
