// Decimal literals in PostgreSQL's binary form.
#pragma once

#include "core/contract/frame_buffer.h"

#include <absl/status/status.h>
#include <absl/strings/string_view.h>

#include <optional>

namespace penstock::core {

// Appends the field, length first, digit for digit with the scale that the
// text has. Shape of `literal`: as Value::Decimal.
// `scale`: digits after the point that the column keeps.
// Errors: ROW_REFUSED: more digits than numeric, or `scale`, can hold, for the
// server would round; `out` is then untouched.
// Source: numeric_recv in src/backend/utils/adt/numeric.c of PostgreSQL 15.
absl::Status AppendNumeric(absl::string_view literal, std::optional<int> scale,
                           FrameBuffer& out);

}  // namespace penstock::core
