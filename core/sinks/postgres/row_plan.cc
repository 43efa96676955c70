#include "core/sinks/postgres/row_plan.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/pg/pg_connection.h"
#include "core/sinks/postgres/type_check.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <utility>

namespace penstock::core {
namespace {

// Names of ours in a session; the rows of a batch before they are merged.
constexpr absl::string_view kStaging = "penstock_staging";
constexpr absl::string_view kRowNumber = "penstock_row";
constexpr absl::string_view kDeleted = "penstock_deleted";

absl::Status Bad(std::string message, absl::string_view field) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("postgres sink: ", message),
                   {{"field", std::string(field)}});
}

std::string Quote(absl::string_view name) {
  return PgConnection::QuoteIdentifier(name);
}

std::string Join(const std::vector<std::string>& names,
                 absl::string_view before = "") {
  return absl::StrJoin(names, ", ",
                       [before](std::string* out, const std::string& name) {
                         absl::StrAppend(out, before, Quote(name));
                       });
}

// A longer one would be cut, and then not be found.
absl::Status CheckColumnName(const std::string& name) {
  constexpr size_t kNameBytesMax = 63;
  if (!name.empty() && name.size() <= kNameBytesMax &&
      name.find('\0') == std::string::npos) {
    return absl::OkStatus();
  }
  return Bad(absl::StrCat("the schema declares column \"", name,
                          "\", which PostgreSQL cannot name so: names have 1 "
                          "to ",
                          kNameBytesMax, " bytes, none of them NUL"),
             "schema");
}

// Without a schema.
absl::Status PlanRecord(const TableName& name, const PgTable& table,
                        RowPlan& plan) {
  for (const PgColumn& column : table.columns) {
    if (column.has_default || column.is_generated) continue;
    if (!plan.columns.empty()) {
      return Bad(
          absl::StrCat("without a schema a record goes into the one "
                       "column without a default, but ",
                       name.ToString(), " has \"", plan.columns[0].column.name,
                       "\" and \"", column.name,
                       "\"; declare a schema, or give one a default"),
          "schema");
    }
    plan.columns.push_back({.column = column});
  }
  if (plan.columns.empty()) {
    return Bad(absl::StrCat("without a schema a record goes into the one "
                            "column without a default, and ",
                            name.ToString(),
                            " has none; declare a schema, or add a column"),
               "schema");
  }
  const PgColumn& column = plan.columns[0].column;
  const bool takes_records =
      !column.is_array &&
      (column.layout == PgLayout::kText || column.layout == PgLayout::kJson ||
       column.layout == PgLayout::kJsonb || column.layout == PgLayout::kBytea);
  if (takes_records) return absl::OkStatus();
  return Bad(
      absl::StrCat("without a schema a record goes into column \"", column.name,
                   "\" of ", name.ToString(), ", which is ", column.type,
                   "; it must be text, json, jsonb or bytea, or a "
                   "schema declared"),
      "schema");
}

absl::Status PlanColumns(const TableName& name, const Schema& schema,
                         const PgTable& table, RowPlan& plan) {
  for (const Column& declared : schema.columns) {
    RETURN_IF_ERROR(CheckColumnName(declared.name));
    const auto found = std::find_if(
        table.columns.begin(), table.columns.end(),
        [&declared](const PgColumn& c) { return c.name == declared.name; });
    if (found == table.columns.end()) {
      return Bad(
          absl::StrCat(
              "the schema declares column \"", declared.name, "\", which ",
              name.ToString(), " does not have; its columns are: ",
              absl::StrJoin(table.columns, ", ",
                            [](std::string* out, const PgColumn& column) {
                              absl::StrAppend(out, column.name);
                            })),
          "schema");
    }
    if (found->is_generated) {
      return Bad(
          absl::StrCat("column \"", declared.name, "\" of ", name.ToString(),
                       " makes its values itself and takes none; leave "
                       "it out of the schema"),
          "schema");
    }
    RETURN_IF_ERROR(CheckType(declared, *found, name.ToString()));
    plan.columns.push_back({.column = *found,
                            .declared = declared,
                            .as_json = GoesIntoJson(declared, *found)});
  }
  for (const PgColumn& column : table.columns) {
    if (!column.not_null || column.has_default || column.is_generated) continue;
    if (schema.Find(column.name).has_value()) continue;
    return Bad(absl::StrCat("column \"", column.name, "\" of ", name.ToString(),
                            " must have a value and has no default, but the "
                            "schema does not declare it; declare it, or give "
                            "it a default"),
               "schema");
  }
  return absl::OkStatus();
}

absl::Status PlanKey(const PostgresSinkConfig& config, const TableName& name,
                     const PgTable& table, RowPlan& plan) {
  std::vector<std::string> key = config.key;
  std::sort(key.begin(), key.end());
  for (const std::string& part : key) {
    const auto found = std::find_if(plan.columns.begin(), plan.columns.end(),
                                    [&part](const PlannedColumn& planned) {
                                      return planned.column.name == part;
                                    });
    if (found == plan.columns.end()) {
      return Bad(absl::StrCat("the key has column \"", part,
                              "\", which the schema does not declare"),
                 "sink.postgres.key");
    }
    found->is_key = true;
  }
  const auto unique = std::find_if(
      table.keys.begin(), table.keys.end(),
      [&key](const PgKey& candidate) { return candidate.columns == key; });
  if (unique != table.keys.end()) {
    plan.key = *unique;
    return absl::OkStatus();
  }
  return Bad(absl::StrCat(name.ToString(), " has no unique index on exactly ",
                          Join(config.key),
                          ", in the order of their own types, which an upsert "
                          "needs; CREATE UNIQUE INDEX ON ",
                          name.Quoted(), " (", Join(config.key), ")"),
             "sink.postgres.key");
}

