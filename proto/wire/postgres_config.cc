#include "proto/wire/postgres_config.h"

#include "core/base/error.h"
#include "core/sinks/postgres/config.h"
#include "proto/penstock/v1/spec.pb.h"
#include "proto/wire/field_reader.h"
#include "proto/wire/proto_time.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <optional>
#include <string>

namespace penstock::wire {
namespace {

core::PostgresMode ReadMode(const v1::PostgresSink& spec, FieldReader& fields) {
  if (!spec.has_mode()) return core::PostgresMode::kAppend;
  switch (spec.mode()) {
    case v1::POSTGRES_MODE_APPEND:
      return core::PostgresMode::kAppend;
    case v1::POSTGRES_MODE_UPSERT:
      return core::PostgresMode::kUpsert;
    default:
      fields.Add("mode",
                 absl::StrCat("is ", spec.mode(), ", must be APPEND or UPSERT"),
                 spec.mode() == 0 ? kUnspecified : kUnknownValue);
      return core::PostgresMode::kAppend;
  }
}

// What the sink itself would say at open is said before.
void Check(const core::PostgresSinkConfig& config, absl::string_view path,
           Violations& violations) {
  const absl::Status checked = core::CheckPostgresConfig(config);
  const std::optional<core::ErrorInfo> info = core::GetErrorInfo(checked);
  if (!info.has_value()) return;
  const auto field = info->metadata.find("field");
  absl::string_view name = "postgres";
  if (field != info->metadata.end()) {
    name = absl::StripPrefix(field->second, "sink.");
  }
  violations.Add(JoinPath(path, name), std::string(checked.message()),
                 kMalformed);
}

}  // namespace

ConfigPtr PostgresFromProto(const v1::PostgresSink& spec,
                            const core::ConnectorLimits& limits,
                            absl::string_view path, Violations& violations) {
  auto config = std::make_shared<core::PostgresSinkConfig>();
  FieldReader fields(JoinPath(path, "postgres"), violations);
  bool whole = true;
  const auto require = [&](absl::string_view name, const std::string& value) {
    if (!value.empty()) return;
    fields.Add(name, "is missing", kRequired);
    whole = false;
  };
  require("url", spec.url());
  require("table", spec.table());
  config->url = spec.url();
  config->table = spec.table();
  config->mode = ReadMode(spec, fields);
  config->key.assign(spec.key().begin(), spec.key().end());
  config->create_table = spec.create_table();
  if (spec.has_progress_table()) config->progress_table = spec.progress_table();
  config->lock_timeout = fields.Time(
      "lock_timeout", PENSTOCK_GIVEN(spec, lock_timeout), config->lock_timeout);
  config->statement_timeout =
      fields.Time("statement_timeout", PENSTOCK_GIVEN(spec, statement_timeout),
                  config->statement_timeout);
  // A chunk, or a row of its own that the encoder has blown up.
  config->buffer_bytes_max =
      std::max<size_t>({config->buffer_bytes_max, limits.chunk_bytes,
                        2 * limits.record_bytes_max});
  if (whole) Check(*config, path, violations);
  return config;
}

v1::PostgresSink PostgresToProto(const core::PostgresSinkConfig& config) {
  v1::PostgresSink to;
  to.set_url(config.url);
  to.set_table(config.table);
  to.set_mode(config.mode == core::PostgresMode::kUpsert
                  ? v1::POSTGRES_MODE_UPSERT
                  : v1::POSTGRES_MODE_APPEND);
  for (const std::string& column : config.key) to.add_key(column);
  to.set_create_table(config.create_table);
  to.set_progress_table(config.progress_table);
  *to.mutable_lock_timeout() = DurationToProto(config.lock_timeout);
  *to.mutable_statement_timeout() = DurationToProto(config.statement_timeout);
  return to;
}

}  // namespace penstock::wire
