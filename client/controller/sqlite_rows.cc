#include "client/controller/sqlite_rows.h"

#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <cstdint>
#include <utility>

namespace penstock::client {
namespace {

constexpr absl::string_view kConnectorColumns =
    "name, spec, opened, position, base_steps, reserved_steps, open_number, "
    "user_paused, checksum";
constexpr int kChecksumAt = 8;

// Reads a row of kConnectorColumns.
StoredConnector GetConnector(const SqliteStatement& row) {
  StoredConnector connector;
  connector.spec_bytes = row.GetBytes(1);
  connector.opened = row.GetBool(2);
  connector.position = row.GetOptionalBytes(3);
  connector.base_steps = row.GetNumber(4);
  connector.reserved_steps = row.GetNumber(5);
  connector.open_number = row.GetNumber(6);
  connector.user_paused = row.GetBool(7);
  return connector;
}

StepRow GetStep(const SqliteStatement& row) {
  StepRow step;
  step.step = row.GetNumber(1);
  step.records = row.GetNumber(3);
  step.bytes = row.GetNumber(4);
  step.resume_kind = row.GetNumber(5);
  step.seek = row.GetOptionalBytes(6);
  step.replay = row.GetOptionalBytes(7);
  step.resume_hash = row.GetNumber(8);
  step.position_complete = row.GetBool(9);
  if (!row.IsNull(10)) {
    step.hash = {.value = row.GetNumber(10), .count = row.GetNumber(11)};
  }
  step.watermarks = row.GetBytes(12);
  step.transaction_started = row.GetBool(13);
  step.transaction_committed = row.GetBool(14);
  step.transaction_label = row.GetOptionalBytes(15);
  step.end_of_input = row.GetBool(16);
  step.stopped_because = row.GetNumber(17);
  step.skipped_records = row.GetNumber(18);
  return step;
}

}  // namespace

const std::map<std::string, std::string>& SqliteTables() {
  static const auto& tables = *new std::map<std::string, std::string>{
      {"connectors",
       "CREATE TABLE connectors (name TEXT PRIMARY KEY, spec BLOB NOT NULL, "
       "opened INTEGER NOT NULL, position BLOB, base_steps INTEGER NOT NULL, "
       "reserved_steps INTEGER NOT NULL, open_number INTEGER NOT NULL, "
       "user_paused INTEGER NOT NULL, checksum INTEGER NOT NULL) STRICT, "
       "WITHOUT ROWID"},
      {"header",
       "CREATE TABLE header (id INTEGER PRIMARY KEY CHECK (id = 1), "
       "incarnation TEXT NOT NULL, epoch INTEGER NOT NULL, leader TEXT NOT "
       "NULL, commits INTEGER NOT NULL, digest INTEGER NOT NULL, checksum "
       "INTEGER NOT NULL) STRICT"},
      // The checksum stands first, where trimming finds it without reading
      // what is long.
      {"journal",
       "CREATE TABLE journal (connector TEXT NOT NULL, step INTEGER NOT NULL, "
       "checksum INTEGER NOT NULL, records INTEGER NOT NULL, bytes INTEGER "
       "NOT NULL, resume_kind INTEGER NOT NULL, seek BLOB, replay BLOB, "
       "resume_hash INTEGER NOT NULL, position_complete INTEGER NOT NULL, "
       "hash_value INTEGER, hash_count INTEGER, watermarks BLOB NOT NULL, "
       "transaction_started INTEGER NOT NULL, transaction_committed INTEGER "
       "NOT NULL, transaction_label BLOB, end_of_input INTEGER NOT NULL, "
       "stopped_because INTEGER NOT NULL, skipped_records INTEGER NOT NULL "
       "DEFAULT 0, PRIMARY KEY (connector, step)) "
       "STRICT, WITHOUT ROWID"},
  };
  return tables;
}

absl::StatusOr<StoreHeader> ReadHeader(SqliteDatabase& database) {
  ASSIGN_OR_RETURN(
      SqliteStatement row,
      database.Prepare("SELECT incarnation, epoch, leader, commits, digest, "
                       "checksum FROM header WHERE id = 1"));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  if (!found) return DamagedStore("its header row is missing");
  StoreHeader header;
  header.incarnation = row.GetBytes(0);
  header.epoch = row.GetNumber(1);
  header.leader = row.GetBytes(2);
  header.commits = row.GetNumber(3);
  header.digest = row.GetNumber(4);
  if (row.GetNumber(5) != ChecksumOf(header)) {
    return DamagedStore("its header row does not match its checksum");
  }
  return header;
}

absl::Status InsertHeader(SqliteDatabase& database, const StoreHeader& header) {
  ASSIGN_OR_RETURN(
      SqliteStatement insert,
      database.Prepare("INSERT INTO header VALUES (1, ?, ?, ?, ?, ?, ?)"));
  return insert.BindText(header.incarnation)
      .Bind(header.epoch)
      .BindText(header.leader)
      .Bind(header.commits)
      .Bind(header.digest)
      .Bind(ChecksumOf(header))
      .Run();
}

absl::Status UpdateHeader(SqliteDatabase& database, const StoreHeader& header) {
  ASSIGN_OR_RETURN(
      SqliteStatement update,
      database.Prepare("UPDATE header SET epoch = ?, leader = ?, commits = ?, "
                       "digest = ?, checksum = ? WHERE id = 1"));
  return update.Bind(header.epoch)
      .BindText(header.leader)
      .Bind(header.commits)
      .Bind(header.digest)
      .Bind(ChecksumOf(header))
      .Run();
}

absl::StatusOr<std::map<std::string, StoredConnector>> ReadConnectors(
    SqliteDatabase& database, const StoreHeader& header) {
  RowCollector collector;
  {
    ASSIGN_OR_RETURN(SqliteStatement row,
                     database.Prepare(absl::StrCat("SELECT ", kConnectorColumns,
                                                   " FROM connectors")));
    while (true) {
      ASSIGN_OR_RETURN(const bool found, row.Step());
      if (!found) break;
      RETURN_IF_ERROR(collector.AddConnector(row.GetBytes(0), GetConnector(row),
                                             row.GetNumber(kChecksumAt)));
    }
  }
  ASSIGN_OR_RETURN(SqliteStatement row,
                   database.Prepare("SELECT * FROM journal"));
  while (true) {
    ASSIGN_OR_RETURN(const bool found, row.Step());
    if (!found) break;
    RETURN_IF_ERROR(
        collector.AddStep(row.GetBytes(0), GetStep(row), row.GetNumber(2)));
  }
  return std::move(collector).Finish(header);
}

absl::StatusOr<std::optional<StoredConnector>> SqliteRows::ReadConnector(
    const std::string& name) {
  ASSIGN_OR_RETURN(SqliteStatement row,
                   database_.Prepare(absl::StrCat("SELECT ", kConnectorColumns,
                                                  " FROM connectors WHERE "
                                                  "name = ?")));
  ASSIGN_OR_RETURN(const bool found, row.BindText(name).Step());
  if (!found) return std::optional<StoredConnector>();
  StoredConnector connector = GetConnector(row);
  RETURN_IF_ERROR(CheckConnector(name, connector, row.GetNumber(kChecksumAt)));
  return std::optional<StoredConnector>(std::move(connector));
}

absl::Status SqliteRows::WriteConnector(const std::string& name,
                                        const StoredConnector& connector) {
  {
    ASSIGN_OR_RETURN(
        SqliteStatement old,
        database_.Prepare("SELECT checksum FROM connectors WHERE name = ?"));
    ASSIGN_OR_RETURN(const bool found, old.BindText(name).Step());
    if (found) digest_ -= old.GetNumber(0);
  }
  const uint64_t checksum = ChecksumOf(name, connector);
  ASSIGN_OR_RETURN(SqliteStatement write,
                   database_.Prepare(absl::StrCat(
                       "INSERT OR REPLACE INTO connectors (", kConnectorColumns,
                       ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")));
  digest_ += checksum;
  return write.BindText(name)
      .BindBlob(absl::string_view(connector.spec_bytes))
      .Bind(connector.opened)
      .BindBlob(connector.position)
      .Bind(connector.base_steps)
      .Bind(connector.reserved_steps)
      .Bind(connector.open_number)
      .Bind(connector.user_paused)
      .Bind(checksum)
      .Run();
}

absl::Status SqliteRows::InsertStep(const std::string& connector,
                                    const core::StepResult& result) {
  const StepRow row = ToStepRow(result);
  const uint64_t checksum = ChecksumOf(connector, row);
  {
    ASSIGN_OR_RETURN(SqliteStatement old,
                     database_.Prepare("SELECT checksum FROM journal WHERE "
                                       "connector = ? AND step = ?"));
    ASSIGN_OR_RETURN(const bool found,
                     old.BindText(connector).Bind(row.step).Step());
    if (found && old.GetNumber(0) == checksum) return absl::OkStatus();
    if (found) return OtherContent(connector, row.step);
  }
  ASSIGN_OR_RETURN(
      SqliteStatement insert,
      database_.Prepare("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
                        "?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
  insert.BindText(connector)
      .Bind(row.step)
      .Bind(checksum)
      .Bind(row.records)
      .Bind(row.bytes)
      .Bind(row.resume_kind)
      .BindBlob(row.seek)
      .BindBlob(row.replay)
      .Bind(row.resume_hash)
      .Bind(row.position_complete);
  if (row.hash.has_value()) {
    insert.Bind(row.hash->value).Bind(row.hash->count);
  } else {
    insert.BindNull().BindNull();
  }
  digest_ += checksum;
  return insert.BindBlob(absl::string_view(row.watermarks))
      .Bind(row.transaction_started)
      .Bind(row.transaction_committed)
      .BindBlob(row.transaction_label)
      .Bind(row.end_of_input)
      .Bind(row.stopped_because)
      .Bind(row.skipped_records)
      .Run();
}

absl::StatusOr<bool> SqliteRows::TrimSteps(const std::string& connector,
                                           core::Step steps) {
  // SQLite compares them with a sign: what has the highest bit is below zero.
  const std::string below = absl::StrCat(
      " FROM journal WHERE connector = ? AND ",
      steps > INT64_MAX ? "(step >= 0 OR step < ?)" : "step >= 0 AND step < ?");
  {
    ASSIGN_OR_RETURN(SqliteStatement row,
                     database_.Prepare(absl::StrCat("SELECT checksum", below)));
    row.BindText(connector).Bind(steps);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, row.Step());
      if (!found) break;
      digest_ -= row.GetNumber(0);
    }
  }
  {
    ASSIGN_OR_RETURN(SqliteStatement erase,
                     database_.Prepare(absl::StrCat("DELETE", below)));
    RETURN_IF_ERROR(erase.BindText(connector).Bind(steps).Run());
  }
  ASSIGN_OR_RETURN(
      SqliteStatement left,
      database_.Prepare("SELECT 1 FROM journal WHERE connector = ? LIMIT 1"));
  return left.BindText(connector).Step();
}

}  // namespace penstock::client
