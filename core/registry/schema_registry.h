// A schema registry, over HTTP.
#pragma once

#include "core/contract/component.h"
#include "core/format/avro/config.h"
#include "core/format/avro/schema_source.h"
#include "core/http/http_get.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>

namespace penstock::core {

// Schemas of `GET <url>/schemas/ids/<number>`, as Confluent's registry and
// those that are like it answer. Holds nothing but its configuration, secrets
// resolved.
class SchemaRegistry final : public SchemaSource {
 public:
  // Errors: INVALID_CONFIG, PATH_NOT_ALLOWED, those of reading secrets.
  static absl::StatusOr<std::unique_ptr<SchemaSource>> Make(
      const SchemaRegistryConfig& config, const Environment& environment);

  explicit SchemaRegistry(HttpRequest request) : request_(std::move(request)) {}

  absl::StatusOr<std::string> Fetch(uint32_t id,
                                    const std::stop_token& stop) override;

 private:
  // Its url is that of the registry.
  const HttpRequest request_;
};

// The schema in the answer of a registry. Errors: as SchemaSource::Fetch.
absl::StatusOr<std::string> ReadRegistryAnswer(uint32_t id, int status,
                                               absl::string_view body);

}  // namespace penstock::core
