#include "client/controller/sqlite_rows.h"

#include "core/base/byte_order.h"
#include "core/base/checksum.h"
#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/time/time.h>

#include <algorithm>
#include <utility>
#include <variant>
#include <vector>

namespace penstock::client {
namespace {

using core::MakeError;
using core::Reason;

enum ResumeKind : uint64_t { kBarrier = 0, kSeek = 1, kReplay = 2 };

absl::Status Damaged(absl::string_view what) {
  return MakeError(Reason::STATE_DAMAGED,
                   absl::StrCat("reading the store: ", what));
}

// Feeds a checksum with fields that cannot be mistaken for each other.
class Fields {
 public:
  Fields& Add(uint64_t value) {
    core::AppendLe64(value, bytes_);
    return *this;
  }
  Fields& Add(absl::string_view value) {
    core::AppendLe64(value.size(), bytes_);
    bytes_.append(value.data(), value.size());
    return *this;
  }
  Fields& Add(const std::optional<std::string>& value) {
    Add(uint64_t{value.has_value()});
    return value.has_value() ? Add(absl::string_view(*value)) : *this;
  }
  uint64_t Checksum() const { return core::Checksum64(bytes_); }
  const std::string& bytes() const { return bytes_; }

 private:
  std::string bytes_;
};

uint64_t ChecksumOf(const SqliteHeader& header) {
  return Fields()
      .Add(absl::string_view(header.incarnation))
      .Add(header.epoch)
      .Add(absl::string_view(header.leader))
      .Add(header.commits)
      .Add(header.digest)
      .Checksum();
}

uint64_t ChecksumOf(const std::string& name, const StoredConnector& connector) {
  return Fields()
      .Add(absl::string_view("connector"))
      .Add(absl::string_view(name))
      .Add(absl::string_view(connector.spec_bytes))
      .Add(uint64_t{connector.opened})
      .Add(connector.position)
      .Add(connector.base_steps)
      .Add(connector.reserved_steps)
      .Add(connector.open_number)
      .Add(uint64_t{connector.user_paused})
      .Checksum();
}

// What a journal row holds beside its key.
struct StepRow {
  core::Step step = 0;
  uint64_t records = 0;
  uint64_t bytes = 0;
  uint64_t resume_kind = kBarrier;
  std::optional<std::string> seek;
  std::optional<std::string> replay;
  uint64_t resume_hash = 0;
  bool position_complete = true;
  std::optional<core::StepHash> hash;
  // Of each: nanoseconds, whether there is metadata, its length, itself.
  std::string watermarks;
  bool transaction_started = false;
  bool transaction_committed = false;
  std::optional<std::string> transaction_label;
  bool end_of_input = false;
  uint64_t stopped_because = 0;
};

uint64_t ChecksumOf(const std::string& connector, const StepRow& row) {
  const core::StepHash hash = row.hash.value_or(core::StepHash{});
  return Fields()
      .Add(absl::string_view("step"))
      .Add(absl::string_view(connector))
      .Add(row.step)
      .Add(row.records)
      .Add(row.bytes)
      .Add(row.resume_kind)
      .Add(row.seek)
      .Add(row.replay)
      .Add(row.resume_hash)
      .Add(uint64_t{row.position_complete})
      .Add(uint64_t{row.hash.has_value()})
      .Add(hash.value)
      .Add(hash.count)
      .Add(absl::string_view(row.watermarks))
      .Add(uint64_t{row.transaction_started})
      .Add(uint64_t{row.transaction_committed})
      .Add(row.transaction_label)
      .Add(uint64_t{row.end_of_input})
      .Add(row.stopped_because)
      .Checksum();
}

std::string EncodeWatermarks(const std::vector<core::Watermark>& watermarks) {
  Fields fields;
  for (const core::Watermark& watermark : watermarks) {
    fields.Add(static_cast<uint64_t>(absl::ToUnixNanos(watermark.timestamp)))
        .Add(watermark.metadata);
  }
  return fields.bytes();
}

bool DecodeWatermarks(absl::string_view bytes,
                      std::vector<core::Watermark>& watermarks) {
  while (!bytes.empty()) {
    uint64_t nanos = 0;
    uint64_t has_metadata = 0;
    uint64_t size = 0;
    if (!core::ConsumeLe(bytes, nanos) ||
        !core::ConsumeLe(bytes, has_metadata)) {
      return false;
    }
    core::Watermark& watermark = watermarks.emplace_back();
    watermark.timestamp = absl::FromUnixNanos(static_cast<int64_t>(nanos));
    if (has_metadata == 0) continue;
    if (!core::ConsumeLe(bytes, size) || bytes.size() < size) return false;
    watermark.metadata.emplace(bytes.data(), size);
    bytes.remove_prefix(size);
  }
  return true;
}

StepRow ToRow(const core::StepResult& result) {
  StepRow row;
  row.step = result.step;
  row.records = result.amount.records;
  row.bytes = result.amount.bytes;
  if (const auto* seek =
          std::get_if<core::Resume::Seek>(&result.resume.kind())) {
    row.resume_kind = kSeek;
    row.seek = seek->seek;
  } else if (const auto* replay =
                 std::get_if<core::Resume::Replay>(&result.resume.kind())) {
    row.resume_kind = kReplay;
    row.seek = replay->seek;
    row.replay = replay->replay;
    row.resume_hash = replay->hash;
  }
  row.position_complete = result.position_complete;
  row.hash = result.hash;
  row.watermarks = EncodeWatermarks(result.watermarks);
  row.transaction_started = result.transaction_started;
  row.transaction_committed = result.transaction_committed;
  row.transaction_label = result.transaction_label;
  row.end_of_input = result.end_of_input;
  row.stopped_because = static_cast<uint64_t>(result.stopped_because);
  return row;
}

absl::StatusOr<core::StepResult> FromRow(StepRow row) {
  core::StepResult result;
  result.step = row.step;
  result.amount = {.records = row.records, .bytes = row.bytes};
  if (row.resume_kind == kSeek) {
    result.resume =
        core::Resume(core::Resume::Seek{.seek = row.seek.value_or("")});
  } else if (row.resume_kind == kReplay) {
    result.resume =
        core::Resume(core::Resume::Replay{.seek = row.seek.value_or(""),
                                          .replay = row.replay.value_or(""),
                                          .hash = row.resume_hash});
  } else if (row.resume_kind != kBarrier) {
    return Damaged(absl::StrCat("step ", row.step, " has no known resume"));
  }
  result.position_complete = row.position_complete;
  result.hash = row.hash;
  if (!DecodeWatermarks(row.watermarks, result.watermarks)) {
    return Damaged(absl::StrCat("step ", row.step, " has broken watermarks"));
  }
  result.transaction_started = row.transaction_started;
  result.transaction_committed = row.transaction_committed;
  result.transaction_label = std::move(row.transaction_label);
  result.end_of_input = row.end_of_input;
  if (row.stopped_because > static_cast<uint64_t>(core::StopReason::kBlocked)) {
    return Damaged(absl::StrCat("step ", row.step, " has no known end"));
  }
  result.stopped_because = static_cast<core::StopReason>(row.stopped_because);
  return result;
}

constexpr absl::string_view kConnectorColumns =
    "name, spec, opened, position, base_steps, reserved_steps, open_number, "
    "user_paused, checksum";

// Reads a row of kConnectorColumns; `checksum`: that of the row.
absl::StatusOr<StoredConnector> GetConnector(const SqliteStatement& row,
                                             const std::string& name,
                                             uint64_t& checksum) {
  StoredConnector connector;
  connector.spec_bytes = row.GetBytes(1);
  connector.opened = row.GetBool(2);
  connector.position = row.GetOptionalBytes(3);
  connector.base_steps = row.GetNumber(4);
  connector.reserved_steps = row.GetNumber(5);
  connector.open_number = row.GetNumber(6);
  connector.user_paused = row.GetBool(7);
  checksum = row.GetNumber(8);
  if (checksum != ChecksumOf(name, connector)) {
    return Damaged(
        absl::StrCat("connector '", name, "' does not match its checksum"));
  }
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
  return step;
}

// Reads all journals into their connectors and adds up the checksums.
absl::Status ReadJournal(SqliteDatabase& database,
                         std::map<std::string, StoredConnector>& connectors,
                         uint64_t& digest) {
  ASSIGN_OR_RETURN(SqliteStatement row,
                   database.Prepare("SELECT * FROM journal"));
  while (true) {
    ASSIGN_OR_RETURN(const bool found, row.Step());
    if (!found) break;
    const std::string name = row.GetBytes(0);
    StepRow step = GetStep(row);
    const auto owner = connectors.find(name);
    if (owner == connectors.end() ||
        row.GetNumber(2) != ChecksumOf(name, step)) {
      return Damaged(absl::StrCat("journaled step ", step.step,
                                  " of connector '", name,
                                  "' does not match its checksum"));
    }
    digest += row.GetNumber(2);
    ASSIGN_OR_RETURN(core::StepResult result, FromRow(std::move(step)));
    owner->second.journal.push_back(std::move(result));
  }
  // SQLite orders them with a sign.
  for (auto& [name, connector] : connectors) {
    std::sort(connector.journal.begin(), connector.journal.end(),
              [](const core::StepResult& a, const core::StepResult& b) {
                return a.step < b.step;
              });
  }
  return absl::OkStatus();
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
       "stopped_because INTEGER NOT NULL, PRIMARY KEY (connector, step)) "
       "STRICT, WITHOUT ROWID"},
  };
  return tables;
}

