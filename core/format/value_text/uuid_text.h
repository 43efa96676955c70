// UUIDs as text.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

namespace penstock::core {

// 32 hexadecimal digits in any case, in groups of 8-4-4-4-12 (RFC 4122) or
// without a hyphen. The bytes are made in `arena`. Errors: kNotUuid.
[[nodiscard]] ValueFault ParseUuid(absl::string_view text, ValueArena& arena,
                                   Value& value);

}  // namespace penstock::core
