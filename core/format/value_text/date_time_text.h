// Days, times of day and timestamps as text: ISO 8601 with a few freedoms, and
// what PostgreSQL prints.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/value.h"

#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

// The parts:
//   day       YYYY-MM-DD; the year has four to seven digits and is not 0
//   time      hh:mm, hh:mm:ss, hh:mm:ss.fraction; 24:00:00 is the end of a day,
//             and there is no second 60
//   zone      Z or z, or ±hh, ±hhmm, ±hh:mm, ±hhmmss, ±hh:mm:ss, at most
//   15:59:59 era       " BC" at the very end
// The calendar is the proleptic Gregorian one. `decimals` is how many decimals
// of a second the column has, 0 to 9: more of them are no value but for zeros,
// and nothing is rounded.

// day, perhaps with an era; "infinity", "-infinity".
// Errors: kNotDate, kNoSuchTime.
[[nodiscard]] ValueFault ParseDate(absl::string_view text, Value& value);

// time. Errors: kNotTime, kNoSuchTime, kTooManyDecimals, kHasZone.
[[nodiscard]] ValueFault ParseTime(absl::string_view text, uint32_t decimals,
                                   Value& value);

// day, then T, t or a blank, then time, perhaps an era; "infinity",
// "-infinity". A zone is refused: the column could not keep it.
// Errors: kNotTimestamp, kNoSuchTime, kTooManyDecimals, kHasZone, kOutOfRange.
[[nodiscard]] ValueFault ParseTimestamp(absl::string_view text,
                                        uint32_t decimals, Value& value);

// The same with a zone behind the time, perhaps a blank between them.
// Errors: kNotTimestamp, kNoSuchTime, kTooManyDecimals, kNoZone, kOutOfRange.
[[nodiscard]] ValueFault ParseTimestamptz(absl::string_view text,
                                          uint32_t decimals, Value& value);

}  // namespace penstock::core
