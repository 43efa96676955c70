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

namespace penstock::core {

// Threads: confined to one thread at a time.
class SchemaSource {
 public:
  virtual ~SchemaSource() = default;
  // The text of the schema `id`.
  // Blocks: within a bound of its own, and until soon after `stop`.
  // Errors: NOT_FOUND: there is none, as far as the source knows by now;
  // INVALID_CONFIG: it is none of Avro, or one that cannot be used; any other
  // may pass.
  virtual absl::StatusOr<std::string> Fetch(uint32_t id,
                                            const std::stop_token& stop) = 0;
};

// Errors: INVALID_CONFIG, PATH_NOT_ALLOWED, those of reading a secret's file.
using MakeSchemaSource =
    std::function<absl::StatusOr<std::unique_ptr<SchemaSource>>(
        const SchemaRegistryConfig&, const Environment&)>;

}  // namespace penstock::core
