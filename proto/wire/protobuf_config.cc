#include "proto/wire/protobuf_config.h"

#include "core/base/error.h"
#include "proto/wire/envelope_config.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/schema_registry_config.h"

#include <absl/strings/escaping.h>
#include <absl/strings/strip.h>

#include <memory>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

// What the format itself would say at open is said before.
void Check(const core::ProtobufConfig& config, absl::string_view path,
           Violations& violations) {
  const absl::Status checked = core::CheckProtobufConfig(config);
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(checked);
  if (!info.has_value()) return;
  const auto field = info->metadata.find("field");
  const absl::string_view name =
      field == info->metadata.end()
          ? "protobuf"
          : absl::StripPrefix(field->second, "format.");
  violations.Add(JoinPath(path, name), std::string(checked.message()),
                 kMalformed);
}

}  // namespace

ConfigPtr ProtobufFromProto(const v1::ProtobufFormat& spec,
                            const core::ConnectorLimits& limits,
                            absl::string_view path, Violations& violations) {
  auto config = std::make_shared<core::ProtobufConfig>();
  const std::string own = JoinPath(path, "protobuf");
  config->record_bytes_max = limits.record_bytes_max;
  if (spec.has_registry()) {
    config->registry = SchemaRegistryFromProto(
        spec.registry(), JoinPath(own, "registry"), violations);
  }
  config->key = PENSTOCK_GIVEN(spec, key);
  config->message = spec.message();
  config->envelope = EnvelopeFromProto(
      PENSTOCK_GIVEN(spec, envelope), spec.envelope_columns(),
      PENSTOCK_GIVEN(spec, unavailable_value), own, violations);
  if (!absl::Base64Unescape(spec.descriptor_set(), &config->descriptor_set)) {
    violations.Add(JoinPath(own, "descriptor_set"),
                   "is no base64; give the file of `protoc --include_imports "
                   "--descriptor_set_out=FILE` as `base64 -w0 FILE` prints it",
                   kMalformed);
    return config;
  }
  Check(*config, path, violations);
  return config;
}

v1::ProtobufFormat ProtobufToProto(const core::ProtobufConfig& config) {
  v1::ProtobufFormat to;
  if (config.registry.has_value()) {
    *to.mutable_registry() = SchemaRegistryToProto(*config.registry);
  }
  if (!config.descriptor_set.empty()) {
    to.set_descriptor_set(absl::Base64Escape(config.descriptor_set));
  }
  if (!config.message.empty()) to.set_message(config.message);
  if (config.key.has_value()) to.set_key(*config.key);
  EnvelopeToProto(config.envelope, to);
  return to;
}

}  // namespace penstock::wire
