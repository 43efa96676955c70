#include "core/sinks/postgres/progress_table.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"
#include "core/pg/pg_error.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <array>
#include <span>
#include <utility>

namespace penstock::core {
namespace {

// bigint is signed.
constexpr uint64_t kNumberMax = INT64_MAX;
// The row of a shard, if this writer still has it.
constexpr absl::string_view kMine =
    " WHERE pipeline = $1 AND connector = $2 AND shard = $3"
    " AND incarnation = $4 AND epoch = $5 AND open_number = $6";

// Held by another session; made by another first open at the same time; both
// wait for each other.
bool IsConflict(const absl::Status& error) {
  const std::optional<std::string> sqlstate = SqlStateOf(error);
  return sqlstate == "55P03" || sqlstate == "23505" || sqlstate == "40P01";
}

std::string ToText(const Writer& writer) {
  return absl::StrCat(writer.epoch, ".", writer.open_number);
}

}  // namespace

ProgressTable::ProgressTable(TableName name, OutputOpen open)
    : name_(std::move(name)), open_(std::move(open)) {}

std::string ProgressTable::CreateSql() const {
  return absl::StrCat(
      "CREATE TABLE IF NOT EXISTS ", name_.Quoted(),
      " (pipeline text NOT NULL, connector text NOT NULL,"
      " shard bigint NOT NULL, incarnation text NOT NULL,"
      " epoch bigint NOT NULL, open_number bigint NOT NULL,"
      " steps bigint NOT NULL, shards bigint NOT NULL,"
      " updated_at timestamptz NOT NULL DEFAULT now(),"
      " PRIMARY KEY (pipeline, connector, shard)) WITH (fillfactor = 50)");
}

absl::Status ProgressTable::Create(PgConnection& connection,
                                   absl::Time deadline) const {
  return MakeTable(connection, name_, CreateSql(), deadline);
}

absl::StatusOr<std::vector<ProgressTable::Row>> ProgressTable::ReadRows(
    PgConnection& connection, absl::string_view suffix,
    absl::Time deadline) const {
  const std::array params = {PgParam::Text(open_.pipeline),
                             PgParam::Text(open_.connector)};
  ASSIGN_OR_RETURN(
      const PgResult result,
      connection.Exec(
          absl::StrCat("SELECT shard, incarnation, epoch, open_number, steps,"
                       " shards FROM ",
                       name_.Quoted(),
                       " WHERE pipeline = $1 AND connector = $2", suffix),
          params, deadline),
      _ << "while reading the progress in " << name_.ToString());
  std::vector<Row> rows;
  for (size_t i = 0; i < result.rows(); ++i) {
    Row row;
    ASSIGN_OR_RETURN(const uint64_t shard, result.Uint64(i, 0));
    row.shard = static_cast<uint32_t>(shard);
    row.incarnation = std::string(result.Text(i, 1));
    ASSIGN_OR_RETURN(row.writer.epoch, result.Uint64(i, 2));
    ASSIGN_OR_RETURN(row.writer.open_number, result.Uint64(i, 3));
    ASSIGN_OR_RETURN(row.steps, result.Uint64(i, 4));
    ASSIGN_OR_RETURN(const uint64_t shards, result.Uint64(i, 5));
    row.shards = static_cast<uint32_t>(shards);
    rows.push_back(std::move(row));
  }
  return rows;
}

absl::Status ProgressTable::CheckRow(const Row& row) const {
  if (row.incarnation != open_.incarnation) {
    return MakeError(
        Reason::FOREIGN_PROGRESS,
        absl::StrCat(
            name_.ToString(), " has the progress of connector ",
            open_.connector, " of pipeline ", open_.pipeline,
            " for incarnation ", row.incarnation, ", and this is ",
            open_.incarnation,
            ": the controller's state is another one. Restore the state; or "
            "give the pipeline another name; or, if the rows may come again, "
            "DELETE FROM ",
            name_.Quoted(),
            " WHERE pipeline = ", PgConnection::QuoteLiteral(open_.pipeline),
            " AND connector = ", PgConnection::QuoteLiteral(open_.connector)),
        {{"incarnation", row.incarnation},
         {"pipeline", open_.pipeline},
         {"connector", open_.connector}});
  }
  if (open_.writer < row.writer) {
    return MakeError(
        Reason::WRITER_FENCED,
        absl::StrCat("writer ", ToText(open_.writer), " of connector ",
                     open_.connector, " is fenced in ", name_.ToString(),
                     " by writer ", ToText(row.writer),
                     "; assert the epoch, then reopen with a higher writer"),
        {{"writer", ToText(open_.writer)},
         {"higher_writer", ToText(row.writer)}});
  }
  return absl::OkStatus();
}

absl::Status ProgressTable::CheckRows(const std::vector<Row>& rows) const {
  for (const Row& row : rows) {
    RETURN_IF_ERROR(CheckRow(row));
    if (open_.writer != row.writer) continue;
    return MakeError(
        Reason::WRITER_FENCED,
        absl::StrCat("writer ", ToText(open_.writer), " of connector ",
                     open_.connector, " was used before, says ",
                     name_.ToString(), "; reopen with a higher writer"),
        {{"writer", ToText(open_.writer)}});
  }
  return CheckShards(rows);
}

absl::Status ProgressTable::CheckShards(const std::vector<Row>& rows) const {
  if (rows.empty()) return open_.first_open ? absl::OkStatus() : Lost();
  // The one that is missing may have been ahead of all others.
  for (size_t i = 0; i < rows.size(); ++i) {
    if (rows[i].shard != i || rows[i].shards != rows.size()) return Lost();
  }
  if (rows.size() == open_.shards) return absl::OkStatus();
  return CheckReshard(rows);
}

absl::Status ProgressTable::Lost() const {
  return MakeError(
      Reason::PROGRESS_LOST,
      absl::StrCat(name_.ToString(),
                   " does not hold the progress of all shards of connector ",
                   open_.connector, " of pipeline ", open_.pipeline,
                   ", though it was opened before: rows were deleted, the "
                   "database was replaced, or the connector last ran below "
                   "exactly-once. Restore it; or start anew with another "
                   "connector name and an empty table"),
      {{"connector", open_.connector}});
}

absl::Status ProgressTable::Check(PgConnection& connection,
                                  absl::Time deadline) const {
  if (open_.writer.epoch > kNumberMax ||
      open_.writer.open_number > kNumberMax || open_.base_steps > kNumberMax) {
    return MakeError(Reason::INVALID_REQUEST,
                     "postgres sink: a writer's and a step's numbers are below "
                     "2^63");
  }
  const absl::StatusOr<std::vector<Row>> rows =
      ReadRows(connection, "", deadline);
  if (rows.ok()) return CheckRows(*rows);
  const std::optional<std::string> sqlstate = SqlStateOf(rows.status());
  if (sqlstate == "42703") {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("postgres sink: ", name_.ToString(),
                     " is not a progress table of this version, "
                     "which is made by ",
                     CreateSql(), "; alter it, or name another one"),
        {{"field", "sink.postgres.progress_table"}});
  }
  if (sqlstate != "42P01" && sqlstate != "3F000") return rows.status();
  if (!open_.first_open) return Lost();
  return MakeError(Reason::NOT_FOUND,
                   absl::StrCat("postgres sink: there is no progress table ",
                                name_.ToString(),
                                ", which exactly-once needs; set create_table, "
                                "or have it made: ",
                                CreateSql()),
                   {{"field", "sink.postgres.progress_table"}});
}

