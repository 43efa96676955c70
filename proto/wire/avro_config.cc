#include "proto/wire/avro_config.h"

#include "core/base/error.h"
#include "proto/wire/envelope_config.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/strip.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

core::SchemaRegistryConfig RegistryFromProto(const v1::SchemaRegistry& spec,
                                             const std::string& path,
                                             Violations& violations) {
  FieldReader fields(path, violations);
  core::SchemaRegistryConfig config{.url = spec.url(),
                                    .username = spec.username(),
                                    .password = spec.password(),
                                    .bearer_token = spec.bearer_token(),
                                    .ca_file = spec.ca_file()};
  config.timeout =
      fields.Time("timeout", PENSTOCK_GIVEN(spec, timeout), config.timeout,
                  absl::Milliseconds(100), absl::Minutes(1));
  return config;
}

// What the format itself would say at open is said before.
void Check(const core::AvroConfig& config, absl::string_view path,
           Violations& violations) {
  const absl::Status checked = core::CheckAvroConfig(config);
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(checked);
  if (!info.has_value()) return;
  const auto field = info->metadata.find("field");
  const absl::string_view name =
      field == info->metadata.end()
          ? "avro"
          : absl::StripPrefix(field->second, "format.");
  violations.Add(JoinPath(path, name), std::string(checked.message()),
                 kMalformed);
}

}  // namespace

ConfigPtr AvroFromProto(const v1::AvroFormat& spec,
                        const core::ConnectorLimits& limits,
                        absl::string_view path, Violations& violations) {
  auto config = std::make_shared<core::AvroConfig>();
  const std::string own = JoinPath(path, "avro");
  config->record_bytes_max = limits.record_bytes_max;
  config->schema = PENSTOCK_GIVEN(spec, schema);
  if (spec.has_registry()) {
    config->registry = RegistryFromProto(spec.registry(),
                                         JoinPath(own, "registry"), violations);
  }
  config->key = PENSTOCK_GIVEN(spec, key);
  config->envelope = EnvelopeFromProto(
      PENSTOCK_GIVEN(spec, envelope), spec.envelope_columns(),
      PENSTOCK_GIVEN(spec, unavailable_value), own, violations);
  Check(*config, path, violations);
  return config;
}

v1::AvroFormat AvroToProto(const core::AvroConfig& config) {
  v1::AvroFormat to;
  if (config.schema.has_value()) to.set_schema(*config.schema);
  if (config.registry.has_value()) {
    const core::SchemaRegistryConfig& from = *config.registry;
    v1::SchemaRegistry& registry = *to.mutable_registry();
    registry.set_url(from.url);
    if (!from.username.empty()) registry.set_username(from.username);
    if (!from.password.empty()) registry.set_password(from.password);
    if (!from.bearer_token.empty()) {
      registry.set_bearer_token(from.bearer_token);
    }
    if (!from.ca_file.empty()) registry.set_ca_file(from.ca_file);
    *registry.mutable_timeout() = DurationToProto(from.timeout);
  }
  if (config.key.has_value()) to.set_key(*config.key);
  EnvelopeToProto(config.envelope, to);
  return to;
}

}  // namespace penstock::wire
