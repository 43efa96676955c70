// What can be set of the format "avro".
#pragma once

#include "core/contract/component.h"
#include "core/format/rows/envelope.h"
#include "core/format/schemas/registry_config.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <optional>
#include <string>

namespace penstock::core {

// Exactly one of schema and registry.
struct AvroConfig final : ComponentConfig {
  // In JSON: that of every datum.
  std::optional<std::string> schema;
  std::optional<SchemaRegistryConfig> registry;
  // As NdjsonConfig's.
  std::optional<std::string> key;
  // Longest record. From 1.
  size_t record_bytes_max = size_t{16} << 20;
  // What is around the row; `key` is then looked for in the row.
  EnvelopeConfig envelope = {};

  absl::string_view type() const override { return "avro"; }
};

// Whether it can be used, as far as that shows without a registry.
// Errors: INVALID_CONFIG, naming the field.
absl::Status CheckAvroConfig(const AvroConfig& config);

}  // namespace penstock::core