absl::StatusOr<std::optional<std::vector<Step>>> ProgressTable::Take(
    PgConnection& connection, absl::Time deadline) const {
  // Short, for what holds a lock is to be ended rather than waited for.
  RETURN_IF_ERROR(
      connection.Exec("BEGIN; SET LOCAL lock_timeout = '1s'", deadline));
  absl::StatusOr<std::optional<std::vector<Step>>> taken =
      TakeRows(connection, deadline);
  if (taken.ok() && taken->has_value()) {
    absl::Status committed = connection.Commit(deadline);
    if (committed.ok()) return taken;
    taken = std::move(committed);
  }
  if (connection.is_open()) connection.Reset(deadline).IgnoreError();
  if (!taken.ok() && IsConflict(taken.status())) return std::nullopt;
  return taken;
}

absl::StatusOr<std::optional<std::vector<Step>>> ProgressTable::TakeRows(
    PgConnection& connection, absl::Time deadline) const {
  ASSIGN_OR_RETURN(
      const std::vector<Row> rows,
      ReadRows(connection, " ORDER BY shard FOR UPDATE", deadline));
  RETURN_IF_ERROR(CheckRows(rows));
  std::vector<Step> steps(open_.shards, open_.base_steps);
  if (rows.size() == open_.shards) {
    for (const Row& row : rows) steps[row.shard] = row.steps;
  }
  // The rows of all shards, and of no other, as this writer's.
  std::vector<PgParam> params = Mine(open_.shards);
  RETURN_IF_ERROR(connection.Exec(
      absl::StrCat("DELETE FROM ", name_.Quoted(),
                   " WHERE pipeline = $1 AND connector = $2 AND shard >= $3"),
      std::span(params).first(3), deadline));
  params.push_back(PgParam::Uint(open_.base_steps));
  // The rows of another first open, which could not be seen and locked above,
  // are left alone: the next look finds who that is.
  ASSIGN_OR_RETURN(
      const PgResult taken,
      connection.Exec(
          absl::StrCat("INSERT INTO ", name_.Quoted(),
                       " AS p (pipeline, connector, shard, incarnation, epoch,"
                       " open_number, steps, shards)"
                       " SELECT $1, $2, s, $4, $5::bigint, $6::bigint,"
                       " $7::bigint, $3::bigint"
                       " FROM generate_series(0, $3::bigint - 1)"
                       " AS s ON CONFLICT (pipeline, connector, shard)"
                       " DO UPDATE SET epoch = EXCLUDED.epoch,"
                       " open_number = EXCLUDED.open_number,"
                       " shards = EXCLUDED.shards, updated_at = now()"
                       " WHERE p.incarnation = EXCLUDED.incarnation"
                       " AND (p.epoch, p.open_number) <"
                       " (EXCLUDED.epoch, EXCLUDED.open_number)"),
          params, deadline),
      _ << "while taking the progress in " << name_.ToString());
  if (taken.affected() != open_.shards) return std::nullopt;
  return steps;
}

