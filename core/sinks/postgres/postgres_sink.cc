#include "core/sinks/postgres/postgres_sink.h"

#include "core/base/check.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/pg/pg_error.h"
#include "core/pg/pg_session.h"
#include "core/pg/pg_url.h"
#include "core/sinks/postgres/catalog.h"
#include "core/sinks/postgres/postgres_encoder.h"
#include "core/sinks/postgres/session_name.h"

#include <absl/strings/str_cat.h>

#include <array>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

constexpr absl::Duration kOpenTime = absl::Seconds(30);

// One open, step by step.
// Threads: confined to the call that made it.
class Opening {
 public:
  Opening(const PostgresSinkConfig& config, const OutputOpen& open,
          const TableName& table, const ProgressTable& progress,
          PgConnection& connection, absl::Time deadline)
      : config_(config),
        open_(open),
        table_(table),
        progress_(progress),
        connection_(connection),
        deadline_(deadline) {}

  absl::StatusOr<RowPlan> Plan() {
    ASSIGN_OR_RETURN(std::optional<PgTable> found,
                     ReadTable(connection_, table_, deadline_));
    if (!found.has_value() && config_.create_table) {
      ASSIGN_OR_RETURN(const std::string sql,
                       CreateTableSql(config_, table_, open_.schema));
      RETURN_IF_ERROR(MakeTable(connection_, table_, sql, deadline_));
      ASSIGN_OR_RETURN(found, ReadTable(connection_, table_, deadline_));
    }
    if (!found.has_value()) {
      return MissingTable(table_, "sink.postgres.table");
    }
    return PlanRows(config_, table_, open_.schema, *found);
  }

  // Leaves everybody undisturbed where we have no business.
  absl::Status CheckProgress() {
    absl::Status checked = progress_.Check(connection_, deadline_);
    if (!HasReason(checked, Reason::NOT_FOUND) || !config_.create_table) {
      return checked;
    }
    RETURN_IF_ERROR(progress_.Create(connection_, deadline_));
    return progress_.Check(connection_, deadline_);
  }

  absl::StatusOr<std::vector<Step>> Take() {
    while (true) {
      RETURN_IF_ERROR(EndLowerSessions());
      ASSIGN_OR_RETURN(std::optional<std::vector<Step>> taken,
                       progress_.Take(connection_, deadline_));
      // A lower writer's session that came up in between holds a row: it is
      // ended next. The deadline ends this.
      if (taken.has_value()) return *std::move(taken);
    }
  }

  absl::Status EndLowerSessions() {
    const std::string prefix = SessionPrefix(open_);
    const std::array params = {PgParam::Text(prefix)};
    ASSIGN_OR_RETURN(
        const PgResult result,
        connection_.Exec(
            "SELECT pid, (extract(epoch FROM backend_start) * 1000000)::bigint,"
            " application_name FROM pg_stat_activity"
            " WHERE datname = current_database()"
            "   AND starts_with(application_name, $1)",
            params, deadline_),
        _ << "while looking for sessions of an earlier writer");
    std::vector<PgSession> lower;
    for (size_t row = 0; row < result.rows(); ++row) {
      const std::optional<Writer> writer =
          ParseSessionName(result.Text(row, 2), prefix);
      if (!writer.has_value() || !(*writer < open_.writer)) continue;
      PgSession session;
      ASSIGN_OR_RETURN(const int64_t pid, result.Int64(row, 0));
      session.pid = static_cast<int32_t>(pid);
      ASSIGN_OR_RETURN(session.started_us, result.Int64(row, 1));
      lower.push_back(session);
    }
    return EndSessions(connection_, lower, deadline_);
  }

 private:
  const PostgresSinkConfig& config_;
  const OutputOpen& open_;
  const TableName& table_;
  const ProgressTable& progress_;
  PgConnection& connection_;
  const absl::Time deadline_;
};

}  // namespace

absl::Status MissingTable(const TableName& table, absl::string_view field) {
  return MakeError(
      Reason::NOT_FOUND,
      absl::StrCat("postgres sink: there is no table ", table.ToString(),
                   " that this role can see; make it, or set create_table"),
      {{"field", std::string(field)}});
}

absl::StatusOr<std::unique_ptr<OutputTarget>> MakePostgresSink(
    const ComponentConfig& config, const Environment& environment) {
  CHECK(config.type() == "postgres");
  const auto& postgres = static_cast<const PostgresSinkConfig&>(config);
  RETURN_IF_ERROR(CheckPostgresConfig(postgres));
  return std::make_unique<PostgresSink>(postgres, environment);
}

PostgresSink::PostgresSink(PostgresSinkConfig config,
                           const Environment& environment)
    : config_(std::move(config)), environment_(environment) {}

std::optional<FtModel> PostgresSink::FaultTolerance() const {
  return FtModel::kExactlyOnce;
}

absl::StatusOr<std::vector<Step>> PostgresSink::Open(const OutputOpen& open) {
  absl::StatusOr<std::vector<Step>> opened = TryOpen(open);
  if (!opened.ok()) return NotOfARow(opened.status());
  return opened;
}

absl::StatusOr<std::vector<Step>> PostgresSink::TryOpen(
    const OutputOpen& open) {
  // A moved secret is found by the next open: it is read here.
  ASSIGN_OR_RETURN(
      const Conninfo conninfo,
      ResolvePgUrl(config_.url, environment_.files, environment_.paths));
  ASSIGN_OR_RETURN(const TableName table,
                   TableName::Parse(config_.table, "sink.postgres.table"));
  ASSIGN_OR_RETURN(
      const TableName progress_name,
      TableName::Parse(config_.progress_table, "sink.postgres.progress_table"));
  const ProgressTable progress(progress_name, open);
  const absl::Time deadline = environment_.clock.SteadyNow() + kOpenTime;
  ASSIGN_OR_RETURN(
      const std::unique_ptr<PgConnection> connection,
      PgConnection::Connect(
          conninfo, PgOptionsOf(config_, SessionName(open, std::nullopt)),
          environment_.clock, deadline));
  Opening opening(config_, open, table, progress, *connection, deadline);
  const bool exactly_once = open.level == FtModel::kExactlyOnce;
  if (exactly_once) {
    RETURN_IF_ERROR(opening.CheckProgress());
  }
  ASSIGN_OR_RETURN(RowPlan plan, opening.Plan());
  progress_.clear();
  if (exactly_once) {
    ASSIGN_OR_RETURN(progress_, opening.Take());
  } else {
    RETURN_IF_ERROR(opening.EndLowerSessions());
  }
  writing_ = std::make_shared<const PostgresWriting>(
      PostgresWriting{.config = config_,
                      .conninfo = conninfo,
                      .open = open,
                      .table = table,
                      .plan = std::make_shared<const RowPlan>(std::move(plan)),
                      .progress = progress,
                      .clock = environment_.clock});
  return progress_;
}

std::unique_ptr<RowEncoder> PostgresSink::MakeEncoder() const {
  CHECK(writing_ != nullptr) << "before Open";
  return std::make_unique<PostgresEncoder>(writing_->plan);
}

absl::StatusOr<std::unique_ptr<OutputEndpoint>> PostgresSink::MakeEndpoint(
    ShardIndex shard) {
  CHECK(writing_ != nullptr) << "before Open";
  CHECK_LT(shard, writing_->open.shards);
  return std::make_unique<PostgresEndpoint>(
      writing_, shard, progress_.empty() ? 0 : progress_[shard]);
}

absl::Status PostgresSink::Close() { return absl::OkStatus(); }

}  // namespace penstock::core
