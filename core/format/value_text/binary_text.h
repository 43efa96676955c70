// Bytes as text.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

#include <cstdint>

namespace penstock::core {

// Behind \x: hexadecimal digits, two a byte, in any case, as PostgreSQL prints
// them. Otherwise base64 (RFC 4648, section 4) with its padding, and nothing
// else between; no base64 begins with a backslash. The bytes are made in
// `arena`. `bytes_max`: as declared, 0 = any number.
// Errors: kNotBinary, kTooLong.
[[nodiscard]] ValueFault ParseBinary(absl::string_view text, uint32_t bytes_max,
                                     ValueArena& arena, Value& value);

}  // namespace penstock::core