absl::StatusOr<SqliteHeader> ReadHeader(SqliteDatabase& database) {
  ASSIGN_OR_RETURN(
      SqliteStatement row,
      database.Prepare("SELECT incarnation, epoch, leader, commits, digest, "
                       "checksum FROM header WHERE id = 1"));
  ASSIGN_OR_RETURN(const bool found, row.Step());
  if (!found) return Damaged("its header row is missing");
  SqliteHeader header;
  header.incarnation = row.GetBytes(0);
  header.epoch = row.GetNumber(1);
  header.leader = row.GetBytes(2);
  header.commits = row.GetNumber(3);
  header.digest = row.GetNumber(4);
  if (row.GetNumber(5) != ChecksumOf(header)) {
    return Damaged("its header row does not match its checksum");
  }
  return header;
}

absl::Status InsertHeader(SqliteDatabase& database,
                          const SqliteHeader& header) {
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

absl::Status UpdateHeader(SqliteDatabase& database,
                          const SqliteHeader& header) {
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

absl::StatusOr<std::optional<StoredConnector>> ReadConnector(
    SqliteDatabase& database, const std::string& name) {
  ASSIGN_OR_RETURN(SqliteStatement row,
                   database.Prepare(absl::StrCat("SELECT ", kConnectorColumns,
                                                 " FROM connectors WHERE "
                                                 "name = ?")));
  ASSIGN_OR_RETURN(const bool found, row.BindText(name).Step());
  if (!found) return std::optional<StoredConnector>();
  uint64_t checksum = 0;
  ASSIGN_OR_RETURN(StoredConnector connector,
                   GetConnector(row, name, checksum));
  return std::optional<StoredConnector>(std::move(connector));
}

absl::Status WriteConnector(SqliteDatabase& database, const std::string& name,
                            const StoredConnector& connector,
                            uint64_t& digest) {
  {
    ASSIGN_OR_RETURN(
        SqliteStatement old,
        database.Prepare("SELECT checksum FROM connectors WHERE name = ?"));
    ASSIGN_OR_RETURN(const bool found, old.BindText(name).Step());
    if (found) digest -= old.GetNumber(0);
  }
  const uint64_t checksum = ChecksumOf(name, connector);
  ASSIGN_OR_RETURN(SqliteStatement write,
                   database.Prepare(absl::StrCat(
                       "INSERT OR REPLACE INTO connectors (", kConnectorColumns,
                       ") VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)")));
  digest += checksum;
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

absl::Status InsertStep(SqliteDatabase& database, const std::string& connector,
                        const core::StepResult& result, uint64_t& digest) {
  const StepRow row = ToRow(result);
  const uint64_t checksum = ChecksumOf(connector, row);
  {
    ASSIGN_OR_RETURN(SqliteStatement old,
                     database.Prepare("SELECT checksum FROM journal WHERE "
                                      "connector = ? AND step = ?"));
    ASSIGN_OR_RETURN(const bool found,
                     old.BindText(connector).Bind(row.step).Step());
    if (found && old.GetNumber(0) == checksum) return absl::OkStatus();
    if (found) {
      return MakeError(
          Reason::ALREADY_EXISTS,
          absl::StrCat("journaling step ", row.step, " of connector '",
                       connector, "': it is there with other content"));
    }
  }
  ASSIGN_OR_RETURN(
      SqliteStatement insert,
      database.Prepare("INSERT INTO journal VALUES (?, ?, ?, ?, ?, ?, ?, ?, "
                       "?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"));
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
  digest += checksum;
  return insert.BindBlob(absl::string_view(row.watermarks))
      .Bind(row.transaction_started)
      .Bind(row.transaction_committed)
      .BindBlob(row.transaction_label)
      .Bind(row.end_of_input)
      .Bind(row.stopped_because)
      .Run();
}

absl::StatusOr<size_t> TrimSteps(SqliteDatabase& database,
                                 const std::string& connector, core::Step steps,
                                 uint64_t& digest) {
  std::vector<core::Step> below;
  size_t left = 0;
  {
    ASSIGN_OR_RETURN(SqliteStatement row,
                     database.Prepare("SELECT step, checksum FROM journal "
                                      "WHERE connector = ?"));
    row.BindText(connector);
    while (true) {
      ASSIGN_OR_RETURN(const bool found, row.Step());
      if (!found) break;
      // SQLite would compare them with a sign.
      const core::Step step = row.GetNumber(0);
      if (step >= steps) {
        ++left;
        continue;
      }
      below.push_back(step);
      digest -= row.GetNumber(1);
    }
  }
  for (const core::Step step : below) {
    ASSIGN_OR_RETURN(SqliteStatement erase,
                     database.Prepare("DELETE FROM journal WHERE connector = ? "
                                      "AND step = ?"));
    RETURN_IF_ERROR(erase.BindText(connector).Bind(step).Run());
  }
  return left;
}

absl::StatusOr<std::map<std::string, StoredConnector>> ReadConnectors(
    SqliteDatabase& database, const SqliteHeader& header) {
  std::map<std::string, StoredConnector> connectors;
  uint64_t digest = 0;
  ASSIGN_OR_RETURN(SqliteStatement row,
                   database.Prepare(absl::StrCat("SELECT ", kConnectorColumns,
                                                 " FROM connectors")));
  while (true) {
    ASSIGN_OR_RETURN(const bool found, row.Step());
    if (!found) break;
    const std::string name = row.GetBytes(0);
    uint64_t checksum = 0;
    ASSIGN_OR_RETURN(connectors[name], GetConnector(row, name, checksum));
    digest += checksum;
  }
  RETURN_IF_ERROR(ReadJournal(database, connectors, digest));
  if (digest != header.digest) {
    return Damaged("rows are missing, or older than its header");
  }
  return connectors;
}

}  // namespace penstock::client
