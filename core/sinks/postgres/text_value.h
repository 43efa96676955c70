// Values in COPY's text form, for tables with a column whose binary form is
// not known.
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/record/value.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Appends the field, escaped, without a delimiter.
// Errors: ROW_REFUSED; `out` may then hold a part.
absl::Status AppendTextValue(const PgColumn& column, const Value& value,
                             FrameBuffer& out);

// A value that is no array, map, struct or null, as text that is not escaped.
// Errors: ROW_REFUSED.
absl::Status ReadText(const PgColumn& column, const Value& value,
                      std::string& out);

// "2024-02-29", "0044-03-15 BC", "infinity".
std::string DateText(int64_t days);
// "12:34:56.000001"; 24:00:00 as such.
std::string TimeText(int64_t micros);
// "2024-02-29 12:34:56.000001+00", "... BC", "-infinity".
std::string TimestampText(int64_t micros, absl::string_view zone);

}  // namespace penstock::core
