// Values in COPY's binary form.
#pragma once

#include "core/contract/frame_buffer.h"
#include "core/record/value.h"
#include "core/sinks/postgres/catalog.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

namespace penstock::core {

// Before the first row, and behind the last.
// Source: "Binary Format" of COPY, PostgreSQL 15.
inline constexpr absl::string_view kBinaryHeader(
    "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0", 19);
inline constexpr absl::string_view kBinaryTrailer("\377\377", 2);

// Appends the field: its length, then the value.
// Requires: the column's layout is not kOther.
// Errors: ROW_REFUSED; `out` may then hold a part.
absl::Status AppendBinaryValue(const PgColumn& column, const Value& value,
                               FrameBuffer& out);
// A record as it came, in a column of text, json, jsonb or bytea.
absl::Status AppendBinaryBytes(const PgColumn& column, absl::string_view bytes,
                               FrameBuffer& out);

}  // namespace penstock::core
