// How to reach a schema registry.
#pragma once

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

// A schema registry as Confluent's REST interface is.
struct SchemaRegistryConfig {
  static constexpr size_t kBadSchemaIdsMax = 1'000;

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
  // Numbers that damage made: who has one is a bad record, and nobody is asked
  // for it. At most kBadSchemaIdsMax.
  std::vector<uint32_t> bad_schema_ids = {};
};

// Whether it can be used, as far as that shows without it. `path`: of its field
// in the configuration.
// Errors: INVALID_CONFIG, naming the field.
absl::Status CheckSchemaRegistry(const SchemaRegistryConfig& config,
                                 absl::string_view path);

}  // namespace penstock::core
