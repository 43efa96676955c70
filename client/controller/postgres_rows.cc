#include "client/controller/postgres_rows.h"

#include "client/controller/postgres_schema.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/substitute.h>

#include <array>
#include <utility>

namespace penstock::client {
namespace {

using core::PgParam;
using core::PgResult;

// An answer's rows, and the bytes in them beyond which it takes no other row.
constexpr int kStepRowsMax = 1'000;
constexpr int kChecksumRowsMax = 20'000;

constexpr absl::string_view kStepColumns =
    "connector, step, checksum, records, bytes, resume_kind, seek, replay, "
    "resume_hash, position_complete, hash_value, hash_count, watermarks, "
    "transaction_started, transaction_committed, transaction_label, "
    "end_of_input, stopped_because, skipped_records";

// Of what is long, as it is, though an answer has it in hexadecimal.
constexpr absl::string_view kBytesOfStep =
    " octet_length(watermarks) + coalesce(octet_length(seek), 0)"
    " + coalesce(octet_length(replay), 0)";

// $0 is the schema. What this statement does when the header's row is locked by
// another: it waits, looks at the row again, and finds nothing if it is another
// header by then. Everything else hangs on what it found.
// Source: "Read Committed Isolation Level",
// https://www.postgresql.org/docs/15/transaction-iso.html
constexpr absl::string_view kWriteSql = R"(
WITH lead AS MATERIALIZED (
  SELECT pipeline FROM $0.pipelines
   WHERE pipeline = $$1 AND epoch = $$2::numeric AND leader = $$3
     AND commits = $$4::numeric
     FOR UPDATE),
trimmed AS (
  DELETE FROM $0.journal j USING lead,
         json_to_recordset($$5) AS t (connector text, steps numeric)
   WHERE j.pipeline = lead.pipeline AND j.connector = t.connector
     AND j.step < t.steps),
written AS (
  INSERT INTO $0.connectors
  SELECT lead.pipeline, c.* FROM lead, json_to_recordset($$6) AS c (
         connector text, spec bytea, opened boolean, position bytea,
         base_steps numeric, reserved_steps numeric, open_number numeric,
         user_paused boolean, checksum numeric)
  ON CONFLICT (pipeline, connector) DO UPDATE SET
         spec = excluded.spec, opened = excluded.opened,
         position = excluded.position, base_steps = excluded.base_steps,
         reserved_steps = excluded.reserved_steps,
         open_number = excluded.open_number,
         user_paused = excluded.user_paused, checksum = excluded.checksum),
added AS (
  INSERT INTO $0.journal
  SELECT lead.pipeline, s.* FROM lead, json_to_recordset($$7) AS s (
         connector text, step numeric, checksum numeric, records numeric,
         bytes numeric, resume_kind numeric, seek bytea, replay bytea,
         resume_hash numeric, position_complete boolean, hash_value numeric,
         hash_count numeric, watermarks bytea, transaction_started boolean,
         transaction_committed boolean, transaction_label bytea,
         end_of_input boolean, stopped_because numeric,
         skipped_records numeric))
UPDATE $0.pipelines p
   SET commits = $$8::numeric, digest = $$9::numeric, checksum = $$10::numeric
  FROM lead WHERE p.pipeline = lead.pipeline)";

// The lease is locked, so that nobody takes it meanwhile.
constexpr absl::string_view kReplaceSql = R"(
WITH lease AS MATERIALIZED (
  SELECT pipeline FROM $0.leases
   WHERE pipeline = $$1 AND ($$9 = '' OR holder = $$9) FOR SHARE)
UPDATE $0.pipelines p
   SET epoch = $$5::numeric, leader = $$6, commits = $$7::numeric,
       checksum = $$8::numeric
  FROM lease
 WHERE p.pipeline = lease.pipeline AND p.epoch = $$2::numeric
   AND p.leader = $$3 AND p.commits = $$4::numeric)";

std::string InSchema(absl::string_view sql) {
  return absl::Substitute(sql, kPostgresSchema);
}

// The columns of one row, in order; after the first error nothing is read.
// Owner: a scope.
class RowReader {
 public:
  RowReader(const PgResult& result, size_t row) : result_(result), row_(row) {}

  std::string Text() { return std::string(result_.Text(row_, column_++)); }
  bool Bool() { return result_.Bool(row_, column_++); }
  uint64_t Number() { return Take(result_.Uint64(row_, column_++)); }
  std::string Bytes() { return Take(result_.Bytes(row_, column_++)); }
  bool NextIsNull() const { return result_.IsNull(row_, column_); }
  std::optional<std::string> OptionalBytes() {
    if (!NextIsNull()) return Bytes();
    ++column_;
    return std::nullopt;
  }
  void Skip() { ++column_; }
  absl::Status status() const { return status_; }

 private:
  template <typename T>
  T Take(absl::StatusOr<T> value) {
    if (value.ok()) return *std::move(value);
    if (status_.ok()) status_ = DamagedStore(value.status().message());
    return T();
  }

