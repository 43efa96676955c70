// Why something is no value of a column.
// See core/format/README.md.
#pragma once

#include "core/contract/parse_error.h"
#include "core/record/schema.h"

#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

enum class ValueFault : uint8_t {
  kNone,
  // Null or missing, and the column takes no null.
  kNull,
  // Not of the form that the type has.
  kNotBoolean,
  kNotInteger,
  kNotNumber,
  kNotBinary,
  kNotDate,
  kNotTime,
  kNotTimestamp,
  kNotUuid,
  kNotJson,
  // A single value where there must be several, or the other way round.
  kNotSingle,
  kNotArray,
  kNotObject,
  // A number where only text says what is meant.
  kNotText,
  // A day, month, hour, minute or second that there is not.
  kNoSuchTime,
  // A timestamp that says its zone, a timestamptz that does not.
  kHasZone,
  kNoZone,
  // Beyond what the type holds.
  kOutOfRange,
  // Beyond what the column declares.
  kTooManyDigits,
  kTooManyDecimals,
  kTooLong,
  // Only formats with types of their own have these.
  kNotUtf8,
  kIsBinary,
  kIsExtension,
};

// The bad record of which `text` is no value of `column`: tag, description,
// field and suggestion; the rest is left for the caller. The tag is
// "null_value", "wrong_type" or "out_of_range".
// `path`: names of the columns that it is in and its own, "user.id". `text`
// may be long: its beginning is shown.
// Requires: `fault` is not kNone.
ParseError BadValue(absl::string_view path, const Column& column,
                    ValueFault fault, absl::string_view text);

}  // namespace penstock::core
