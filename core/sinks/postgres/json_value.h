// Values as JSON, for columns that hold it.
#pragma once

#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/status/status.h>

#include <string>

namespace penstock::core {

// Appends `value`, declared as `declared` is, to `json`: a map and a struct as
// an object, an array as one; numbers digit for digit; bytes, dates, times and
// uuids as text that a format reads back (core/format/README.md), times in the
// form that PostgreSQL prints, with zone +00. Members that are null are there.
// Errors: ROW_REFUSED for what JSON cannot hold: numbers that are none, text
// with NUL bytes or not in UTF-8, a key that is null or twice there.
absl::Status AppendJsonValue(const Column& declared, const PgColumn& column,
                             const Value& value, std::string& json);

}  // namespace penstock::core
