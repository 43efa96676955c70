#include "client/controller/sqlite_file.h"

#include "client/controller/sqlite_lock_holder.h"
#include "client/controller/sqlite_rows.h"
#include "core/base/error.h"
#include "core/base/filesystem.h"
#include "core/base/random.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_replace.h>
#include <absl/strings/string_view.h>

#include <array>
#include <map>
#include <utility>

namespace penstock::client {
namespace {

using core::FileSystem;
using core::MakeError;
using core::Reason;

// Source: "Database File Format", https://www.sqlite.org/fileformat.html
constexpr absl::string_view kMagic("SQLite format 3\0", 16);
constexpr size_t kFileHeaderBytes = 100;
constexpr size_t kWriteVersionAt = 18;
constexpr size_t kReadVersionAt = 19;
constexpr char kWalVersion = 2;

constexpr absl::string_view kSideFiles[] = {"-wal", "-journal", "-shm"};

absl::Status Damaged(const std::string& path, absl::string_view what) {
  return MakeError(
      Reason::STATE_DAMAGED,
      absl::StrCat("opening the store ", path, ": ", what,
                   "; it is not used, so that nothing is lost or doubled: "
                   "restore it from a backup, or move it away together with "
                   "its -wal file and start anew into an empty target"),
      {{"path", path}});
}

// What SQLite says of a file that passed for a store before is damage, unless
// it only cannot be reached.
absl::Status Explain(const std::string& path, const absl::Status& status) {
  if (!core::HasReason(status, Reason::STATE_DAMAGED) &&
      !core::HasReason(status, Reason::INTERNAL)) {
    return NameLockHolder(path, status);
  }
  return Damaged(path, status.message());
}

SqliteDatabase::Options DatabaseOptions(const SqliteStoreOptions& options,
                                        bool create) {
  return {.create = create,
          .busy_timeout = options.busy_timeout,
          .vfs = options.vfs};
}

absl::Status CheckMissing(FileSystem& files, const std::string& path) {
  for (const absl::string_view side : kSideFiles) {
    if (!files.Stat(absl::StrCat(path, side)).ok()) continue;
    return Damaged(path, absl::StrCat("the file is gone, but its ", side,
                                      " file is there"));
  }
  return MakeError(
      Reason::NOT_FOUND,
      absl::StrCat("opening the store ", path, ": there is no such file"),
      {{"path", path}});
}

// Looks at the file before SQLite does, which takes an empty one for new.
absl::Status CheckFile(FileSystem& files, const std::string& path) {
  const absl::StatusOr<core::FileStat> stat = files.Stat(path);
  if (core::HasReason(stat.status(), Reason::NOT_FOUND)) {
    return CheckMissing(files, path);
  }
  RETURN_IF_ERROR(stat)
  << "while opening the store " << path;
  if (stat->type != core::FileType::kRegular) {
    return MakeError(Reason::INVALID_CONFIG,
                     absl::StrCat("opening the store ", path,
                                  ": it is no regular file; name another "
                                  "place"));
  }
  if (stat->size == 0) return Damaged(path, "the file is empty");
  ASSIGN_OR_RETURN(const auto file, files.OpenForRead(path));
  std::array<char, kFileHeaderBytes> head{};
  ASSIGN_OR_RETURN(const size_t got, file->ReadAt(0, head));
  if (got < head.size() ||
      absl::string_view(head.data(), kMagic.size()) != kMagic) {
    return Damaged(path, "the file is no SQLite database");
  }
  // A store is in WAL mode from its first moment on; were it not, the log
  // beside it would be passed over.
  if (head[kWriteVersionAt] != kWalVersion ||
      head[kReadVersionAt] != kWalVersion) {
    return Damaged(path, "the file is not in WAL mode");
  }
  return absl::OkStatus();
}

absl::Status CheckTables(SqliteDatabase& database, const std::string& path,
                         const std::map<std::string, std::string>& expected) {
  std::map<std::string, std::string> tables;
  ASSIGN_OR_RETURN(SqliteStatement row,
                   database.Prepare("SELECT name, sql FROM sqlite_schema"));
  while (true) {
    ASSIGN_OR_RETURN(const bool found, row.Step());
    if (!found) break;
    tables[row.GetBytes(0)] = row.GetBytes(1);
  }
  if (tables != expected) {
    return Damaged(path, "its tables are not those of a store");
  }
  return absl::OkStatus();
}

// The version before: rows did not say how many records were skipped. Their
// checksums are those of none.
constexpr absl::string_view kVersionBefore = "1";
constexpr absl::string_view kSkippedRecords =
    "skipped_records INTEGER NOT NULL DEFAULT 0";

std::map<std::string, std::string> TablesBefore() {
  std::map<std::string, std::string> tables = SqliteTables();
  for (auto& [name, sql] : tables) {
    sql = absl::StrReplaceAll(sql, {{absl::StrCat(", ", kSkippedRecords), ""}});
  }
  return tables;
}

// A controller of the version before that still has the file open journals
// nothing more, as its statement does not fit; the next epoch ends it.
absl::Status Upgrade(SqliteDatabase& database) {
  RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  // Somebody else may have been here first.
  const absl::StatusOr<std::string> version =
      database.Query("PRAGMA user_version");
  absl::Status upgraded = version.status();
  if (version.ok() && *version == kVersionBefore) {
    upgraded = database.Execute(
        absl::StrCat("ALTER TABLE journal ADD COLUMN ", kSkippedRecords,
                     "; PRAGMA user_version = ", kSqliteSchemaVersion));
  }
  if (upgraded.ok()) upgraded = database.Execute("COMMIT");
  if (!upgraded.ok()) database.Execute("ROLLBACK").IgnoreError();
  return upgraded;
}

absl::Status CheckContent(SqliteDatabase& database, const std::string& path) {
  ASSIGN_OR_RETURN(const std::string id,
                   database.Query("PRAGMA application_id"));
  if (id != absl::StrCat(kSqliteApplicationId)) {
    return Damaged(path, absl::StrCat("its application id is ", id,
                                      ", it is not a store of Penstock"));
  }
  ASSIGN_OR_RETURN(const std::string version,
                   database.Query("PRAGMA user_version"));
  const bool is_before = version == kVersionBefore;
  if (!is_before && version != absl::StrCat(kSqliteSchemaVersion)) {
    return Damaged(
        path,
        absl::StrCat("its schema version is ", version, ", this program knows ",
                     kSqliteSchemaVersion, " (perhaps a newer one wrote it)"));
  }
  ASSIGN_OR_RETURN(const std::string encoding,
                   database.Query("PRAGMA encoding"));
  if (encoding != "UTF-8") return Damaged(path, "its text is not UTF-8");
  RETURN_IF_ERROR(
      CheckTables(database, path, is_before ? TablesBefore() : SqliteTables()));
  ASSIGN_OR_RETURN(const std::string check,
                   database.Query("PRAGMA integrity_check(1)"));
  if (check != "ok") return Damaged(path, check);
  RETURN_IF_ERROR(ReadHeader(database).status());
  if (!is_before) return absl::OkStatus();
  RETURN_IF_ERROR(Upgrade(database));
  return CheckTables(database, path, SqliteTables());
}

absl::Status Fill(SqliteDatabase& database, const SqliteStoreOptions& options) {
  RETURN_IF_ERROR(database.Execute("PRAGMA synchronous = FULL"));
  ASSIGN_OR_RETURN(const std::string mode,
                   database.Query("PRAGMA journal_mode = WAL"));
  if (mode != "wal") {
    return MakeError(Reason::IO_ERROR,
                     "making a store: the file system lets SQLite keep no "
                     "write-ahead log; choose a local disk");
  }
  RETURN_IF_ERROR(database.Execute("BEGIN IMMEDIATE"));
  RETURN_IF_ERROR(database.Execute(
      absl::StrCat("PRAGMA application_id = ", kSqliteApplicationId,
                   "; PRAGMA user_version = ", kSqliteSchemaVersion)));
  for (const auto& [name, sql] : SqliteTables()) {
    RETURN_IF_ERROR(database.Execute(sql));
  }
  StoreHeader header;
  header.incarnation = options.incarnation;
  if (header.incarnation.empty()) {
    core::Random random = core::SeededFromEntropy();
    header.incarnation = core::RandomId(random);
  }
  RETURN_IF_ERROR(InsertHeader(database, header));
  return database.Execute("COMMIT");
}

void RemoveWithSideFiles(FileSystem& files, const std::string& path) {
  (void)files.Remove(path);
  for (const absl::string_view side : kSideFiles) {
    (void)files.Remove(absl::StrCat(path, side));
  }
}

absl::Status CreateAt(FileSystem& files, const std::string& path,
                      const std::string& draft,
                      const SqliteStoreOptions& options) {
  {
    ASSIGN_OR_RETURN(auto database, SqliteDatabase::Open(
                                        draft, DatabaseOptions(options, true)));
    RETURN_IF_ERROR(Fill(*database, options));
    // All of it goes into the file itself, and is synced.
    RETURN_IF_ERROR(database->Query("PRAGMA wal_checkpoint(TRUNCATE)"));
  }
  RETURN_IF_ERROR(files.Link(draft, path));
  return files.SyncDirectory(core::DirectoryOf(path));
}

}  // namespace

absl::Status CreateSqliteFile(const std::string& path,
                              const SqliteStoreOptions& options) {
  FileSystem& files = core::PosixFileSystem();
  core::Random random = core::SeededFromEntropy();
  const std::string draft =
      absl::StrCat(path, ".", core::RandomId(random), ".new");
  absl::Status status = CreateAt(files, path, draft, options);
  RemoveWithSideFiles(files, draft);
  return core::WithContext(status, absl::StrCat("while making ", path));
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> ConnectSqliteFile(
    const std::string& path, const SqliteStoreOptions& options) {
  absl::Status checked = CheckFile(core::PosixFileSystem(), path);
  if (!checked.ok()) return checked;
  auto database = SqliteDatabase::Open(path, DatabaseOptions(options, false));
  if (!database.ok()) return Explain(path, database.status());
  absl::Status set = (*database)->Execute("PRAGMA synchronous = FULL");
  if (!set.ok()) return Explain(path, set);
  return database;
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> OpenSqliteFile(
    const std::string& path, const SqliteStoreOptions& options) {
  ASSIGN_OR_RETURN(auto database, ConnectSqliteFile(path, options));
  const absl::Status checked = CheckContent(*database, path);
  if (!checked.ok()) return Explain(path, checked);
  return database;
}

}  // namespace penstock::client
