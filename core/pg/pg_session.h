// Ends sessions of other connections. See core/pg/README.md.
#pragma once

#include "core/pg/pg_connection.h"

#include <absl/status/status.h>
#include <absl/time/time.h>

#include <span>

namespace penstock::core {

// Terminates those of `sessions` that exist, their transactions rolled back,
// and waits until they are gone: then their locks are free and what they
// committed can be seen. A stopped client does not hold this up.
// Requires: `connection` is in no transaction.
// Errors: as PgConnection; PERMISSION_DENIED: sessions of another role;
// UNAVAILABLE: one was still there at the deadline.
absl::Status EndSessions(PgConnection& connection,
                         std::span<const PgSession> sessions,
                         absl::Time deadline);

}  // namespace penstock::core