absl::Status ProgressTable::CheckReshard(const std::vector<Row>& rows) const {
  for (const Row& row : rows) {
    if (row.steps == open_.base_steps) continue;
    const bool behind = row.steps < open_.base_steps;
    return MakeError(
        behind ? Reason::PROGRESS_BEHIND : Reason::PROGRESS_AHEAD,
        absl::StrCat(name_.ToString(), " holds the progress of ", rows.size(),
                     " shards, and ", open_.shards,
                     " are wanted; their number can change only where all "
                     "stand at the checkpoint, ",
                     open_.base_steps, ", and shard ", row.shard, " is at ",
                     row.steps,
                     "; open it with the old number, and take a checkpoint"),
        {{"shard", absl::StrCat(row.shard)},
         {"progress", absl::StrCat(row.steps)},
         {"base_steps", absl::StrCat(open_.base_steps)}});
  }
  return absl::OkStatus();
}

std::vector<PgParam> ProgressTable::Mine(ShardIndex shard) const {
  return {PgParam::Text(open_.pipeline),
          PgParam::Text(open_.connector),
          PgParam::Uint(shard),
          PgParam::Text(open_.incarnation),
          PgParam::Uint(open_.writer.epoch),
          PgParam::Uint(open_.writer.open_number)};
}

absl::StatusOr<bool> ProgressTable::Move(PgConnection& connection,
                                         ShardIndex shard, StepRange steps,
                                         absl::Time deadline) const {
  std::vector<PgParam> params = Mine(shard);
  params.push_back(PgParam::Uint(steps.begin));
  params.push_back(PgParam::Uint(steps.end));
  const absl::StatusOr<PgResult> moved =
      connection.Exec(absl::StrCat("UPDATE ", name_.Quoted(),
                                   " SET steps = $8, updated_at = now()", kMine,
                                   " AND steps = $7"),
                      params, deadline);
  if (moved.ok()) return moved->affected() == 1;
  return WithContext(
      NotOfARow(moved.status()),
      absl::StrCat("while moving the progress in ", name_.ToString()));
}

absl::StatusOr<Step> ProgressTable::Confirm(PgConnection& connection,
                                            ShardIndex shard,
                                            absl::Time deadline) const {
  const std::vector<PgParam> params = Mine(shard);
  const absl::StatusOr<PgResult> row = connection.Exec(
      absl::StrCat("UPDATE ", name_.Quoted(), " SET updated_at = now()", kMine,
                   " RETURNING steps"),
      params, deadline);
  if (row.ok() && row->rows() == 1) return row->Uint64(0, 0);
  if (row.ok()) return Explain(connection, shard, std::nullopt, deadline);
  if (SqlStateOf(row.status()) == "42P01") return Lost();
  return WithContext(
      NotOfARow(row.status()),
      absl::StrCat("while confirming the progress in ", name_.ToString()));
}

absl::Status ProgressTable::Explain(PgConnection& connection, ShardIndex shard,
                                    std::optional<Step> expected,
                                    absl::Time deadline) const {
  const absl::StatusOr<std::vector<Row>> rows =
      ReadRows(connection, absl::StrCat(" AND shard = ", shard), deadline);
  RETURN_IF_ERROR(rows.status());
  if (rows->empty()) return Lost();
  const Row& row = rows->front();
  RETURN_IF_ERROR(CheckRow(row));
  // Lower than ours, which had taken it: somebody has set the row back.
  if (row.writer != open_.writer) return Lost();
  if (!expected.has_value() || row.steps == *expected) {
    return MakeError(Reason::UNAVAILABLE,
                     absl::StrCat("the progress of shard ", shard, " in ",
                                  name_.ToString(), " changes all the time"));
  }
  // Ours, and not where we left it, though nobody else passes the fence.
  return MakeError(
      row.steps > *expected ? Reason::PROGRESS_AHEAD : Reason::PROGRESS_BEHIND,
      absl::StrCat("the progress of shard ", shard, " in ", name_.ToString(),
                   " is ", row.steps, ", and this writer left it at ",
                   *expected, ": somebody else has changed the row"),
      {{"shard", absl::StrCat(shard)}, {"progress", absl::StrCat(row.steps)}});
}

}  // namespace penstock::core
