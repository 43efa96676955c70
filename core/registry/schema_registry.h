// A schema registry, over HTTP.
#pragma once

#include "core/contract/component.h"
#include "core/format/schemas/registry_config.h"
#include "core/format/schemas/schema_source.h"
#include "core/http/http_get.h"

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <stop_token>
#include <string>
#include <vector>

namespace penstock::core {

// A version of a subject. Its number in the registry never changes.
struct SchemaReference {
  // By which who refers to it calls it.
  std::string name;
  std::string subject;
  uint64_t version = 0;

  auto operator<=>(const SchemaReference&) const = default;
};

struct RegistryAnswer {
  std::string text;
  // As RegisteredSchema's.
  std::string type = "AVRO";
  std::vector<SchemaReference> references = {};
};

// Schemas of `GET <url>/schemas/ids/<number>`, as Confluent's registry and
// those that are like it answer, with those that they refer to, of `GET
// <url>/subjects/<name>/versions/<number>`. Holds nothing but its
// configuration, secrets resolved.
//
// Bound: kReferencesMax of them for one schema, each one request;
//        kSchemaTextBytesMax in all.
class SchemaRegistry final : public SchemaSource {
 public:
  static constexpr size_t kReferencesMax = 64;

  // Errors: INVALID_CONFIG, PATH_NOT_ALLOWED, those of reading secrets.
  static absl::StatusOr<std::unique_ptr<SchemaSource>> Make(
      const SchemaRegistryConfig& config, const Environment& environment);

  explicit SchemaRegistry(HttpRequest request) : request_(std::move(request)) {}

  absl::StatusOr<RegisteredSchema> Fetch(uint32_t id,
                                         const std::stop_token& stop) override;

 private:
  // What one schema is made of, while it is being got.
  struct Task;

  // The answer for `path`, which `what` is called.
  absl::StatusOr<RegistryAnswer> Get(const std::string& path,
                                     const std::string& what,
                                     const std::stop_token& stop) const;
  // Adds what `references` name, behind what that needs itself.
  absl::Status AddReferences(const std::vector<SchemaReference>& references,
                             Task& task, const std::stop_token& stop) const;

  // Its url is that of the registry.
  const HttpRequest request_;
};

// The schema in the answer of a registry for `what`. Errors: as
// SchemaSource::Fetch.
absl::StatusOr<RegistryAnswer> ReadRegistryAnswer(absl::string_view what,
                                                  int status,
                                                  absl::string_view body);

}  // namespace penstock::core
