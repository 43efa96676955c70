#include "core/format/avro/avro_value.h"

#include "core/base/json_text.h"
#include "core/format/avro/avro_tokens.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_print.h"
#include "core/format/value_text/value_text.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <vector>

namespace penstock::core {
namespace {

bool IsInteger(SqlType type) {
  switch (type) {
    case SqlType::kTinyint:
    case SqlType::kSmallint:
    case SqlType::kInteger:
    case SqlType::kBigint:
    case SqlType::kTinyintUnsigned:
    case SqlType::kSmallintUnsigned:
    case SqlType::kIntegerUnsigned:
    case SqlType::kBigintUnsigned:
      return true;
    default:
      return false;
  }
}

// Whether the value of such a column may view the text that it is made of.
bool ViewsText(SqlType type) {
  return type == SqlType::kDecimal || type == SqlType::kVarchar;
}

// The value that `printed`, which lies nowhere for long, is in `column`.
ValueFault FromText(const Column& column, absl::string_view printed,
                    ValueArena& arena, Value& value, absl::string_view& text) {
  if (ViewsText(column.type)) printed = arena.Copy(printed);
  const ValueFault fault = ParseValueText(column, printed, arena, value);
  if (fault != ValueFault::kNone) text = arena.Copy(printed);
  return fault;
}

ValueFault FromToken(const Column& column, absl::string_view printed,
                     ValueArena& arena, Value& value, absl::string_view& text) {
  if (TakesToken(column.type)) {
    return FromText(column, printed, arena, value, text);
  }
  text = arena.Copy(printed);
  return ValueFault::kNotText;
}

// Floats with the fewest digits that give them back, and the names that columns
// take of what is none.
template <typename Real>
absl::string_view PrintReal(Real real, std::array<char, 32>& digits) {
  if (std::isnan(real)) return "NaN";
  if (std::isinf(real)) return real < 0 ? "-Infinity" : "Infinity";
  const std::to_chars_result end =
      std::to_chars(digits.data(), digits.data() + digits.size(), real);
  return {digits.data(), static_cast<size_t>(end.ptr - digits.data())};
}

// More decimals of a second than the column has?
bool IsTooFine(const Column& column, uint64_t nanos) {
  uint64_t unit = 1;
  for (uint32_t i = column.precision; i < 9; ++i) unit *= 10;
  return nanos % unit != 0;
}

// `time` as a value of the column: as it is, or of another type by its text.
ValueFault FromTime(const Column& column, const Value& time, ValueArena& arena,
                    Value& value, absl::string_view& text) {
  std::string printed;
  PrintValue(time, printed);
  text = arena.Copy(printed);
  switch (time.kind()) {
    case ValueKind::kDate:
      if (column.type != SqlType::kDate) break;
      value = time;
      return ValueFault::kNone;
    case ValueKind::kTime:
      if (column.type != SqlType::kTime) break;
      if (IsTooFine(column, static_cast<uint64_t>(time.AsTime()))) {
        return ValueFault::kTooManyDecimals;
      }
      value = time;
      return ValueFault::kNone;
    case ValueKind::kTimestamp:
      if (column.type == SqlType::kTimestamptz) return ValueFault::kNoZone;
      if (column.type != SqlType::kTimestamp) break;
      if (IsTooFine(column, static_cast<uint64_t>(
                                (time.AsTimestamp() % 1'000'000 + 1'000'000) %
                                    1'000'000 * 1'000 +
                                time.nanos()))) {
        return ValueFault::kTooManyDecimals;
      }
      value = time;
      return ValueFault::kNone;
    case ValueKind::kTimestamptz: {
      // A moment of Avro is in UTC: without its zone it is the time there.
      const bool drops_zone = column.type == SqlType::kTimestamp;
      if (column.type != SqlType::kTimestamptz && !drops_zone) break;
      const int64_t micros = time.AsTimestamptz();
      if (IsTooFine(column,
                    static_cast<uint64_t>((micros % 1'000'000 + 1'000'000) %
                                              1'000'000 * 1'000 +
                                          time.nanos()))) {
        return ValueFault::kTooManyDecimals;
      }
      value = drops_zone ? Value::Timestamp(micros, time.nanos()) : time;
      return ValueFault::kNone;
    }
    default:
      break;
  }
  return ParseValueText(column, text, arena, value);
}

ValueFault FromNumber(const AvroNode& node, int64_t number,
                      const Column& column, ValueArena& arena, Value& value,
                      absl::string_view& text) {
  if (node.logical != AvroLogical::kNone && !IsInteger(column.type)) {
    Value time;
    if (AvroTimeValue(node.logical, number, time)) {
      return FromTime(column, time, arena, value, text);
    }
    text = arena.Copy(absl::StrCat(number));
    return ValueFault::kOutOfRange;
  }
  if (column.type == SqlType::kBigint) {
    value = Value::Int64(number);
    return ValueFault::kNone;
  }
  return FromToken(column, absl::StrCat(number), arena, value, text);
}

ValueFault FromBytes(const AvroNode& node, absl::string_view bytes,
                     const Column& column, ValueArena& arena, Value& value,
                     absl::string_view& text) {
  text = AvroTypeName(node);
  if (node.logical == AvroLogical::kDecimal &&
      column.type != SqlType::kVarbinary) {
    std::string printed;
    if (!PrintAvroDecimal(bytes, node.scale, printed)) {
      return ValueFault::kTooManyDigits;
    }
    return FromToken(column, printed, arena, value, text);
  }
  switch (column.type) {
    case SqlType::kVarbinary:
      if (column.precision > 0 && bytes.size() > column.precision) {
        return ValueFault::kTooLong;
      }
      value = Value::Binary(bytes);
      return ValueFault::kNone;
    case SqlType::kUuid:
      if (bytes.size() != 16) return ValueFault::kNotUuid;
      value = Value::Uuid(bytes);
      return ValueFault::kNone;
    case SqlType::kVarchar:
      // Avro calls bytes and text two forms of the same.
      if (!IsUtf8(bytes)) return ValueFault::kNotUtf8;
      text = bytes;
      return ParseValueText(column, bytes, arena, value);
    default:
      return ValueFault::kIsBinary;
  }
}

ValueFault FromString(const AvroNode& node, absl::string_view bytes,
                      const Column& column, ValueArena& arena, Value& value,
                      absl::string_view& text) {
  if (column.type == SqlType::kVarbinary) {
    return FromBytes(node, bytes, column, arena, value, text);
  }
  text = AvroTypeName(node);
  if (!IsUtf8(bytes)) return ValueFault::kNotUtf8;
  text = bytes;
  return ParseValueText(column, bytes, arena, value);
}

}  // namespace

bool AvroTimeValue(AvroLogical logical, int64_t number, Value& value) {
  constexpr int64_t kNanosPerDay = 86'400'000'000'000;
  // Days of the years that a date may have, far within; the least and the
  // greatest number mean infinity.
  constexpr int64_t kDaysMax = 1'000'000'000;
  constexpr int64_t kMicrosMax = INT64_MAX - 1;
  const auto time = [&](int64_t unit) {
    if (number < 0 || number > kNanosPerDay / unit) return false;
    value = Value::Time(number * unit);
    return true;
  };
  const auto timestamp = [&](bool has_zone, int64_t micros, uint32_t nanos) {
    value = has_zone ? Value::Timestamptz(micros, nanos)
                     : Value::Timestamp(micros, nanos);
    return true;
  };
  const auto finer = [&](bool has_zone) {
    const int64_t nanos = (number % 1'000 + 1'000) % 1'000;
    return timestamp(has_zone, (number - nanos) / 1'000,
                     static_cast<uint32_t>(nanos));
  };
  switch (logical) {
    case AvroLogical::kDate:
      if (number > kDaysMax || number < -kDaysMax) return false;
      value = Value::Date(number);
      return true;
    case AvroLogical::kTimeMillis:
      return time(1'000'000);
    case AvroLogical::kTimeMicros:
      return time(1'000);
    case AvroLogical::kTimeNanos:
      return time(1);
    case AvroLogical::kTimestampMillis:
    case AvroLogical::kLocalMillis:
      if (number > kMicrosMax / 1'000 || number < -(kMicrosMax / 1'000)) {
        return false;
      }
      return timestamp(logical == AvroLogical::kTimestampMillis, number * 1'000,
                       0);
    case AvroLogical::kTimestampMicros:
    case AvroLogical::kLocalMicros:
      if (number > kMicrosMax || number < -kMicrosMax) return false;
      return timestamp(logical == AvroLogical::kTimestampMicros, number, 0);
    case AvroLogical::kTimestampNanos:
    case AvroLogical::kLocalNanos:
      if (number < INT64_MIN + 1'000) return false;
      return finer(logical == AvroLogical::kTimestampNanos);
    case AvroLogical::kNone:
    case AvroLogical::kDecimal:
    case AvroLogical::kUuid:
      break;
  }
  return false;
}

bool PrintAvroDecimal(absl::string_view bytes, uint32_t scale,
                      std::string& to) {
  // More have more digits than a decimal may.
  constexpr size_t kBytesMax = 512;
  if (bytes.size() > kBytesMax) return false;
  const bool is_negative =
      !bytes.empty() && static_cast<unsigned char>(bytes[0]) >= 0x80;
  std::vector<unsigned char> magnitude(bytes.begin(), bytes.end());
  if (is_negative) {
    unsigned carry = 1;
    for (size_t i = magnitude.size(); i-- > 0;) {
      const unsigned sum = (~magnitude[i] & 0xffu) + carry;
      magnitude[i] = static_cast<unsigned char>(sum);
      carry = sum >> 8;
    }
  }
  // By nine digits at a time, the last ones first.
  std::string digits;
  size_t begin = 0;
  while (true) {
    while (begin < magnitude.size() && magnitude[begin] == 0) ++begin;
    if (begin == magnitude.size()) break;
    uint64_t rest = 0;
    for (size_t i = begin; i < magnitude.size(); ++i) {
      rest = rest << 8 | magnitude[i];
      magnitude[i] = static_cast<unsigned char>(rest / 1'000'000'000);
      rest %= 1'000'000'000;
    }
    for (int i = 0; i < 9; ++i) {
      digits.push_back(static_cast<char>('0' + rest % 10));
      rest /= 10;
    }
  }
  while (digits.size() > scale + 1 && digits.back() == '0') digits.pop_back();
  while (digits.size() < scale + 1) digits.push_back('0');
  std::reverse(digits.begin(), digits.end());
  if (is_negative) to.push_back('-');
  to.append(digits, 0, digits.size() - scale);
  if (scale > 0)
    absl::StrAppend(&to, ".", digits.substr(digits.size() - scale));
  return true;
}

ValueFault ReadAvroValue(AvroCursor& cursor, const AvroNode& node,
                         const Column& column, ValueArena& arena, Value& value,
                         absl::string_view& text) {
  std::array<char, 32> digits;
  absl::string_view bytes;
  switch (node.type) {
    case AvroType::kBoolean: {
      bool boolean = false;
      cursor.ReadBoolean(boolean);
      return FromToken(column, boolean ? "true" : "false", arena, value, text);
    }
    case AvroType::kInt:
    case AvroType::kLong: {
      int64_t number = 0;
      cursor.ReadLong(number);
      return FromNumber(node, number, column, arena, value, text);
    }
    case AvroType::kFloat: {
      float real = 0;
      cursor.ReadFloat(real);
      if (column.type == SqlType::kReal || column.type == SqlType::kDouble) {
        value = Value::Double(real);
        return ValueFault::kNone;
      }
      return FromToken(column, PrintReal(real, digits), arena, value, text);
    }
    case AvroType::kDouble: {
      double real = 0;
      cursor.ReadDouble(real);
      if (column.type == SqlType::kDouble) {
        value = Value::Double(real);
        return ValueFault::kNone;
      }
      return FromToken(column, PrintReal(real, digits), arena, value, text);
    }
    case AvroType::kBytes:
      cursor.ReadBytes(bytes);
      return FromBytes(node, bytes, column, arena, value, text);
    case AvroType::kFixed:
      cursor.ReadFixed(node.size, bytes);
      return FromBytes(node, bytes, column, arena, value, text);
    case AvroType::kString:
      cursor.ReadBytes(bytes);
      return FromString(node, bytes, column, arena, value, text);
    case AvroType::kEnum: {
      size_t symbol = 0;
      cursor.ReadSymbol(node, symbol);
      // The schema may be gone before the row is.
      return FromText(column, node.names[symbol], arena, value, text);
    }
    case AvroType::kNull:
    case AvroType::kArray:
    case AvroType::kMap:
    case AvroType::kUnion:
    case AvroType::kRecord:
      break;
  }
  return ValueFault::kNotSingle;
}

}  // namespace penstock::core
