#include "core/format/value_text/number_text.h"

#include "core/base/check.h"
#include "core/format/value_text/decimal_text.h"

#include <absl/strings/strip.h>

#include <array>
#include <cfloat>
#include <charconv>
#include <cstdint>
#include <limits>
#include <optional>
#include <system_error>

namespace penstock::core {
namespace {

template <typename Integer>
constexpr IntegerRange RangeOf() {
  using Limits = std::numeric_limits<Integer>;
  return {.min = static_cast<int64_t>(Limits::min()),
          .max = static_cast<uint64_t>(Limits::max()),
          .is_signed = Limits::is_signed};
}

ValueFault MakeInteger(bool negative, uint64_t size, const IntegerRange& range,
                       Value& value) {
  if (negative) {
    // That of INT64_MIN, too, which has no positive counterpart.
    const uint64_t lowest = uint64_t{0} - static_cast<uint64_t>(range.min);
    if (size > lowest) return ValueFault::kOutOfRange;
    size = uint64_t{0} - size;
  } else if (size > range.max) {
    return ValueFault::kOutOfRange;
  }
  value = range.is_signed ? Value::Int64(static_cast<int64_t>(size))
                          : Value::Uint64(size);
  return ValueFault::kNone;
}

// What is not just digits, or too many of them.
ValueFault ParseOddInteger(absl::string_view text, const IntegerRange& range,
                           Value& value) {
  const std::optional<DecimalText> number = DecimalText::Read(text);
  if (!number.has_value()) {
    return ReadSpecialNumber(text).has_value() ? ValueFault::kNotInteger
                                               : ValueFault::kNotNumber;
  }
  if (number->Decimals() > 0) return ValueFault::kNotInteger;
  const std::optional<uint64_t> size = number->ToUint64();
  if (!size.has_value()) return ValueFault::kOutOfRange;
  return MakeInteger(number->negative(), *size, range, value);
}

template <typename Float>
Float SpecialOf(SpecialNumber special) {
  using Limits = std::numeric_limits<Float>;
  switch (special) {
    case SpecialNumber::kNan:
      return Limits::quiet_NaN();
    case SpecialNumber::kInfinity:
      return Limits::infinity();
    case SpecialNumber::kMinusInfinity:
      return -Limits::infinity();
  }
  return 0;
}

// Exactness of the short way: powers of ten and the digits before them are held
// exactly, and one division is rounded once.
static_assert(FLT_EVAL_METHOD == 0 && std::numeric_limits<double>::is_iec559);

template <typename Float>
constexpr auto MakePowersOfTen() {
  std::array<Float, std::numeric_limits<Float>::digits10 + 1> powers{};
  Float power = 1;
  for (Float& each : powers) {
    each = power;
    power *= 10;
  }
  return powers;
}

// The short way for what most numbers are: few digits and no exponent.
// nullopt: it has to be the long way.
// Source: Clinger, "How to Read Floating Point Numbers Accurately", 1990.
template <typename Float>
std::optional<Float> ReadShortNumber(absl::string_view text) {
  static constexpr auto kPowers = MakePowersOfTen<Float>();
  // A sign, digits, the point.
  if (text.size() > kPowers.size() + 1 || text.empty()) return std::nullopt;
  const bool negative = text.front() == '-';
  const char* const end = text.data() + text.size();
  const char* const begin = text.data() + (negative ? 1 : 0);
  const char* point = end;
  uint64_t digits = 0;
  const char* at = begin;
  for (; at < end; ++at) {
    const auto digit = static_cast<unsigned char>(*at - '0');
    if (digit <= 9) {
      digits = digits * 10 + digit;
    } else if (*at == '.' && point == end) {
      point = at;
    } else {
      return std::nullopt;
    }
  }
  const bool has_point = point != end;
  const auto count = static_cast<size_t>(end - begin) - (has_point ? 1 : 0);
  // A digit at either end.
  if (count >= kPowers.size() || point == begin || end[-1] == '.') {
    return std::nullopt;
  }
  const auto decimals = static_cast<size_t>(end - point) - (has_point ? 1 : 0);
  const Float size = static_cast<Float>(digits) / kPowers[decimals];
  return negative ? -size : size;
}

template <typename Float>
ValueFault ParseFloat(absl::string_view text, Value& value) {
  if (const std::optional<Float> number = ReadShortNumber<Float>(text)) {
    value = Value::Double(double{*number});
    return ValueFault::kNone;
  }
  const std::optional<DecimalText> number = DecimalText::Read(text);
  if (!number.has_value()) {
    const std::optional<SpecialNumber> special = ReadSpecialNumber(text);
    if (!special.has_value()) return ValueFault::kNotNumber;
    value = Value::Double(double{SpecialOf<Float>(*special)});
    return ValueFault::kNone;
  }
  // from_chars knows no plus.
  text = absl::StripPrefix(text, "+");
  Float nearest = 0;
  const std::from_chars_result read =
      std::from_chars(text.data(), text.data() + text.size(), nearest);
  if (read.ec == std::errc::result_out_of_range) {
    if (!number->IsZero() && number->Magnitude() > 0) {
      return ValueFault::kOutOfRange;
    }
    nearest = number->negative() ? -Float{0} : Float{0};
  }
  value = Value::Double(double{nearest});
  return ValueFault::kNone;
}

}  // namespace

IntegerRange IntegerRangeOf(SqlType type) {
  switch (type) {
    case SqlType::kTinyint:
      return RangeOf<int8_t>();
    case SqlType::kSmallint:
      return RangeOf<int16_t>();
    case SqlType::kInteger:
      return RangeOf<int32_t>();
    case SqlType::kBigint:
      return RangeOf<int64_t>();
    case SqlType::kTinyintUnsigned:
      return RangeOf<uint8_t>();
    case SqlType::kSmallintUnsigned:
      return RangeOf<uint16_t>();
    case SqlType::kIntegerUnsigned:
      return RangeOf<uint32_t>();
    case SqlType::kBigintUnsigned:
      return RangeOf<uint64_t>();
    default:
      CHECK(false) << SqlTypeName(type) << " is no integer";
      return {};
  }
}

ValueFault ParseInteger(absl::string_view text, const IntegerRange& range,
                        Value& value) {
  if (ParseShortInteger(text, range, value)) [[likely]] {
    return ValueFault::kNone;
  }
  const bool negative = !text.empty() && text.front() == '-';
  const absl::string_view digits = text.substr(negative ? 1 : 0);
  // No 19 digits overflow.
  constexpr size_t kDigitsMax = 19;
  if (digits.empty() || digits.size() > kDigitsMax) {
    return ParseOddInteger(text, range, value);
  }
  uint64_t size = 0;
  for (const char c : digits) {
    const auto digit = static_cast<unsigned char>(c - '0');
    if (digit > 9) return ParseOddInteger(text, range, value);
    size = size * 10 + digit;
  }
  return MakeInteger(negative, size, range, value);
}

ValueFault ParseDouble(absl::string_view text, Value& value) {
  if (ParseShortDouble(text, value)) [[likely]] {
    return ValueFault::kNone;
  }
  return ParseFloat<double>(text, value);
}

ValueFault ParseReal(absl::string_view text, Value& value) {
  return ParseFloat<float>(text, value);
}

}  // namespace penstock::core
