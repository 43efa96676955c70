// The controller's state in a SQLite file.
// See client/controller/README.md; upholds INV-2, INV-3, INV-7.
#pragma once

#include "client/controller/state_store.h"
#include "core/base/executor.h"

#include <absl/status/statusor.h>
#include <absl/time/time.h>

#include <memory>
#include <string>

namespace penstock::client {

struct SqliteStoreOptions {
  // Make a store where there is no file. Never where there is one: an empty or
  // damaged file is STATE_DAMAGED, so that lost state is not taken for a first
  // run.
  bool create_if_missing = false;
  // Of a store that is made; empty: drawn at random.
  std::string incarnation = {};
  // How long another process's transaction is waited for before UNAVAILABLE.
  absl::Duration busy_timeout = absl::Seconds(5);
  // Name of the SQLite file layer; empty: the default. For tests.
  std::string vfs = {};
};

// Opens the store at `path`, which several processes may have open: only the
// one that took the last epoch can commit.
//
// A serial store: `executor` should have a thread of its own, because
// transactions block as the disk does. Journal mode is WAL with
// synchronous=FULL: each transaction is durable by one sync of the log before
// it is answered.
//
// Blocks: as the disk does, until the file is checked.
// Errors: NOT_FOUND (no file, and not to be made); STATE_DAMAGED (with what to
// do next); INVALID_CONFIG (no place for a file); as SqliteDatabase.
absl::StatusOr<std::unique_ptr<StateStore>> MakeSqliteStore(
    const std::string& path, const SqliteStoreOptions& options,
    core::Executor& executor);

}  // namespace penstock::client
