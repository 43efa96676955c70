#include "proto/wire/avro_config.h"

#include "core/base/error.h"
#include "proto/wire/envelope_config.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/schema_registry_config.h"

#include <absl/strings/strip.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

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
    config->registry = SchemaRegistryFromProto(
        spec.registry(), JoinPath(own, "registry"), violations);
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
    *to.mutable_registry() = SchemaRegistryToProto(*config.registry);
  }
  if (config.key.has_value()) to.set_key(*config.key);
  EnvelopeToProto(config.envelope, to);
  return to;
}

}  // namespace penstock::wire
