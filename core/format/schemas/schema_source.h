// Where schemas come from, by their numbers.
#pragma once

#include "core/contract/component.h"
#include "core/format/schemas/registry_config.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace penstock::core {

// Longest text of a schema, with what it refers to.
inline constexpr size_t kSchemaTextBytesMax = size_t{1} << 20;

// What another schema refers to, and by which name.
struct ReferredSchema {
  std::string name;
  std::string text;
};

struct RegisteredSchema {
  std::string text;
  // As registries call its language: "AVRO", "PROTOBUF", "JSON".
  std::string type = "AVRO";
  // Schemas of which it, or a later one, names types: in this order each finds
  // what it needs before it.
  std::vector<ReferredSchema> references = {};
};

// Threads: confined to one thread at a time.
class SchemaSource {
 public:
  virtual ~SchemaSource() = default;
  // The schema `id`.
  // Blocks: within a bound of its own, and until soon after `stop`.
  // Errors: all may pass. NOT_FOUND: the source knows of none by now.
  virtual absl::StatusOr<RegisteredSchema> Fetch(
      uint32_t id, const std::stop_token& stop) = 0;
};

// Errors: INVALID_CONFIG, PATH_NOT_ALLOWED, those of reading a secret's file.
using MakeSchemaSource =
    std::function<absl::StatusOr<std::unique_ptr<SchemaSource>>(
        const SchemaRegistryConfig&, const Environment&)>;

// A schema as a format has read it. Constant.
class WriterSchema {
 public:
  virtual ~WriterSchema() = default;
  // What it holds, about.
  virtual size_t MemoryBytes() const = 0;
};

// A language of schemas.
struct SchemaLanguage {
  // As RegisteredSchema has it.
  absl::string_view type;
  // On any thread. Errors: it cannot be read here.
  std::function<absl::StatusOr<std::shared_ptr<const WriterSchema>>(
      const RegisteredSchema&)>
      read;
};

}  // namespace penstock::core
