// Integers and floating-point numbers as text.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"

#include <absl/strings/string_view.h>

namespace penstock::core {

// Whether the text is that of a whole number is a question of its value: 1.0
// and 1e3 are whole numbers.
// Requires: `type` is an integer. Errors: kNotInteger, kNotNumber, kOutOfRange.
[[nodiscard]] ValueFault ParseInteger(absl::string_view text, SqlType type,
                                      Value& value);

// The double that is nearest to the number, of two the even one; "NaN",
// "Infinity" and the like. What is nearer to 0 than any other double is 0.
// Errors: kNotNumber; kOutOfRange where the nearest would be infinite.
[[nodiscard]] ValueFault ParseDouble(absl::string_view text, Value& value);
// The same of floats, rounded once: the double that is exactly that float.
[[nodiscard]] ValueFault ParseReal(absl::string_view text, Value& value);

}  // namespace penstock::core