// The last operation of each key counts: whatever came before it in the batch
// left nothing to be seen.
void PlanMerge(const PostgresSinkConfig& config, const TableName& name,
               RowPlan& plan) {
  std::vector<std::string> names;
  std::vector<std::string> staged;
  std::vector<std::string> assignments;
  for (const PlannedColumn& planned : plan.columns) {
    const std::string column = Quote(planned.column.name);
    names.push_back(planned.column.name);
    // A deletion has a key and perhaps nothing else, which a domain may refuse.
    const bool is_free = !planned.is_key && !planned.column.domain_base.empty();
    staged.push_back(is_free ? absl::StrCat(column,
                                            "::", planned.column.domain_base,
                                            " AS ", column)
                             : column);
    if (planned.is_key) continue;
    assignments.push_back(absl::StrCat(column, " = EXCLUDED.", column));
  }
  std::vector<std::string> conditions;
  for (size_t i = 0; i < plan.key.columns.size(); ++i) {
    const std::string column = Quote(plan.key.columns[i]);
    conditions.push_back(
        absl::StrCat("t.", column, " ", plan.key.equals[i], " l.", column));
  }
  const std::string last = absl::StrCat(
      "(SELECT DISTINCT ON (", Join(config.key), ") * FROM ", kStaging,
      " ORDER BY ", Join(config.key), ", ", kRowNumber, " DESC) AS l");
  plan.session_sql = absl::StrCat(
      "CREATE TEMP TABLE ", kStaging, " ON COMMIT DELETE ROWS AS SELECT ",
      absl::StrJoin(staged, ", "), " FROM ", name.Quoted(),
      " WITH NO DATA; ALTER TABLE ", kStaging, " ADD COLUMN ", kDeleted,
      " boolean, ADD COLUMN ", kRowNumber,
      " bigint GENERATED ALWAYS AS IDENTITY");
  plan.copy_relation = std::string(kStaging);
  plan.copy_sql = absl::StrCat("COPY ", kStaging, " (", Join(names), ", ",
                               kDeleted, ") FROM STDIN");
  plan.merge_sql = {
      absl::StrCat("DELETE FROM ", name.Quoted(), " AS t USING ", last,
                   " WHERE l.", kDeleted, " AND ",
                   absl::StrJoin(conditions, " AND ")),
      absl::StrCat(
          "INSERT INTO ", name.Quoted(), " (", Join(names), ") SELECT ",
          Join(names, "l."), " FROM ", last, " WHERE NOT l.", kDeleted,
          " ON CONFLICT (", Join(config.key), ") DO ",
          assignments.empty()
              ? "NOTHING"
              : absl::StrCat("UPDATE SET ", absl::StrJoin(assignments, ", ")))};
}

void PlanCopy(const TableName& name, RowPlan& plan) {
  std::vector<std::string> names;
  for (const PlannedColumn& planned : plan.columns) {
    names.push_back(planned.column.name);
  }
  plan.copy_relation = name.table;
  plan.copy_sql =
      absl::StrCat("COPY ", name.Quoted(), " (", Join(names), ") FROM STDIN");
}

}  // namespace

absl::StatusOr<RowPlan> PlanRows(const PostgresSinkConfig& config,
                                 const TableName& name, const Schema& schema,
                                 const PgTable& table) {
  RowPlan plan;
  plan.mode = config.mode;
  plan.has_schema = !schema.IsEmpty();
  if (plan.has_schema) {
    RETURN_IF_ERROR(PlanColumns(name, schema, table, plan));
  } else {
    RETURN_IF_ERROR(PlanRecord(name, table, plan));
  }
  if (config.mode == PostgresMode::kUpsert) {
    if (!plan.has_schema) {
      return Bad("upsert needs a schema, which tells the key's columns",
                 "schema");
    }
    RETURN_IF_ERROR(PlanKey(config, name, table, plan));
    PlanMerge(config, name, plan);
  } else {
    PlanCopy(name, plan);
  }
  plan.is_binary =
      std::none_of(plan.columns.begin(), plan.columns.end(),
                   [](const PlannedColumn& planned) {
                     return planned.column.layout == PgLayout::kOther;
                   });
  if (plan.is_binary) absl::StrAppend(&plan.copy_sql, " (FORMAT binary)");
  return plan;
}

absl::StatusOr<std::string> CreateTableSql(const PostgresSinkConfig& config,
                                           const TableName& name,
                                           const Schema& schema) {
  std::vector<std::string> lines;
  if (schema.IsEmpty()) lines.emplace_back("record text");
  for (const Column& column : schema.columns) {
    RETURN_IF_ERROR(CheckColumnName(column.name));
    lines.push_back(absl::StrCat(Quote(column.name), " ", TypeFor(column),
                                 column.nullable ? "" : " NOT NULL"));
  }
  if (config.mode == PostgresMode::kUpsert) {
    lines.push_back(absl::StrCat("PRIMARY KEY (", Join(config.key), ")"));
  }
  return absl::StrCat("CREATE TABLE IF NOT EXISTS ", name.Quoted(), " (",
                      absl::StrJoin(lines, ", "), ")");
}

}  // namespace penstock::core
