// What can be set of the format "avro".
#pragma once

#include "core/contract/component.h"
#include "core/format/rows/envelope.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <optional>
#include <string>

namespace penstock::core {

// A schema registry as Confluent's REST interface is.
struct SchemaRegistryConfig {
  // http or https; schemas are at `<url>/schemas/ids/<number>`.
  std::string url = {};
  // Basic authentication: both or none.
  std::string username = {};
  // Texts with references to secrets; in plain they are refused.
  std::string password = {};
  std::string bearer_token = {};
  // Certificates of authorities in PEM; empty: the system's.
  std::string ca_file = {};
  // Of one request. From 100 ms to 1 minute.
  absl::Duration timeout = absl::Seconds(10);
};

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
