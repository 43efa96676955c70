// Typed values as text: what ParseValueText reads.
// See core/format/README.md.
#pragma once

#include "core/record/value.h"

#include <string>

namespace penstock::core {

// Appends the text of `value`, from which ParseValueText makes the same value
// again in a column of its type, and PostgreSQL's input functions as well:
//   true, -7, 1.5e-07, NaN, \x00ff, 00112233-4455-6677-8899-aabbccddeeff,
//   2026-01-31, 0044-03-15 BC, infinity, 23:59:59.5,
//   2026-01-31 23:59:59.000001, 2026-01-31 23:59:59Z
// Decimals, text and variants are as they came. Numbers have the fewest digits
// that give them back, fractions of a second no zeros at their end.
// Requires: it is not null, and no array, map or struct.
void PrintValue(const Value& value, std::string& to);

}  // namespace penstock::core
