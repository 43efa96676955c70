#include "client/controller/postgres_schema.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <array>
#include <span>
#include <vector>

namespace penstock::client {
namespace {

using core::MakeError;
using core::PgConnection;
using core::PgResult;
using core::Reason;

// What makers of tables wait for each other with; released by the server.
constexpr int64_t kMakersLock = 0x50656e73746f636b;  // "Penstock"

struct Column {
  absl::string_view name;
  // As the server spells it.
  absl::string_view type;
  bool may_be_null = false;
};

struct Table {
  absl::string_view name;
  std::vector<Column> columns;
  absl::string_view key;
  // Room in each page, so that a row that is changed all the time stays where
  // it is and no index is touched.
  absl::string_view storage = "";
};

// Numbers are unsigned and have 64 bits, which bigint has no room for.
constexpr absl::string_view kNumber = "numeric(20,0)";
// Whose journal lacks skipped_records.
constexpr absl::string_view kVersionBefore = "1";
constexpr absl::string_view kHot = " WITH (fillfactor = 50)";

// In order of name.
const std::vector<Table>& Tables() {
  static const auto& tables = *new std::vector<Table>{
      {.name = "connectors",
       .columns = {{"pipeline", "text"},
                   {"connector", "text"},
                   {"spec", "bytea"},
                   {"opened", "boolean"},
                   {"position", "bytea", true},
                   {"base_steps", kNumber},
                   {"reserved_steps", kNumber},
                   {"open_number", kNumber},
                   {"user_paused", "boolean"},
                   {"checksum", kNumber}},
       .key = "pipeline, connector"},
      {.name = "journal",
       .columns = {{"pipeline", "text"},
                   {"connector", "text"},
                   {"step", kNumber},
                   {"checksum", kNumber},
                   {"records", kNumber},
                   {"bytes", kNumber},
                   {"resume_kind", kNumber},
                   {"seek", "bytea", true},
                   {"replay", "bytea", true},
                   {"resume_hash", kNumber},
                   {"position_complete", "boolean"},
                   {"hash_value", kNumber, true},
                   {"hash_count", kNumber, true},
                   {"watermarks", "bytea"},
                   {"transaction_started", "boolean"},
                   {"transaction_committed", "boolean"},
                   {"transaction_label", "bytea", true},
                   {"end_of_input", "boolean"},
                   {"stopped_because", kNumber},
                   {"skipped_records", kNumber}},
       .key = "pipeline, connector, step"},
      {.name = "leases",
       .columns = {{"pipeline", "text"},
                   {"holder", "text"},
                   {"controller", "text"},
                   {"lasts", "interval"},
                   {"expires_at", "timestamp with time zone"}},
       .key = "pipeline",
       .storage = kHot},
      {.name = "pipelines",
       .columns = {{"pipeline", "text"},
                   {"incarnation", "text"},
                   {"epoch", kNumber},
                   {"leader", "text"},
                   {"commits", kNumber},
                   {"digest", kNumber},
                   {"checksum", kNumber}},
       .key = "pipeline",
       .storage = kHot},
      {.name = "version",
       .columns = {{"version", "integer"}},
       .key = "version"},
  };
  return tables;
}

std::string CreateSql(const Table& table) {
  std::vector<std::string> parts;
  for (const Column& column : table.columns) {
    parts.push_back(absl::StrCat(column.name, " ", column.type,
                                 column.type == "text" ? " COLLATE \"C\"" : "",
                                 column.may_be_null ? "" : " NOT NULL"));
  }
  return absl::StrCat("CREATE TABLE ", kPostgresSchema, ".", table.name, " (",
                      absl::StrJoin(parts, ", "), ", PRIMARY KEY (", table.key,
                      "))", table.storage, ";\n");
}

// All columns, as the query of CheckColumns puts them.
std::string ExpectedColumns() {
  std::vector<std::string> columns;
  for (const Table& table : Tables()) {
    for (const Column& column : table.columns) {
      columns.push_back(absl::StrCat(table.name, ".", column.name, " ",
                                     column.type,
                                     column.may_be_null ? "" : " not null"));
    }
  }
  return absl::StrJoin(columns, ", ");
}

absl::Status Damaged(absl::string_view what) {
  return MakeError(
      Reason::STATE_DAMAGED,
      absl::StrCat("opening the store: schema ", kPostgresSchema, ": ", what,
                   "; it is not used, so that nothing is lost or doubled: "
                   "restore it from a backup, or drop the schema, which holds "
                   "the state of every pipeline of this database, and start "
                   "anew into empty targets"));
}

absl::Status CheckColumns(PgConnection& connection, absl::Time deadline) {
  static constexpr absl::string_view kSql =
      "SELECT string_agg(c.relname || '.' || a.attname || ' ' ||"
      " format_type(a.atttypid, a.atttypmod) ||"
      " CASE WHEN a.attnotnull THEN ' not null' ELSE '' END,"
      " ', ' ORDER BY c.relname COLLATE \"C\", a.attnum)"
      " FROM pg_attribute a JOIN pg_class c ON c.oid = a.attrelid"
      " WHERE c.relnamespace = to_regnamespace($1) AND c.relkind = 'r'"
      " AND a.attnum > 0 AND NOT a.attisdropped AND c.relname = ANY ($2)";
  const std::string names =
      absl::StrCat("{",
                   absl::StrJoin(Tables(), ",",
                                 [](std::string* out, const Table& table) {
                                   absl::StrAppend(out, table.name);
                                 }),
                   "}");
  const std::array params = {core::PgParam::Text(kPostgresSchema),
                             core::PgParam::Text(names)};
  ASSIGN_OR_RETURN(const PgResult found,
                   connection.Exec(kSql, params, deadline));
  if (found.Text(0, 0) == ExpectedColumns()) return absl::OkStatus();
  return Damaged("its tables are not those of a store");
}

absl::StatusOr<bool> Exists(PgConnection& connection, absl::string_view sql,
                            absl::Time deadline) {
  const std::array params = {core::PgParam::Text(kPostgresSchema)};
  ASSIGN_OR_RETURN(const PgResult found,
                   connection.Exec(sql, params, deadline));
  return found.Bool(0, 0);
}

absl::StatusOr<std::string> ReadVersion(PgConnection& connection,
                                        absl::Time deadline) {
  ASSIGN_OR_RETURN(
      const PgResult version,
      connection.Exec(absl::StrCat("SELECT coalesce(string_agg(version::text, "
                                   "', '), 'missing') FROM ",
                                   kPostgresSchema, ".version"),
                      deadline));
  return std::string(version.Text(0, 0));
}

// One message, and so one transaction; whoever comes second changes nothing. A
// controller of the version before goes on: it knows no skipped records.
absl::Status Upgrade(PgConnection& connection, absl::Time deadline) {
  const absl::Status upgraded =
      connection
          .Exec(absl::StrCat("SELECT pg_advisory_xact_lock(", kMakersLock,
                             ");\nALTER TABLE ", kPostgresSchema,
                             ".journal ADD COLUMN IF NOT EXISTS "
                             "skipped_records ",
                             kNumber, " NOT NULL DEFAULT 0;\nUPDATE ",
                             kPostgresSchema,
                             ".version SET version = ", kPostgresSchemaVersion,
                             " WHERE version = ", kVersionBefore),
                deadline)
          .status();
  return core::WithContext(
      upgraded, absl::StrCat("while upgrading the tables of the store, which "
                             "their owner may do"));
}

}  // namespace

std::string PostgresTablesSql() {
  std::string sql;
  for (const Table& table : Tables()) absl::StrAppend(&sql, CreateSql(table));
  absl::StrAppend(&sql, "INSERT INTO ", kPostgresSchema, ".version VALUES (",
                  kPostgresSchemaVersion, ");\n");
  return sql;
}

absl::Status MakePostgresTables(PgConnection& connection, absl::Time deadline) {
  ASSIGN_OR_RETURN(
      const bool has_schema,
      Exists(connection, "SELECT to_regnamespace($1) IS NOT NULL", deadline));
  // One message, and so one transaction: a maker that is stopped midway holds
  // nothing up.
  const std::string sql =
      absl::StrCat("SELECT pg_advisory_xact_lock(", kMakersLock, ");\n",
                   has_schema ? ""
                              : absl::StrCat("CREATE SCHEMA IF NOT EXISTS ",
                                             kPostgresSchema, ";\n"),
                   PostgresTablesSql());
  const absl::Status made = connection.Exec(sql, deadline).status();
  if (core::HasReason(made, Reason::PERMISSION_DENIED)) {
    return core::WithContext(
        made, absl::StrCat("while making the tables of the store; let an "
                           "administrator say CREATE SCHEMA ",
                           kPostgresSchema, " AUTHORIZATION <this role>"));
  }
  if (!core::HasReason(made, Reason::ALREADY_EXISTS)) return made;
  // By another controller meanwhile, or only some of them.
  const absl::Status checked = CheckPostgresTables(connection, deadline);
  if (!core::HasReason(checked, Reason::NOT_FOUND)) return checked;
  return Damaged("only some of its tables are there");
}

absl::Status CheckPostgresTables(PgConnection& connection,
                                 absl::Time deadline) {
  ASSIGN_OR_RETURN(
      const bool is_there,
      Exists(connection, "SELECT to_regclass($1 || '.version') IS NOT NULL",
             deadline));
  if (!is_there) {
    return MakeError(Reason::NOT_FOUND,
                     absl::StrCat("opening the store: the database has no "
                                  "schema ",
                                  kPostgresSchema, " with its tables"));
  }
  ASSIGN_OR_RETURN(std::string version, ReadVersion(connection, deadline));
  if (version == kVersionBefore) {
    RETURN_IF_ERROR(Upgrade(connection, deadline));
    ASSIGN_OR_RETURN(version, ReadVersion(connection, deadline));
  }
  if (version != absl::StrCat(kPostgresSchemaVersion)) {
    return Damaged(absl::StrCat("its version is ", version,
                                ", this program knows ", kPostgresSchemaVersion,
                                " (perhaps a newer one wrote it)"));
  }
  return CheckColumns(connection, deadline);
}

}  // namespace penstock::client
