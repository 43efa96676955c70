// Integers and floating-point numbers as text.
#pragma once

#include "core/format/value_text/eight_digits.h"
#include "core/format/value_text/value_fault.h"
#include "core/record/schema.h"
#include "core/record/value.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>

namespace penstock::core {

// The integers of a type: from `min` to `max`.
struct IntegerRange {
  int64_t min = 0;
  uint64_t max = 0;
  bool is_signed = true;
};
constexpr bool IsIntegerType(SqlType type) {
  return type >= SqlType::kTinyint && type <= SqlType::kBigintUnsigned;
}
// Requires: IsIntegerType(type).
IntegerRange IntegerRangeOf(SqlType type);

// Whether the text is that of a whole number is a question of its value: 1.0
// and 1e3 are whole numbers.
// Errors: kNotInteger, kNotNumber, kOutOfRange.
[[nodiscard]] ValueFault ParseInteger(absl::string_view text,
                                      const IntegerRange& range, Value& value);
[[nodiscard]] inline ValueFault ParseInteger(absl::string_view text,
                                             SqlType type, Value& value) {
  return ParseInteger(text, IntegerRangeOf(type), value);
}

// The short way for what most integers are: up to eight digits, all of them in
// range. False: it has to be the long way.
[[gnu::always_inline]] inline bool ParseShortInteger(absl::string_view text,
                                                     const IntegerRange& range,
                                                     Value& value) {
  if (text.empty()) return false;
  const bool negative = text.front() == '-';
  const absl::string_view digits(text.data() + (negative ? 1 : 0),
                                 text.size() - (negative ? 1 : 0));
  if (digits.size() - 1 >= 8) return false;
  const std::optional<uint32_t> size =
      DigitsToNumber(LoadCharacters(digits), digits.size());
  if (!size.has_value() || *size > range.max) return false;
  const int64_t number = negative ? -int64_t{*size} : int64_t{*size};
  if (number < range.min) return false;
  value = range.is_signed ? Value::Int64(number)
                          : Value::Uint64(static_cast<uint64_t>(number));
  return true;
}

// The double that is nearest to the number, of two the even one; "NaN",
// "Infinity" and the like. What is nearer to 0 than any other double is 0.
// Errors: kNotNumber; kOutOfRange where the nearest would be infinite.
[[nodiscard]] ValueFault ParseDouble(absl::string_view text, Value& value);
// The short way for what most are: up to seven digits and a point. False: it
// has to be the long way.
[[gnu::always_inline]] inline bool ParseShortDouble(absl::string_view text,
                                                    Value& value) {
  if (text.empty()) return false;
  const bool negative = text.front() == '-';
  const absl::string_view size(text.data() + (negative ? 1 : 0),
                               text.size() - (negative ? 1 : 0));
  if (size.size() - 1 >= 8) return false;
  const std::optional<EightDigits> read = ReadEightDigits(size);
  if (!read.has_value()) return false;
  // Both are exact, so that the quotient is rounded once.
  constexpr double kPowers[] = {1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7};
  const double number = read->digits / kPowers[read->decimals];
  value = Value::Double(negative ? -number : number);
  return true;
}
// The same of floats, rounded once: the double that is exactly that float.
[[nodiscard]] ValueFault ParseReal(absl::string_view text, Value& value);

}  // namespace penstock::core
