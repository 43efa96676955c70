// A pipeline's lease in a PostgreSQL store.
#pragma once

#include "client/controller/lease.h"
#include "client/controller/postgres_link.h"
#include "core/base/executor.h"

#include <absl/time/time.h>

#include <memory>
#include <string>

namespace penstock::client {

struct PostgresLeaseOptions {
  // Where a store was made. Its call_deadline, here of connecting and the
  // statement together, is cut to a quarter of `lasts`: a renewal that begins
  // after a third of it (LeaseKeeper) and fails as late as it can leaves time
  // for another whole one before seven eighths.
  PostgresPlace place;
  // Names this holder; nobody else uses it.
  std::string holder;
  // For people who wait.
  std::string controller;
  absl::Duration lasts = absl::Seconds(15);
};

// The row of the pipeline in penstock_state.leases. Its end is a time of the
// server's clock. Should that clock go back, a lease that would last twice as
// long as a lease does counts as ended.
//
// Works on `executor`, one call after the other, over a connection of its own;
// `executor` outlives it and should have a thread of its own, so that nothing
// delays a renewal.
std::unique_ptr<Lease> MakePostgresLease(PostgresLeaseOptions options,
                                         core::Executor& executor);

}  // namespace penstock::client
