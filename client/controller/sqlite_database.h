// SQLite's C interface as values and Status.
#pragma once

#include <absl/container/flat_hash_map.h>
#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

struct sqlite3;
struct sqlite3_stmt;

namespace penstock::client {

// One use of a prepared statement: bind, step, read; the destructor resets it.
// Columns are 0-based. Bound text and blobs must live until the last Step.
//
// Owner:   a scope. Threads: confined to the database's thread.
// Lifetime: the database outlives it; one use of a statement at a time.
class SqliteStatement {
 public:
  SqliteStatement(SqliteStatement&& other) noexcept;
  SqliteStatement& operator=(SqliteStatement&&) = delete;
  ~SqliteStatement();

  // Bind the next parameter, in order. Unsigned numbers are stored as their
  // two's complement.
  SqliteStatement& Bind(uint64_t value);
  SqliteStatement& Bind(bool value);
  SqliteStatement& BindBlob(absl::string_view value);
  SqliteStatement& BindBlob(const std::optional<std::string>& value);
  SqliteStatement& BindText(absl::string_view value);
  SqliteStatement& BindNull();

  // Returns: whether there is a row. Errors: as SqliteDatabase.
  absl::StatusOr<bool> Step();
  // For statements that return no rows.
  absl::Status Run();

  bool IsNull(int column) const;
  uint64_t GetNumber(int column) const;
  bool GetBool(int column) const { return GetNumber(column) != 0; }
  // Of a blob or a text.
  std::string GetBytes(int column) const;
  std::optional<std::string> GetOptionalBytes(int column) const;

 private:
  friend class SqliteDatabase;
  SqliteStatement(sqlite3* database, sqlite3_stmt* statement)
      : database_(database), statement_(statement) {}
  SqliteStatement& Check(int code);

  sqlite3* const database_;
  // Null: moved from.
  sqlite3_stmt* statement_;
  int bound_ = 0;
  // The first error of a Bind.
  int bind_code_ = 0;
};

// A connection.
// Owner:   the store. Threads: confined to one thread at a time.
// Blocks:  as the disk does, and for another process's transaction up to
//          `busy_timeout`.
// Errors:  STATE_DAMAGED (SQLite finds the file corrupt, or no database);
//          UNAVAILABLE (locked by another process); STORAGE_FULL;
//          PERMISSION_DENIED; IO_ERROR; INTERNAL (our SQL).
class SqliteDatabase {
 public:
  struct Options {
    // False: NOT_FOUND-like errors where there is no file (as IO_ERROR).
    bool create = false;
    absl::Duration busy_timeout = absl::Seconds(5);
    // Name of the SQLite file layer; empty: the default one. For tests.
    std::string vfs = {};
  };
  static absl::StatusOr<std::unique_ptr<SqliteDatabase>> Open(
      const std::string& path, const Options& options);
  SqliteDatabase(const SqliteDatabase&) = delete;
  SqliteDatabase& operator=(const SqliteDatabase&) = delete;
  ~SqliteDatabase();

  // `sql` is prepared once and kept. Requires: one statement.
  absl::StatusOr<SqliteStatement> Prepare(absl::string_view sql);
  // Runs statements without parameters and rows of interest.
  absl::Status Execute(const std::string& sql);
  // The first column of the first row, as a text. IO_ERROR if there is none.
  absl::StatusOr<std::string> Query(const std::string& sql);
  bool InTransaction() const;
  // Whether the file is no longer the one that its path names: it was moved,
  // replaced or deleted while it was open.
  bool HasMoved() const;

 private:
  explicit SqliteDatabase(sqlite3* database) : database_(database) {}

  sqlite3* const database_;
  absl::flat_hash_map<std::string, sqlite3_stmt*> statements_;
};

}  // namespace penstock::client
