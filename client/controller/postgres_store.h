// The controller's state in a PostgreSQL database.
// See client/controller/README.md; upholds INV-2, INV-3, INV-7.
#pragma once

#include "client/controller/postgres_link.h"
#include "client/controller/state_store.h"
#include "core/base/executor.h"

#include <absl/status/statusor.h>

#include <memory>
#include <string>

namespace penstock::client {

struct PostgresStoreOptions {
  PostgresPlace place;
  // Make tables, and the pipeline's rows, where there are none. Never where
  // there are some: those are STATE_DAMAGED, so that lost state is not taken
  // for a first run.
  bool create_if_missing = false;
  // Of a state that is made; empty: drawn at random.
  std::string incarnation = {};
  // An epoch is taken only while this holds the pipeline's lease (see
  // postgres_lease.h); empty: whoever asks takes it.
  std::string lease_holder = {};
};

// Opens the state of one pipeline in a database that many pipelines may share,
// and many controllers of each: only the one that took the last epoch can
// commit.
//
// A serial store: `executor` should have a thread of its own, because calls
// block as the network does. A call whose outcome is unknown is UNAVAILABLE;
// before the next one it is made sure that it either has taken effect or never
// will. An old controller changes nothing whenever it is stopped and woken, and
// holds nobody up for longer than the place's call_deadline.
//
// Blocks: until the tables are checked, some call_deadlines.
// Errors: NOT_FOUND (not there and not to be made; no such database);
// STATE_DAMAGED (with what to do next); UNAVAILABLE; UNAUTHENTICATED;
// PERMISSION_DENIED; INVALID_CONFIG.
absl::StatusOr<std::unique_ptr<StateStore>> MakePostgresStore(
    const PostgresStoreOptions& options, core::Executor& executor);

}  // namespace penstock::client
