// How the controller's state stands in SQLite's rows.
#pragma once

#include "client/controller/apply_transaction.h"
#include "client/controller/sqlite_database.h"
#include "client/controller/state_store.h"
#include "client/controller/stored_rows.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>

#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace penstock::client {

inline constexpr uint32_t kSqliteApplicationId = 0x50656e73;  // "Pens"
inline constexpr uint32_t kSqliteSchemaVersion = 2;

// Name of a table and the statement that makes it, in order of name.
const std::map<std::string, std::string>& SqliteTables();

// Reads and writes rows inside of the caller's transaction. Every row read is
// compared with its checksum.
//
// Shape:  uint64_t as two's complement; JSON and MessagePack as blobs, byte for
//         byte; times as nanoseconds since 1970.
// Errors: STATE_DAMAGED, and as SqliteDatabase.
absl::StatusOr<StoreHeader> ReadHeader(SqliteDatabase& database);
absl::Status InsertHeader(SqliteDatabase& database, const StoreHeader& header);
absl::Status UpdateHeader(SqliteDatabase& database, const StoreHeader& header);

// Everything, in order; the digest of all rows is compared with the header's.
absl::StatusOr<std::map<std::string, StoredConnector>> ReadConnectors(
    SqliteDatabase& database, const StoreHeader& header);

// Moves `digest` along with what it changes.
// Owner: a scope. Lifetime: `database` and `digest` outlive it.
class SqliteRows final : public StoreRows {
 public:
  SqliteRows(SqliteDatabase& database, uint64_t& digest)
      : database_(database), digest_(digest) {}

  absl::StatusOr<std::optional<StoredConnector>> ReadConnector(
      const std::string& name) override;
  absl::Status WriteConnector(const std::string& name,
                              const StoredConnector& connector) override;
  absl::Status InsertStep(const std::string& connector,
                          const core::StepResult& result) override;
  absl::StatusOr<bool> TrimSteps(const std::string& connector,
                                 core::Step steps) override;

 private:
  SqliteDatabase& database_;
  uint64_t& digest_;
};

}  // namespace penstock::client
