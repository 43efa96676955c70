// How rows of a schema become rows of a table.
#pragma once

#include "core/record/schema.h"
#include "core/sinks/postgres/catalog.h"
#include "core/sinks/postgres/config.h"
#include "core/sinks/postgres/table_name.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstddef>
#include <string>
#include <vector>

namespace penstock::core {

// A column that is written. A plain value.
struct PlannedColumn {
  PgColumn column;
  // Ignored where records carry no row.
  Column declared = {};
  // An array, a map or a struct that goes into json or jsonb.
  bool as_json = false;
  // Part of the key of kUpsert: never null.
  bool is_key = false;
};

// Constant once made.
struct RowPlan {
  // In the order in which COPY gets them. Without a schema: the one that takes
  // the record as it came.
  std::vector<PlannedColumn> columns;
  bool has_schema = false;
  PostgresMode mode = PostgresMode::kAppend;
  // kUpsert: the index on the key.
  PgKey key;
  // False: text, because of a column whose binary form is not known.
  bool is_binary = true;

  // Once a session, before the first COPY; empty: nothing.
  std::string session_sql;
  std::string copy_sql;
  // The relation that COPY names in its errors.
  std::string copy_relation;
  // After COPY: from what was copied into the table.
  std::vector<std::string> merge_sql;
};

// Checks the declared columns against the table's, one by one.
// Errors: INVALID_CONFIG: what does not fit, both types, and what to do.
absl::StatusOr<RowPlan> PlanRows(const PostgresSinkConfig& config,
                                 const TableName& name, const Schema& schema,
                                 const PgTable& table);

// The statement that makes the table for `schema`, if it is missing.
// Errors: INVALID_CONFIG: a name that PostgreSQL would cut.
absl::StatusOr<std::string> CreateTableSql(const PostgresSinkConfig& config,
                                           const TableName& name,
                                           const Schema& schema);

}  // namespace penstock::core
