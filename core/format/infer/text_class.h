// What a single value looks like, and which types would keep all of it.
// See core/format/README.md, "A guess".
#pragma once

#include "core/record/schema.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>

namespace penstock::core {

// A set of types: one bit each.
using TypeSet = uint32_t;
constexpr TypeSet SetOf(SqlType type) {
  return TypeSet{1} << static_cast<uint32_t>(type);
}
template <typename... Types>
constexpr TypeSet SetOf(SqlType type, Types... types) {
  return SetOf(type) | SetOf(types...);
}
inline constexpr TypeSet kEveryType = ~TypeSet{0};

// The narrowest that a value is.
enum class ValueClass : uint8_t {
  kBoolean,
  kInteger,
  // MessagePack's float of 32 bits; any other number that a double keeps.
  kReal,
  kDouble,
  kDecimal,
  // NaN and the infinities of numbers; those of days. By themselves they are
  // text.
  kSpecialNumber,
  kInfinity,
  kDate,
  kTime,
  kTimestamp,
  kTimestamptz,
  kUuid,
  kBinary,
  kText,
  kArray,
  kObject,
  // What no type takes: text that is no UTF-8, an extension.
  kForeign,
};
inline constexpr size_t kValueClasses = 17;

// "integers", "text" ...
absl::string_view ValueClassName(ValueClass of);

// A plain value.
struct ClassifiedValue {
  ValueClass of = ValueClass::kText;
  // Types of columns that take the value and lose nothing of it.
  TypeSet fits = 0;
  // kInteger.
  int64_t integer = 0;
  // Of a number that a decimal keeps: digits before the point and behind it.
  int64_t whole_digits = 0;
  int64_t decimals = 0;
  // A decimal with a precision does not take it.
  bool is_infinite = false;
  // A time finer than microseconds.
  bool is_fine = false;
  // A moment whose offset is not that of UTC; a column keeps the moment.
  bool has_offset = false;
  // Whether JSON can say it.
  bool is_json = true;
};

// A number as it stands in JSON, where nothing but a number stands so.
// Requires: RFC 8259's grammar.
ClassifiedValue ClassifyNumber(absl::string_view token);
// What a JSON string or a MessagePack str has. Bytes, UUIDs and dates are those
// that print as the same text; of a time it is the moment that is kept.
// Requires: UTF-8.
ClassifiedValue ClassifyString(absl::string_view text);
// A field of a format without types: also a boolean, in any case, or a number
// that says no less than the text. Requires: UTF-8.
ClassifiedValue ClassifyField(absl::string_view text);
// An integer, of which `token` is the text.
ClassifiedValue ClassifyInteger(int64_t integer, absl::string_view token);

}  // namespace penstock::core
