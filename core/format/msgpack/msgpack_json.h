// MessagePack as JSON, for columns of type variant.
#pragma once

#include "core/format/value_text/value_fault.h"

#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// Appends the JSON that says the same as `value`: integers digit for digit,
// floats with the fewest digits that give them back. On a fault `json` means
// nothing.
// Requires: one good value. Errors: what JSON cannot say: kNotUtf8, kIsBinary,
// kIsExtension, kNotNumber (NaN and infinities), kNotObject (a map with names
// that are no strings).
[[nodiscard]] ValueFault MsgpackToJson(absl::string_view value,
                                       std::string& json);

}  // namespace penstock::core
