// How the controller's state stands in SQLite's rows, and their checksums.
#pragma once

#include "client/controller/sqlite_database.h"
#include "client/controller/state_store.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace penstock::client {

inline constexpr uint32_t kSqliteApplicationId = 0x50656e73;  // "Pens"
inline constexpr uint32_t kSqliteSchemaVersion = 1;

// Name of a table and the statement that makes it, in order of name.
const std::map<std::string, std::string>& SqliteTables();

// The one row that every transaction locks and asserts.
struct SqliteHeader {
  std::string incarnation;
  uint64_t epoch = 0;
  // Drawn by the handle that took the epoch, so that not even a restored older
  // file lets two handles share one. Empty: nobody led yet.
  std::string leader;
  // Counts transactions: tells whether a COMMIT without answer took place.
  uint64_t commits = 0;
  // Sum of the checksums of all rows of the other tables: a row that was lost
  // or went back to an older content shows.
  uint64_t digest = 0;
};

// Reads and writes rows inside of the caller's transaction. Every row read is
// compared with its checksum.
//
// Shape:  uint64_t as two's complement; JSON and MessagePack as blobs, byte for
//         byte; times as nanoseconds since 1970.
// Errors: STATE_DAMAGED, and as SqliteDatabase.
absl::StatusOr<SqliteHeader> ReadHeader(SqliteDatabase& database);
absl::Status InsertHeader(SqliteDatabase& database, const SqliteHeader& header);
absl::Status UpdateHeader(SqliteDatabase& database, const SqliteHeader& header);

// A connector without its journal; nullopt: no such row.
absl::StatusOr<std::optional<StoredConnector>> ReadConnector(
    SqliteDatabase& database, const std::string& name);
// Replaces the row; moves `digest` along.
absl::Status WriteConnector(SqliteDatabase& database, const std::string& name,
                            const StoredConnector& connector, uint64_t& digest);

// Inserts a row. OK without effect if there is one with the same content;
// ALREADY_EXISTS if there is another.
absl::Status InsertStep(SqliteDatabase& database, const std::string& connector,
                        const core::StepResult& result, uint64_t& digest);
// Removes the connector's rows below `steps`. Returns: how many are left.
absl::StatusOr<size_t> TrimSteps(SqliteDatabase& database,
                                 const std::string& connector, core::Step steps,
                                 uint64_t& digest);

// Everything, in order; the digest of all rows is compared with the header's.
absl::StatusOr<std::map<std::string, StoredConnector>> ReadConnectors(
    SqliteDatabase& database, const SqliteHeader& header);

}  // namespace penstock::client
