// What a column cannot hold of a value, found before it is sent.
#pragma once

#include "core/record/value.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

// PostgreSQL's epoch, 2000-01-01, in days and microseconds of ours.
inline constexpr int64_t kPgEpochDays = 10'957;
inline constexpr int64_t kPgEpochMicros = 946'684'800'000'000;

// Text as the server takes it and keeps it: no NUL byte, valid UTF-8, not
// longer than the column's characters or bytes; nothing that the column's type
// would round or pad. Errors: ROW_REFUSED.
absl::Status CheckText(absl::string_view text, const PgColumn& column);

// The integer of kInt64 or kUint64, if it lies within [min, max].
// Errors: ROW_REFUSED.
absl::Status ReadInteger(const Value& value, int64_t min, int64_t max,
                         int64_t& out);

// A time of day, or the moment of a timestamp, in microseconds; no more
// decimals of a second than the column keeps. Errors: ROW_REFUSED.
absl::Status ReadTime(const Value& value, const PgColumn& column, int64_t& out);
absl::Status ReadTimestamp(const Value& value, const PgColumn& column,
                           int64_t& out);

// ROW_REFUSED: a value of another kind than the column's declared type has.
absl::Status WrongKind(const Value& value, const PgColumn& column);

}  // namespace penstock::core
