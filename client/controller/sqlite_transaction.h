// One StoreTransaction, applied to the tables.
#pragma once

#include "client/controller/sqlite_database.h"
#include "client/controller/state_store.h"

#include <absl/status/status.h>

#include <cstdint>

namespace penstock::client {

// Applies `transaction` inside of the caller's SQLite transaction and moves
// `digest` along. What contradicts the stored state goes into `verdict`, as
// StoreTransaction says; the caller then undoes what was done so far.
// Errors: SQLite's own; STATE_DAMAGED.
absl::Status ApplyTransaction(SqliteDatabase& database,
                              const StoreTransaction& transaction,
                              uint64_t& digest, absl::Status& verdict);

}  // namespace penstock::client
