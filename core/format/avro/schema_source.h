// Where schemas come from, by their numbers.
#pragma once

#include "core/contract/component.h"
#include "core/format/avro/config.h"

#include <absl/status/statusor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace penstock::core {

struct RegisteredSchema {
  std::string text;
  // Schemas of which it, or a later one, names types: in this order each finds
  // what it needs before it.
  std::vector<std::string> references = {};
};

// Threads: confined to one thread at a time.
class SchemaSource {
 public:
  virtual ~SchemaSource() = default;
  // The schema `id`.
  // Blocks: within a bound of its own, and until soon after `stop`.
  // Errors: INVALID_CONFIG: it is none of Avro, which is so for good; any other
  // may pass: NOT_FOUND, the source knows of none by now.
  virtual absl::StatusOr<RegisteredSchema> Fetch(
      uint32_t id, const std::stop_token& stop) = 0;
};

// Errors: INVALID_CONFIG, PATH_NOT_ALLOWED, those of reading a secret's file.
using MakeSchemaSource =
    std::function<absl::StatusOr<std::unique_ptr<SchemaSource>>(
        const SchemaRegistryConfig&, const Environment&)>;

}  // namespace penstock::core
