#include "core/format/infer/text_class.h"

#include "core/base/check.h"
#include "core/format/value_text/binary_text.h"
#include "core/format/value_text/date_time_text.h"
#include "core/format/value_text/decimal_text.h"
#include "core/format/value_text/number_text.h"
#include "core/format/value_text/uuid_text.h"
#include "core/format/value_text/value_print.h"
#include "core/record/value_arena.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/strip.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <string>

namespace penstock::core {
namespace {

constexpr uint32_t kDecimalsMax = 9;
constexpr uint32_t kDecimalsUsual = 6;

// A number as JSON writes it.
struct NumberShape {
  bool negative = false;
  absl::string_view whole;
  absl::string_view fraction;
  bool has_exponent = false;

  // Of those that count.
  size_t SignificantDigits() const {
    const std::string digits = absl::StrCat(whole, fraction);
    const size_t first = digits.find_first_not_of('0');
    if (first == std::string::npos) return 0;
    return digits.find_last_not_of('0') + 1 - first;
  }
};

absl::string_view TakeDigits(absl::string_view& text) {
  size_t size = 0;
  while (size < text.size() && absl::ascii_isdigit(text[size])) ++size;
  const absl::string_view digits = text.substr(0, size);
  text.remove_prefix(size);
  return digits;
}

// nullopt: a plus, zeros in front, no digit beside the point.
std::optional<NumberShape> ReadShape(absl::string_view text) {
  NumberShape shape;
  shape.negative = absl::ConsumePrefix(&text, "-");
  shape.whole = TakeDigits(text);
  if (shape.whole.empty() ||
      (shape.whole.size() > 1 && shape.whole[0] == '0')) {
    return std::nullopt;
  }
  if (absl::ConsumePrefix(&text, ".")) {
    shape.fraction = TakeDigits(text);
    if (shape.fraction.empty()) return std::nullopt;
  }
  if (absl::ConsumePrefix(&text, "e") || absl::ConsumePrefix(&text, "E")) {
    shape.has_exponent = true;
    if (!absl::ConsumePrefix(&text, "-")) absl::ConsumePrefix(&text, "+");
    if (TakeDigits(text).empty()) return std::nullopt;
  }
  if (!text.empty()) return std::nullopt;
  return shape;
}

// Whether the double that is read from `text` says all that the text does.
bool IsKeptByDouble(const NumberShape& shape, absl::string_view text,
                    bool is_token) {
  Value value;
  if (ParseDouble(text, value) != ValueFault::kNone) return false;
  const double read = value.AsDouble();
  std::string printed;
  PrintValue(value, printed);
  if (printed == text) return true;
  // An exponent that would be written otherwise may be anything in text.
  if (shape.has_exponent && !is_token) return false;
  // Who writes 1.50 means two decimals. 1.0 is what many write for 1.
  if (absl::EndsWith(shape.fraction, "0") &&
      !(is_token && shape.fraction == "0")) {
    return false;
  }
  // With so few digits there and back is exact, unless it is denormal.
  const size_t digits = shape.SignificantDigits();
  return digits <= std::numeric_limits<double>::digits10 &&
         (digits == 0 || std::abs(read) >= std::numeric_limits<double>::min());
}

void CountDigits(const NumberShape& shape, absl::string_view text,
                 ClassifiedValue& value) {
  value.whole_digits = static_cast<int64_t>(shape.whole.size());
  value.decimals = static_cast<int64_t>(shape.fraction.size());
  if (!shape.has_exponent) return;
  const std::optional<DecimalText> read = DecimalText::Read(text);
  CHECK(read.has_value()) << text;
  value.whole_digits = read->WholeDigits();
  value.decimals = read->Decimals();
}

// nullopt: it is none, or text that a number does not keep.
std::optional<ClassifiedValue> Number(absl::string_view text, bool is_token) {
  const std::optional<NumberShape> shape = ReadShape(text);
  if (!shape.has_value()) return std::nullopt;
  const bool is_whole = shape->fraction.empty() && !shape->has_exponent &&
                        !(shape->negative && shape->whole == "0");
  Value read;
  if (is_whole &&
      ParseInteger(text, SqlType::kBigint, read) == ValueFault::kNone) {
    return ClassifyInteger(read.AsInt64(), text);
  }
  ClassifiedValue value = {.of = ValueClass::kDecimal};
  if (!is_whole && IsKeptByDouble(*shape, text, is_token)) {
    value.of = ValueClass::kDouble;
    value.fits |= SetOf(SqlType::kDouble);
  } else if (shape->has_exponent && !is_token) {
    return std::nullopt;
  }
  if (ParseDecimal(text, 0, 0, read) == ValueFault::kNone) {
    value.fits |= SetOf(SqlType::kDecimal);
    CountDigits(*shape, text, value);
  }
  return value;
}

// Whether the text that is made of `value` again is the same.
bool PrintsAs(const Value& value, absl::string_view text) {
  std::string printed;
  PrintValue(value, printed);
  return printed == text;
}

bool IsTime(absl::string_view text, ClassifiedValue& value) {
  Value read;
  const absl::string_view day = text.substr(0, text.find_first_of("Tt "));
  if (ParseDate(text, read) == ValueFault::kNone && PrintsAs(read, text)) {
    value.of = ValueClass::kDate;
    value.fits |= SetOf(SqlType::kDate);
    return true;
  }
  const auto is = [&](auto parse, ValueClass of, SqlType type) {
    if (parse(text, kDecimalsMax, read) != ValueFault::kNone) return false;
    value.of = of;
    value.fits |= SetOf(type);
    value.is_fine = parse(text, kDecimalsUsual, read) != ValueFault::kNone;
    return true;
  };
  // hh:mm may be minutes and seconds as well.
  if (text.size() >= 8 && text[2] == ':') {
    return is(ParseTime, ValueClass::kTime, SqlType::kTime);
  }
  if (is(ParseTimestamp, ValueClass::kTimestamp, SqlType::kTimestamp)) {
    return true;
  }
  if (!is(ParseTimestamptz, ValueClass::kTimestamptz, SqlType::kTimestamptz)) {
    return false;
  }
  const absl::string_view zone =
      text.substr(std::min(text.size(), text.find_last_of("Zz+-")));
  value.has_offset = day.size() < text.size() &&
                     zone.find_first_of("123456789") != absl::string_view::npos;
  return true;
}

}  // namespace

absl::string_view ValueClassName(ValueClass of) {
  switch (of) {
    case ValueClass::kBoolean:
      return "booleans";
    case ValueClass::kInteger:
      return "integers";
    case ValueClass::kReal:
      return "reals";
    case ValueClass::kDouble:
      return "doubles";
    case ValueClass::kDecimal:
      return "decimals";
    case ValueClass::kSpecialNumber:
      return "special numbers";
    case ValueClass::kInfinity:
      return "infinite days";
    case ValueClass::kDate:
      return "dates";
    case ValueClass::kTime:
      return "times";
    case ValueClass::kTimestamp:
      return "timestamps";
    case ValueClass::kTimestamptz:
      return "timestamps with a zone";
    case ValueClass::kUuid:
      return "UUIDs";
    case ValueClass::kBinary:
      return "bytes";
    case ValueClass::kText:
      return "text";
    case ValueClass::kArray:
      return "arrays";
    case ValueClass::kObject:
      return "objects";
    case ValueClass::kForeign:
      return "values that no type takes";
  }
  return "?";
}

ClassifiedValue ClassifyInteger(int64_t integer, absl::string_view token) {
  // What a float and a double hold of whole numbers without a gap.
  constexpr int64_t kRealMax = int64_t{1} << 24;
  constexpr int64_t kDoubleMax = int64_t{1} << 53;
  ClassifiedValue value = {.of = ValueClass::kInteger,
                           .fits = SetOf(SqlType::kBigint, SqlType::kDecimal),
                           .integer = integer};
  if (integer >= -kDoubleMax && integer <= kDoubleMax) {
    value.fits |= SetOf(SqlType::kDouble);
  }
  if (integer >= -kRealMax && integer <= kRealMax) {
    value.fits |= SetOf(SqlType::kReal);
  }
  value.whole_digits =
      static_cast<int64_t>(absl::StripPrefix(token, "-").size());
  return value;
}

ClassifiedValue ClassifyNumber(absl::string_view token) {
  const std::optional<ClassifiedValue> number = Number(token, true);
  return number.value_or(ClassifiedValue{.of = ValueClass::kDecimal});
}

ClassifiedValue ClassifyString(absl::string_view text) {
  ClassifiedValue value = {.of = ValueClass::kText,
                           .fits = SetOf(SqlType::kVarchar)};
  if (text == "NaN" || text == "Infinity" || text == "-Infinity") {
    value.of = ValueClass::kSpecialNumber;
    value.fits |= SetOf(SqlType::kReal, SqlType::kDouble, SqlType::kDecimal);
    value.is_infinite = text != "NaN";
    return value;
  }
  if (text == "infinity" || text == "-infinity") {
    value.of = ValueClass::kInfinity;
    value.fits |=
        SetOf(SqlType::kDate, SqlType::kTimestamp, SqlType::kTimestamptz);
    return value;
  }
  ValueArena arena;
  Value read;
  if (absl::StartsWith(text, "\\x")) {
    if (ParseBinary(text, 0, arena, read) == ValueFault::kNone &&
        PrintsAs(read, text)) {
      // No byte alone is no sign of bytes.
      if (text.size() > 2) value.of = ValueClass::kBinary;
      value.fits |= SetOf(SqlType::kVarbinary);
    }
    return value;
  }
  // 32 digits without hyphens may be anything's.
  constexpr size_t kUuidBytes = 36;
  if (text.size() == kUuidBytes &&
      ParseUuid(text, arena, read) == ValueFault::kNone &&
      PrintsAs(read, text)) {
    value.of = ValueClass::kUuid;
    value.fits |= SetOf(SqlType::kUuid);
    return value;
  }
  constexpr size_t kTimeBytesMin = 8;
  if (text.size() >= kTimeBytesMin && absl::ascii_isdigit(text[0])) {
    IsTime(text, value);
  }
  return value;
}

ClassifiedValue ClassifyField(absl::string_view text) {
  if (std::optional<ClassifiedValue> number = Number(text, false)) {
    number->fits |= SetOf(SqlType::kVarchar);
    return *number;
  }
  if (absl::EqualsIgnoreCase(text, "true") ||
      absl::EqualsIgnoreCase(text, "false")) {
    return {.of = ValueClass::kBoolean,
            .fits = SetOf(SqlType::kBoolean, SqlType::kVarchar)};
  }
  return ClassifyString(text);
}

}  // namespace penstock::core
