// Typed values as text, for comparing and printing.
#pragma once

#include "core/record/value.h"

#include <span>
#include <string>

namespace penstock::core {

// The kind and what it holds: "int64 5", "string 'a'", "null",
// "array [int64 1, null]", "map {string 'a': date 3}", "struct (bool true)",
// "timestamp 1500000 +7". Doubles have every digit that tells them apart.
std::string ValueText(const Value& value);

// "int64 1 | null | string 'a'".
std::string RowText(std::span<const Value> row);

}  // namespace penstock::core
