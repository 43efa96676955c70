// Which declared type may go into which type of PostgreSQL.
#pragma once

#include "core/record/schema.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Every value of the declared type must be one of the column's, exactly; what
// only some values violate (a scale, a length) is checked row by row.
// Errors: INVALID_CONFIG naming column, both types and the remedy.
absl::Status CheckType(const Column& declared, const PgColumn& found,
                       absl::string_view table);

// The type of a column made for `declared`: "numeric(10,2)", "text[]".
// Errors: INVALID_CONFIG: a map or a struct.
absl::StatusOr<std::string> TypeFor(const Column& declared);

}  // namespace penstock::core
