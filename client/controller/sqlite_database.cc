#include "client/controller/sqlite_database.h"

#include "core/base/check.h"
#include "core/base/error.h"

#include <absl/strings/str_cat.h>
#include <sqlite3.h>

#include <utility>

namespace penstock::client {
namespace {

using core::Reason;

Reason ReasonOf(int code) {
  switch (code & 0xff) {
    case SQLITE_CORRUPT:
    case SQLITE_NOTADB:
    case SQLITE_FORMAT:
      return Reason::STATE_DAMAGED;
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
      return Reason::UNAVAILABLE;
    case SQLITE_FULL:
      return Reason::STORAGE_FULL;
    case SQLITE_READONLY:
    case SQLITE_PERM:
    case SQLITE_AUTH:
      return Reason::PERMISSION_DENIED;
    case SQLITE_IOERR:
    case SQLITE_CANTOPEN:
    case SQLITE_PROTOCOL:
    case SQLITE_NOMEM:
      return Reason::IO_ERROR;
    default:
      return Reason::INTERNAL;
  }
}

// A database that could not be opened has no name.
bool HasText(const char* path) { return path != nullptr && *path != '\0'; }

absl::Status ErrorOf(sqlite3* database, int code) {
  const int extended = sqlite3_extended_errcode(database);
  if ((extended & 0xff) == (code & 0xff)) code = extended;
  const char* const path = sqlite3_db_filename(database, "main");
  const bool cannot_open = (code & 0xff) == SQLITE_CANTOPEN;
  return core::MakeError(
      ReasonOf(code),
      absl::StrCat("using the store", HasText(path) ? " " : "",
                   HasText(path) ? path : "", ": ", sqlite3_errmsg(database),
                   " (SQLite error ", code, ")",
                   cannot_open ? "; its directory must exist, and this user "
                                 "must be allowed to make files there"
                               : ""),
      {{"sqlite", absl::StrCat(code)}});
}

}  // namespace

SqliteStatement::SqliteStatement(SqliteStatement&& other) noexcept
    : database_(other.database_),
      statement_(std::exchange(other.statement_, nullptr)),
      bound_(other.bound_),
      bind_code_(other.bind_code_) {}

SqliteStatement::~SqliteStatement() {
  if (statement_ == nullptr) return;
  sqlite3_reset(statement_);
  sqlite3_clear_bindings(statement_);
}

SqliteStatement& SqliteStatement::Check(int code) {
  if (bind_code_ == SQLITE_OK) bind_code_ = code;
  return *this;
}

SqliteStatement& SqliteStatement::Bind(uint64_t value) {
  return Check(sqlite3_bind_int64(statement_, ++bound_,
                                  static_cast<sqlite3_int64>(value)));
}
SqliteStatement& SqliteStatement::Bind(bool value) {
  return Check(sqlite3_bind_int(statement_, ++bound_, value ? 1 : 0));
}
SqliteStatement& SqliteStatement::BindBlob(absl::string_view value) {
  // A null pointer would bind NULL.
  const char* const bytes = value.empty() ? "" : value.data();
  return Check(sqlite3_bind_blob64(statement_, ++bound_, bytes, value.size(),
                                   /*destructor: static*/ nullptr));
}
SqliteStatement& SqliteStatement::BindBlob(
    const std::optional<std::string>& value) {
  return value.has_value() ? BindBlob(absl::string_view(*value)) : BindNull();
}
SqliteStatement& SqliteStatement::BindText(absl::string_view value) {
  const char* const bytes = value.empty() ? "" : value.data();
  return Check(sqlite3_bind_text64(statement_, ++bound_, bytes, value.size(),
                                   nullptr, SQLITE_UTF8));
}
SqliteStatement& SqliteStatement::BindNull() {
  return Check(sqlite3_bind_null(statement_, ++bound_));
}

absl::StatusOr<bool> SqliteStatement::Step() {
  if (bind_code_ != SQLITE_OK) return ErrorOf(database_, bind_code_);
  const int code = sqlite3_step(statement_);
  if (code == SQLITE_ROW) return true;
  if (code == SQLITE_DONE) return false;
  return ErrorOf(database_, code);
}

absl::Status SqliteStatement::Run() {
  const absl::StatusOr<bool> row = Step();
  if (!row.ok()) return row.status();
  CHECK(!*row);
  return absl::OkStatus();
}

bool SqliteStatement::IsNull(int column) const {
  return sqlite3_column_type(statement_, column) == SQLITE_NULL;
}
uint64_t SqliteStatement::GetNumber(int column) const {
  return static_cast<uint64_t>(sqlite3_column_int64(statement_, column));
}
std::string SqliteStatement::GetBytes(int column) const {
  const void* const bytes = sqlite3_column_blob(statement_, column);
  const int size = sqlite3_column_bytes(statement_, column);
  if (bytes == nullptr || size <= 0) return "";
  return std::string(static_cast<const char*>(bytes),
                     static_cast<size_t>(size));
}
std::optional<std::string> SqliteStatement::GetOptionalBytes(int column) const {
  if (IsNull(column)) return std::nullopt;
  return GetBytes(column);
}

absl::StatusOr<std::unique_ptr<SqliteDatabase>> SqliteDatabase::Open(
    const std::string& path, const Options& options) {
  sqlite3* raw = nullptr;
  const int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX |
                    SQLITE_OPEN_EXRESCODE |
                    (options.create ? SQLITE_OPEN_CREATE : 0);
  const int code =
      sqlite3_open_v2(path.c_str(), &raw, flags,
                      options.vfs.empty() ? nullptr : options.vfs.c_str());
  if (code != SQLITE_OK) {
    absl::Status status =
        raw == nullptr ? core::MakeError(Reason::IO_ERROR,
                                         absl::StrCat("opening the store ",
                                                      path, ": no memory"))
                       : ErrorOf(raw, code);
    sqlite3_close_v2(raw);
    return status;
  }
  sqlite3_busy_timeout(
      raw, static_cast<int>(absl::ToInt64Milliseconds(options.busy_timeout)));
  return std::unique_ptr<SqliteDatabase>(new SqliteDatabase(raw));
}

SqliteDatabase::~SqliteDatabase() {
  for (const auto& [sql, statement] : statements_) sqlite3_finalize(statement);
  sqlite3_close_v2(database_);
}

absl::StatusOr<SqliteStatement> SqliteDatabase::Prepare(absl::string_view sql) {
  auto found = statements_.find(sql);
  if (found == statements_.end()) {
    sqlite3_stmt* statement = nullptr;
    const int code =
        sqlite3_prepare_v3(database_, sql.data(), static_cast<int>(sql.size()),
                           SQLITE_PREPARE_PERSISTENT, &statement, nullptr);
    if (code != SQLITE_OK) return ErrorOf(database_, code);
    found = statements_.emplace(std::string(sql), statement).first;
  }
  return SqliteStatement(database_, found->second);
}

absl::Status SqliteDatabase::Execute(const std::string& sql) {
  const int code =
      sqlite3_exec(database_, sql.c_str(), nullptr, nullptr, nullptr);
  if (code != SQLITE_OK) return ErrorOf(database_, code);
  return absl::OkStatus();
}

absl::StatusOr<std::string> SqliteDatabase::Query(const std::string& sql) {
  absl::StatusOr<SqliteStatement> statement = Prepare(sql);
  if (!statement.ok()) return statement.status();
  const absl::StatusOr<bool> row = statement->Step();
  if (!row.ok()) return row.status();
  if (!*row) {
    return core::MakeError(
        Reason::IO_ERROR,
        absl::StrCat("using the store: '", sql, "' returned nothing"));
  }
  return statement->GetBytes(0);
}

bool SqliteDatabase::InTransaction() const {
  return sqlite3_get_autocommit(database_) == 0;
}

bool SqliteDatabase::HasMoved() const {
  int moved = 0;
  const int code =
      sqlite3_file_control(database_, "main", SQLITE_FCNTL_HAS_MOVED, &moved);
  return code == SQLITE_OK && moved != 0;
}

}  // namespace penstock::client
