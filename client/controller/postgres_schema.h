// The tables of a PostgreSQL store: how they are made, and what is looked at
// before their content is believed.
#pragma once

#include "core/pg/pg_connection.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <string>

namespace penstock::client {

// One schema for all pipelines of a database; each row says whose it is.
inline constexpr absl::string_view kPostgresSchema = "penstock_state";
inline constexpr int64_t kPostgresSchemaVersion = 2;

// The statements that make the tables and say the version.
std::string PostgresTablesSql();

// Makes schema and tables, all or nothing, unless they are there. The schema
// may have been made beforehand by an administrator.
// Errors: STATE_DAMAGED (some of the tables are there); PERMISSION_DENIED; as
// PgConnection.
absl::Status MakePostgresTables(core::PgConnection& connection,
                                absl::Time deadline);

// Compares version, tables and columns with what this program knows; those of
// the version before are made ones of this.
// Errors: NOT_FOUND (no tables yet); STATE_DAMAGED, naming what to do; as
// PgConnection.
absl::Status CheckPostgresTables(core::PgConnection& connection,
                                 absl::Time deadline);

}  // namespace penstock::client
