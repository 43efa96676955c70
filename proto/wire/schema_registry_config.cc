#include "proto/wire/schema_registry_config.h"

#include "proto/wire/field_reader.h"
#include "proto/wire/proto_time.h"

#include <absl/time/time.h>

namespace penstock::wire {

core::SchemaRegistryConfig SchemaRegistryFromProto(
    const v1::SchemaRegistry& spec, const std::string& path,
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
  config.bad_schema_ids.assign(spec.bad_schema_ids().begin(),
                               spec.bad_schema_ids().end());
  return config;
}

v1::SchemaRegistry SchemaRegistryToProto(
    const core::SchemaRegistryConfig& config) {
  v1::SchemaRegistry to;
  to.set_url(config.url);
  if (!config.username.empty()) to.set_username(config.username);
  if (!config.password.empty()) to.set_password(config.password);
  if (!config.bearer_token.empty()) to.set_bearer_token(config.bearer_token);
  if (!config.ca_file.empty()) to.set_ca_file(config.ca_file);
  *to.mutable_timeout() = DurationToProto(config.timeout);
  to.mutable_bad_schema_ids()->Add(config.bad_schema_ids.begin(),
                                   config.bad_schema_ids.end());
  return to;
}

}  // namespace penstock::wire
