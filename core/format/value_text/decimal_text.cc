#include "core/format/value_text/decimal_text.h"

#include "core/base/check.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>

#include <algorithm>

namespace penstock::core {
namespace {

// Limits of PostgreSQL's numeric, documented in "Numeric Types".
constexpr int64_t kWholeDigitsMax = 131'072;
constexpr int64_t kDecimalsMax = 16'383;

// Beyond any limit, and far from overflow.
constexpr int64_t kExponentMax = 1'000'000'000;

bool IsDigit(char c) { return c >= '0' && c <= '9'; }

// The digits at the beginning of `text`, which loses them.
absl::string_view TakeDigits(absl::string_view& text) {
  size_t size = 0;
  while (size < text.size() && IsDigit(text[size])) ++size;
  const absl::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

bool TakeMinus(absl::string_view& text) {
  const bool negative = !text.empty() && text.front() == '-';
  if (!text.empty() && (negative || text.front() == '+')) text.remove_prefix(1);
  return negative;
}

// Reads "e-12", all of `text`.
std::optional<int64_t> ReadExponent(absl::string_view text) {
  text.remove_prefix(1);
  const bool negative = TakeMinus(text);
  const absl::string_view digits = TakeDigits(text);
  if (digits.empty() || !text.empty()) return std::nullopt;
  int64_t exponent = 0;
  for (const char digit : digits) {
    exponent = std::min(kExponentMax, exponent * 10 + (digit - '0'));
  }
  return negative ? -exponent : exponent;
}

}  // namespace

std::optional<SpecialNumber> ReadSpecialNumber(absl::string_view text) {
  // Hardly any number begins like one of them.
  if (text.size() < 3 || IsDigit(text.back())) return std::nullopt;
  if (absl::EqualsIgnoreCase(text, "nan")) return SpecialNumber::kNan;
  const bool negative = TakeMinus(text);
  if (!absl::EqualsIgnoreCase(text, "infinity") &&
      !absl::EqualsIgnoreCase(text, "inf")) {
    return std::nullopt;
  }
  return negative ? SpecialNumber::kMinusInfinity : SpecialNumber::kInfinity;
}

std::optional<DecimalText> DecimalText::Read(absl::string_view text) {
  DecimalText read;
  read.negative_ = TakeMinus(text);
  read.whole_ = TakeDigits(text);
  if (read.whole_.empty()) return std::nullopt;
  if (!text.empty() && text.front() == '.') {
    text.remove_prefix(1);
    read.fraction_ = TakeDigits(text);
    if (read.fraction_.empty()) return std::nullopt;
  }
  read.point_ = static_cast<int64_t>(read.whole_.size());
  if (!text.empty()) {
    if (text.front() != 'e' && text.front() != 'E') return std::nullopt;
    const std::optional<int64_t> exponent = ReadExponent(text);
    if (!exponent.has_value()) return std::nullopt;
    read.point_ += *exponent;
  }
  const auto digits =
      static_cast<int64_t>(read.whole_.size() + read.fraction_.size());
  while (read.first_ < digits && read.DigitAt(read.first_) == '0') {
    ++read.first_;
  }
  read.last_ = digits;
  while (read.last_ > read.first_ && read.DigitAt(read.last_ - 1) == '0') {
    --read.last_;
  }
  return read;
}

inline char DecimalText::DigitAt(int64_t index) const {
  const auto place = static_cast<size_t>(index);
  return place < whole_.size() ? whole_[place]
                               : fraction_[place - whole_.size()];
}

int64_t DecimalText::WholeDigits() const {
  return IsZero() ? 0 : std::max<int64_t>(0, point_ - first_);
}

int64_t DecimalText::Decimals() const {
  return IsZero() ? 0 : std::max<int64_t>(0, last_ - point_);
}

std::optional<uint64_t> DecimalText::ToUint64() const {
  DCHECK_EQ(Decimals(), 0);
  if (IsZero()) return 0;
  constexpr int64_t kUint64Digits = 20;
  if (WholeDigits() > kUint64Digits) return std::nullopt;
  uint64_t number = 0;
  for (int64_t i = first_; i < point_; ++i) {
    const auto digit =
        i < last_ ? static_cast<uint64_t>(DigitAt(i) - '0') : uint64_t{0};
    if (__builtin_mul_overflow(number, uint64_t{10}, &number) ||
        __builtin_add_overflow(number, digit, &number)) {
      return std::nullopt;
    }
  }
  return number;
}

ValueFault ParseDecimal(absl::string_view text, uint32_t precision,
                        int32_t scale, Value& value) {
  const std::optional<DecimalText> number = DecimalText::Read(text);
  if (!number.has_value()) {
    const std::optional<SpecialNumber> special = ReadSpecialNumber(text);
    if (!special.has_value()) return ValueFault::kNotNumber;
    if (*special == SpecialNumber::kNan) {
      value = Value::Decimal("NaN");
      return ValueFault::kNone;
    }
    if (precision > 0) return ValueFault::kOutOfRange;
    value = Value::Decimal(*special == SpecialNumber::kInfinity ? "Infinity"
                                                                : "-Infinity");
    return ValueFault::kNone;
  }
  if (precision == 0) {
    if (number->WholeDigits() > kWholeDigitsMax ||
        number->Decimals() > kDecimalsMax) {
      return ValueFault::kOutOfRange;
    }
  } else {
    if (number->Decimals() > scale) return ValueFault::kTooManyDecimals;
    if (number->WholeDigits() > int64_t{precision} - scale) {
      return ValueFault::kTooManyDigits;
    }
  }
  value = Value::Decimal(text);
  return ValueFault::kNone;
}

}  // namespace penstock::core
