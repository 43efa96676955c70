// Configuration of the `postgres` sink.
#pragma once

#include "core/contract/component.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::core {

enum class PostgresMode {
  // Rows are added; deletions are refused.
  kAppend,
  // A row replaces the one with its key; a deletion removes it.
  kUpsert,
};

struct PostgresSinkConfig final : ComponentConfig {
  absl::string_view type() const override { return "postgres"; }

  // A connection string with references to secrets (core/pg/pg_url.h).
  std::string url;
  // "schema.table" as they are spelled, "table" for one in "public"; in double
  // quotes where a name has a dot.
  std::string table;
  PostgresMode mode = PostgresMode::kAppend;
  // kUpsert: the key's columns, on which the table has a unique index.
  std::vector<std::string> key;
  // Makes the table from the schema, and the progress table, if missing.
  bool create_table = false;
  // As `table`.
  std::string progress_table = "penstock.progress";
  // Settings of each session; not zero.
  absl::Duration lock_timeout = absl::Seconds(10);
  absl::Duration statement_timeout = absl::Minutes(1);
  // The largest buffer that PushBuffer takes: above the largest record as the
  // encoder may blow it up.
  size_t buffer_bytes_max = size_t{64} << 20;
};

// INVALID_CONFIG with metadata "field", such as "sink.postgres.key".
absl::Status CheckPostgresConfig(const PostgresSinkConfig& config);

}  // namespace penstock::core
