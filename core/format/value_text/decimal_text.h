// Decimal numbers as text: digits that are kept as they are.
#pragma once

#include "core/format/value_text/value_fault.h"
#include "core/record/value.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>

namespace penstock::core {

// What no row of digits says.
enum class SpecialNumber : uint8_t { kNan, kInfinity, kMinusInfinity };
// "NaN", "Infinity", "-Infinity", "inf" and the like, in any case.
std::optional<SpecialNumber> ReadSpecialNumber(absl::string_view text);

// A literal [+-]digits[.digits][e[+-]digits] taken apart: the number is
// 0.d1d2d3... x 10^point with the digits of `whole` and `fraction`.
//
// Lifetime: views into the text that it was read from.
class DecimalText {
 public:
  // nullopt: the text is of another form.
  static std::optional<DecimalText> Read(absl::string_view text);

  bool negative() const { return negative_; }
  bool IsZero() const { return first_ == last_; }
  // Digits before the point that count, so without leading zeros; not negative.
  int64_t WholeDigits() const;
  // Digits behind the point that count, so without trailing zeros.
  int64_t Decimals() const;
  // Above 0: the number is at least 1.
  int64_t Magnitude() const { return point_ - first_; }
  // The number without its sign if it is a whole one of at most 20 digits that
  // fits; otherwise nullopt.
  // Requires: Decimals() == 0.
  std::optional<uint64_t> ToUint64() const;

 private:
  char DigitAt(int64_t index) const;

  absl::string_view whole_;
  absl::string_view fraction_;
  bool negative_ = false;
  // Digits before the point, exponent included.
  int64_t point_ = 0;
  // The digits that count: from the first to behind the last that is not 0.
  // Equal: there is none.
  int64_t first_ = 0;
  int64_t last_ = 0;
};

// `precision` and `scale` as in Column: at most precision - scale digits before
// the point and scale behind it; leading and trailing zeros do not count.
// Without a precision: 131,072 and 16,383, as many as PostgreSQL has.
// The value is a view of `text`, digit for digit. NaN is in range always, the
// infinities only without a precision.
// Errors: kNotNumber, kOutOfRange, kTooManyDigits, kTooManyDecimals.
[[nodiscard]] ValueFault ParseDecimal(absl::string_view text,
                                      uint32_t precision, int32_t scale,
                                      Value& value);

}  // namespace penstock::core
