// What can be set of the format "protobuf".
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

// Either a registry, or a descriptor set and a message of it.
struct ProtobufConfig final : ComponentConfig {
  static constexpr size_t kDescriptorSetBytesMax = size_t{1} << 20;

  std::optional<SchemaRegistryConfig> registry;
  // A serialized google.protobuf.FileDescriptorSet.
  std::string descriptor_set = {};
  // By its name with its package.
  std::string message = {};
  // As NdjsonConfig's.
  std::optional<std::string> key;
  // Longest record. From 1.
  size_t record_bytes_max = size_t{16} << 20;
  // What is around the row; `key` is then looked for in the row.
  EnvelopeConfig envelope = {};

  absl::string_view type() const override { return "protobuf"; }
};

// Whether it can be used, as far as that shows without a registry and a library
// of Protobuf.
// Errors: INVALID_CONFIG, naming the field.
absl::Status CheckProtobufConfig(const ProtobufConfig& config);

}  // namespace penstock::core
