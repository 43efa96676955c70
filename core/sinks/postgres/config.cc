#include "core/sinks/postgres/config.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/pg/pg_url.h"
#include "core/sinks/postgres/table_name.h"

#include <absl/strings/str_cat.h>

#include <algorithm>

namespace penstock::core {
namespace {

absl::Status Bad(absl::string_view field, absl::string_view what) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("postgres sink: ", field, " ", what),
                   {{"field", absl::StrCat("sink.postgres.", field)}});
}

}  // namespace

absl::Status CheckPostgresConfig(const PostgresSinkConfig& config) {
  if (config.url.empty()) return Bad("url", "is missing");
  if (const absl::Status url = CheckPgUrl(config.url); !url.ok()) {
    return MakeError(Reason::INVALID_CONFIG, url.message(),
                     {{"field", "sink.postgres.url"}});
  }
  RETURN_IF_ERROR(TableName::Parse(config.table, "sink.postgres.table"));
  RETURN_IF_ERROR(
      TableName::Parse(config.progress_table, "sink.postgres.progress_table"));
  if (config.mode == PostgresMode::kUpsert && config.key.empty()) {
    return Bad("key", "is missing: upsert needs the key's columns");
  }
  if (config.mode == PostgresMode::kAppend && !config.key.empty()) {
    return Bad("key", "is given, which only mode upsert uses");
  }
  std::vector<std::string> key = config.key;
  std::sort(key.begin(), key.end());
  if (std::adjacent_find(key.begin(), key.end()) != key.end()) {
    return Bad("key", "names a column twice");
  }
  if (config.lock_timeout < absl::Milliseconds(1)) {
    return Bad("lock_timeout", "is below a millisecond");
  }
  if (config.statement_timeout < absl::Milliseconds(1)) {
    return Bad("statement_timeout", "is below a millisecond");
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
