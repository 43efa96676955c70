// The values of a record, one by one, to a guess.
#pragma once

#include "core/format/infer/value_guess.h"

#include <absl/strings/string_view.h>

namespace penstock::core {

// Requires: one good value of JSON, or of MessagePack. Bound: as deep as a
// schema is.
void ObserveJson(absl::string_view value, ValueGuess& record,
                 GuessProgress& progress);
void ObserveMsgpack(absl::string_view value, ValueGuess& record,
                    GuessProgress& progress);

}  // namespace penstock::core
