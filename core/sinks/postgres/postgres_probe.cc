#include "core/sinks/postgres/postgres_probe.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/pg/pg_connection.h"
#include "core/pg/pg_error.h"
#include "core/pg/pg_url.h"
#include "core/sinks/postgres/catalog.h"
#include "core/sinks/postgres/config.h"
#include "core/sinks/postgres/postgres_endpoint.h"
#include "core/sinks/postgres/postgres_sink.h"
#include "core/sinks/postgres/row_plan.h"
#include "core/sinks/postgres/table_name.h"

#include <absl/status/statusor.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>
#include <absl/strings/string_view.h>

#include <array>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

constexpr absl::Duration kProbeTime = absl::Seconds(15);

// One look.
// Threads: confined to the call that made it.
class Look {
 public:
  Look(PgConnection& connection, bool creates, absl::Time deadline)
      : connection_(connection), creates_(creates), deadline_(deadline) {}

  // nullopt: it is missing, and this role may make it.
  absl::StatusOr<std::optional<PgTable>> Table(
      const TableName& name, absl::string_view field,
      const std::vector<std::string>& needed) {
    ASSIGN_OR_RETURN(std::optional<PgTable> found,
                     ReadTable(connection_, name, deadline_));
    if (!found.has_value()) {
      if (!creates_) return MissingTable(name, field);
      RETURN_IF_ERROR(MayMake(name));
      return found;
    }
    for (const std::string& privilege : needed) {
      const std::array params = {PgParam::Text(name.Quoted()),
                                 PgParam::Text(privilege)};
      ASSIGN_OR_RETURN(
          const bool granted,
          Ask("SELECT has_table_privilege($1::text, $2::text)", params));
      if (granted) continue;
      return MakeError(
          Reason::PERMISSION_DENIED,
          absl::StrCat("this role may not ", privilege, " in ", name.ToString(),
                       "; GRANT ", absl::StrJoin(needed, ", "), " ON ",
                       name.Quoted(), " to it"),
          {{"field", std::string(field)}});
    }
    return found;
  }

 private:
  absl::StatusOr<bool> Ask(absl::string_view sql,
                           std::span<const PgParam> params) {
    ASSIGN_OR_RETURN(const PgResult result,
                     connection_.Exec(sql, params, deadline_));
    return result.rows() == 1 && result.Bool(0, 0);
  }

  // In its schema, or where that is missing as well, in the database.
  absl::Status MayMake(const TableName& name) {
    const std::array params = {PgParam::Text(name.schema)};
    ASSIGN_OR_RETURN(
        const bool may,
        Ask("SELECT coalesce((SELECT has_schema_privilege(oid, 'CREATE')"
            " FROM pg_namespace WHERE nspname = $1::text),"
            " has_database_privilege(current_database(), 'CREATE'))",
            params));
    if (may) return absl::OkStatus();
    return MakeError(
        Reason::PERMISSION_DENIED,
        absl::StrCat("this role may not make ", name.ToString(),
                     ", which is missing; GRANT CREATE to it, or make it"));
  }

  PgConnection& connection_;
  const bool creates_;
  const absl::Time deadline_;
};

absl::Status Probe(const PostgresSinkConfig& config,
                   std::optional<FtModel> level, const Schema& schema,
                   const Environment& environment) {
  RETURN_IF_ERROR(CheckPostgresConfig(config));
  ASSIGN_OR_RETURN(
      const Conninfo conninfo,
      ResolvePgUrl(config.url, environment.files, environment.paths));
  ASSIGN_OR_RETURN(const TableName name,
                   TableName::Parse(config.table, "sink.postgres.table"));
  ASSIGN_OR_RETURN(
      const TableName progress_name,
      TableName::Parse(config.progress_table, "sink.postgres.progress_table"));
  const absl::Time deadline = environment.clock.SteadyNow() + kProbeTime;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<PgConnection> connection,
      PgConnection::Connect(conninfo, PgOptionsOf(config, "penstock:probe"),
                            environment.clock, deadline));
  Look look(*connection, config.create_table, deadline);
  std::vector<std::string> needed = {"INSERT"};
  if (config.mode == PostgresMode::kUpsert) {
    needed.insert(needed.end(), {"SELECT", "UPDATE", "DELETE"});
  }
  ASSIGN_OR_RETURN(const std::optional<PgTable> table,
                   look.Table(name, "sink.postgres.table", needed));
  if (table.has_value()) {
    RETURN_IF_ERROR(PlanRows(config, name, schema, *table).status());
  }
  if (level != FtModel::kExactlyOnce) return absl::OkStatus();
  return look
      .Table(progress_name, "sink.postgres.progress_table",
             {"SELECT", "INSERT", "UPDATE"})
      .status();
}

}  // namespace

absl::Status ProbePostgresSink(const ComponentConfig& config,
                               std::optional<FtModel> level,
                               const Schema& schema,
                               const Environment& environment) {
  CHECK(config.type() == "postgres");
  return NotOfARow(Probe(static_cast<const PostgresSinkConfig&>(config), level,
                         schema, environment));
}

}  // namespace penstock::core
