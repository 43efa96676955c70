// Which declared type may go into which type of PostgreSQL.
#pragma once

#include "core/record/schema.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Every value of the declared type must be one of the column's, exactly; what
// only some values violate (a scale, a length) is checked row by row. A type
// that does not keep what it is given is refused.
// Errors: INVALID_CONFIG naming column, both types and the remedy.
absl::Status CheckType(const Column& declared, const PgColumn& found,
                       absl::string_view table);

// Whether a value of the declared type is written as JSON: an array, a map or a
// struct into json or jsonb.
bool GoesIntoJson(const Column& declared, const PgColumn& found);

// The type of a column made for `declared`: "numeric(10,2)", "text[]"; "jsonb"
// for maps and structs, and for arrays of them.
std::string TypeFor(const Column& declared);

}  // namespace penstock::core
