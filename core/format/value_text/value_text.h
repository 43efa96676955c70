// Text to a value of a declared column: what every text format needs.
// See core/format/README.md.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"
#include "core/record/value_arena.h"

#include <absl/strings/string_view.h>

namespace penstock::core {

// The value that `text` is in `column`. On an error `value` stays as it is.
// Lifetime: the value may be a view of `text`, or of what was made in `arena`.
// Requires: `text` is UTF-8; the column is neither array, map, struct nor
// variant. Errors: those of its type; null is the caller's question.
[[nodiscard]] ValueFault ParseValueText(const Column& column,
                                        absl::string_view text,
                                        ValueArena& arena, Value& value);

}  // namespace penstock::core