  const PgResult& result_;
  const size_t row_;
  size_t column_ = 0;
  absl::Status status_;
};

StepRow GetStep(RowReader& row) {
  StepRow step;
  step.records = row.Number();
  step.bytes = row.Number();
  step.resume_kind = row.Number();
  step.seek = row.OptionalBytes();
  step.replay = row.OptionalBytes();
  step.resume_hash = row.Number();
  step.position_complete = row.Bool();
  if (row.NextIsNull()) {
    row.Skip();
    row.Skip();
  } else {
    const uint64_t value = row.Number();
    step.hash = {.value = value, .count = row.Number()};
  }
  step.watermarks = row.Bytes();
  step.transaction_started = row.Bool();
  step.transaction_committed = row.Bool();
  step.transaction_label = row.OptionalBytes();
  step.end_of_input = row.Bool();
  step.stopped_because = row.Number();
  step.skipped_records = row.Number();
  return step;
}

}  // namespace

absl::StatusOr<std::optional<StoreHeader>> PostgresPipeline::FindHeader() {
  const std::array params = {PgParam::Text(name_)};
  ASSIGN_OR_RETURN(
      const PgResult found,
      connection_.Exec(
          InSchema("SELECT incarnation, epoch, leader, commits, digest, "
                   "checksum FROM $0.pipelines WHERE pipeline = $$1"),
          params, deadlines_.Next()));
  if (found.rows() == 0) return std::optional<StoreHeader>();
  RowReader row(found, 0);
  StoreHeader header;
  header.incarnation = row.Text();
  header.epoch = row.Number();
  header.leader = row.Text();
  header.commits = row.Number();
  header.digest = row.Number();
  const uint64_t checksum = row.Number();
  RETURN_IF_ERROR(row.status());
  if (checksum != ChecksumOf(header)) {
    return DamagedStore(absl::StrCat("the header of pipeline '", name_,
                                     "' does not match its checksum"));
  }
  return std::optional<StoreHeader>(std::move(header));
}

absl::StatusOr<StoreHeader> PostgresPipeline::ReadHeader() {
  ASSIGN_OR_RETURN(std::optional<StoreHeader> header, FindHeader());
  if (header.has_value()) return *std::move(header);
  return DamagedStore(
      absl::StrCat("the header of pipeline '", name_, "' is missing"));
}

absl::Status PostgresPipeline::InsertHeader(const StoreHeader& header) {
  // What is left of a pipeline whose header was lost must not be taken for
  // nothing; one that somebody made meanwhile is not in this way.
  const std::array params = {PgParam::Text(name_),
                             PgParam::Text(header.incarnation),
                             PgParam::Uint(ChecksumOf(header))};
  RETURN_IF_ERROR(connection_.Exec(InSchema(R"(
WITH rest AS (
  SELECT 1 FROM $0.connectors WHERE pipeline = $$1 UNION ALL
  SELECT 1 FROM $0.journal WHERE pipeline = $$1 UNION ALL
  SELECT 1 FROM $0.leases WHERE pipeline = $$1),
made AS (
  INSERT INTO $0.pipelines
  SELECT $$1, $$2::text, 0, '', 0, 0, $$3::numeric
   WHERE NOT EXISTS (SELECT FROM rest)
  ON CONFLICT DO NOTHING RETURNING pipeline)
INSERT INTO $0.leases
SELECT pipeline, '', '', interval '0', '-infinity'::timestamptz FROM made
ON CONFLICT DO NOTHING)"),
                                   params, deadlines_.Next()));
  ASSIGN_OR_RETURN(const std::optional<StoreHeader> found, FindHeader());
  if (found.has_value()) return absl::OkStatus();
  return DamagedStore(absl::StrCat(
      "pipeline '", name_,
      "' has rows, but its header is gone; restore them all from a backup"));
}

absl::StatusOr<bool> PostgresPipeline::ReplaceHeader(
    const StoreHeader& from, const StoreHeader& to, const std::string& holder) {
  const std::array params = {
      PgParam::Text(name_),       PgParam::Uint(from.epoch),
      PgParam::Text(from.leader), PgParam::Uint(from.commits),
      PgParam::Uint(to.epoch),    PgParam::Text(to.leader),
      PgParam::Uint(to.commits),  PgParam::Uint(ChecksumOf(to)),
      PgParam::Text(holder)};
  ASSIGN_OR_RETURN(
      const PgResult replaced,
      connection_.Exec(InSchema(kReplaceSql), params, deadlines_.Next()));
  return replaced.affected() == 1;
}

absl::StatusOr<bool> PostgresPipeline::Write(const StoreHeader& from,
                                             const PostgresChange& change) {
  const StoreHeader to = change.header();
  const std::array params = {PgParam::Text(name_),
                             PgParam::Uint(from.epoch),
                             PgParam::Text(from.leader),
                             PgParam::Uint(from.commits),
                             PgParam::Text(change.TrimsJson()),
                             PgParam::Text(change.ConnectorsJson()),
                             PgParam::Text(change.StepsJson()),
                             PgParam::Uint(to.commits),
                             PgParam::Uint(to.digest),
                             PgParam::Uint(ChecksumOf(to))};
  ASSIGN_OR_RETURN(
      const PgResult written,
      connection_.Exec(InSchema(kWriteSql), params, deadlines_.Next()));
  return written.affected() == 1;
}

absl::Status PostgresPipeline::BeginSnapshot() {
  return connection_
      .Exec("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY",
            deadlines_.Next())
      .status();
}

absl::Status PostgresPipeline::EndSnapshot() {
  return connection_.Commit(deadlines_.Next());
}

template <typename Take>
absl::Status PostgresPipeline::ForEachStep(const StepPage& page_of, Take take) {
  const std::string sql = InSchema(absl::StrCat(
      "SELECT ", page_of.columns,
      " FROM (SELECT *, sum(bytes_long) OVER (ORDER BY connector, step)"
      " - bytes_long AS bytes_before FROM (SELECT *,",
      page_of.bytes_of_row,
      " AS bytes_long FROM $0.journal WHERE pipeline = $$1"
      " AND ($$2::text IS NULL OR (connector, step) > ($$2, $$3::numeric))"
      " ORDER BY connector, step LIMIT ",
      page_of.rows_max,
      ") AS rows) AS page WHERE bytes_before = 0 OR bytes_before + bytes_long "
      "<= ",
      kJournalBytesMax, " ORDER BY connector, step"));
  std::optional<std::string> connector;
  uint64_t step = 0;
  while (true) {
    const std::array params = {
        PgParam::Text(name_),
        connector.has_value() ? PgParam::Text(*connector) : PgParam::Null(),
        PgParam::Uint(step)};
    ASSIGN_OR_RETURN(const PgResult page,
                     connection_.Exec(sql, params, deadlines_.Next()));
    for (size_t i = 0; i < page.rows(); ++i) {
      RowReader row(page, i);
      connector = row.Text();
      step = row.Number();
      const uint64_t checksum = row.Number();
      RETURN_IF_ERROR(row.status());
      RETURN_IF_ERROR(take(*connector, step, checksum, row));
    }
    if (page.rows() == 0) return absl::OkStatus();
  }
}

absl::StatusOr<KnownRows> PostgresPipeline::ReadKnown(
    const StoreHeader& header) {
  KnownRows known;
  known.header = header;
  uint64_t digest = 0;
  const std::array params = {PgParam::Text(name_)};
  ASSIGN_OR_RETURN(
      const PgResult found,
      connection_.Exec(
          InSchema("SELECT connector, spec, opened, position, base_steps, "
                   "reserved_steps, open_number, user_paused, checksum "
                   "FROM $0.connectors WHERE pipeline = $$1"),
          params, deadlines_.Next()));
  for (size_t i = 0; i < found.rows(); ++i) {
    RowReader row(found, i);
    const std::string name = row.Text();
    StoredConnector connector;
    connector.spec_bytes = row.Bytes();
    connector.opened = row.Bool();
    connector.position = row.OptionalBytes();
    connector.base_steps = row.Number();
    connector.reserved_steps = row.Number();
    connector.open_number = row.Number();
    connector.user_paused = row.Bool();
    const uint64_t checksum = row.Number();
    RETURN_IF_ERROR(row.status());
    RETURN_IF_ERROR(CheckConnector(name, connector, checksum));
    digest += checksum;
    known.connectors[name] = std::move(connector);
  }
  RETURN_IF_ERROR(ForEachStep(
      {.columns = "connector, step, checksum", .rows_max = kChecksumRowsMax},
      [&](const std::string& connector, core::Step step, uint64_t checksum,
          const RowReader& /*row*/) {
        digest += checksum;
        known.steps[connector][step] = checksum;
        return absl::OkStatus();
      }));
  if (digest == header.digest) return known;
  return RowsAreMissing();
}

absl::StatusOr<std::map<std::string, StoredConnector>>
PostgresPipeline::ReadConnectors(const KnownRows& known) {
  RowCollector collector;
  for (const auto& [name, connector] : known.connectors) {
    RETURN_IF_ERROR(
        collector.AddConnector(name, connector, ChecksumOf(name, connector)));
  }
  const absl::Status all = ForEachStep(
      {.columns = kStepColumns,
       .rows_max = kStepRowsMax,
       .bytes_of_row = kBytesOfStep},
      [&](const std::string& connector, core::Step step, uint64_t checksum,
          RowReader& row) -> absl::Status {
        StepRow read = GetStep(row);
        read.step = step;
        RETURN_IF_ERROR(row.status());
        return collector.AddStep(connector, std::move(read), checksum);
      });
  RETURN_IF_ERROR(all);
  return std::move(collector).Finish(known.header);
}

}  // namespace penstock::client
