#include "core/format/rows/typed_value.h"

#include "core/base/json_text.h"
#include "core/format/rows/row_token.h"
#include "core/format/value_text/value_print.h"
#include "core/format/value_text/value_text.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <string>

namespace penstock::core {
namespace {

// Whether the value of such a column may view the text that it is made of.
bool ViewsText(SqlType type) {
  return type == SqlType::kDecimal || type == SqlType::kVarchar;
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

}  // namespace

bool IsIntegerType(SqlType type) {
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

ValueFault ValueOfText(const Column& column, absl::string_view printed,
                       ValueArena& arena, Value& value,
                       absl::string_view& text) {
  if (ViewsText(column.type)) printed = arena.Copy(printed);
  const ValueFault fault = ParseValueText(column, printed, arena, value);
  if (fault != ValueFault::kNone) text = arena.Copy(printed);
  return fault;
}

ValueFault ValueOfToken(const Column& column, absl::string_view printed,
                        ValueArena& arena, Value& value,
                        absl::string_view& text) {
  if (TakesToken(column.type)) {
    return ValueOfText(column, printed, arena, value, text);
  }
  text = arena.Copy(printed);
  return ValueFault::kNotText;
}

ValueFault ValueOfReal(const Column& column, float real, ValueArena& arena,
                       Value& value, absl::string_view& text) {
  if (column.type == SqlType::kReal || column.type == SqlType::kDouble) {
    value = Value::Double(real);
    return ValueFault::kNone;
  }
  std::array<char, 32> digits;
  return ValueOfToken(column, PrintReal(real, digits), arena, value, text);
}

ValueFault ValueOfReal(const Column& column, double real, ValueArena& arena,
                       Value& value, absl::string_view& text) {
  if (column.type == SqlType::kDouble) {
    value = Value::Double(real);
    return ValueFault::kNone;
  }
  std::array<char, 32> digits;
  return ValueOfToken(column, PrintReal(real, digits), arena, value, text);
}

ValueFault ValueOfTime(const Column& column, const Value& time,
                       ValueArena& arena, Value& value,
                       absl::string_view& text) {
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
      // Without its zone it is the time in UTC.
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

ValueFault ValueOfBytes(const Column& column, absl::string_view bytes,
                        ValueArena& arena, Value& value,
                        absl::string_view& text) {
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
      // Bytes of UTF-8 are text.
      if (!IsUtf8(bytes)) return ValueFault::kNotUtf8;
      text = bytes;
      return ParseValueText(column, bytes, arena, value);
    default:
      return ValueFault::kIsBinary;
  }
}

ValueFault ValueOfString(const Column& column, absl::string_view bytes,
                         ValueArena& arena, Value& value,
                         absl::string_view& text) {
  if (column.type == SqlType::kVarbinary) {
    return ValueOfBytes(column, bytes, arena, value, text);
  }
  if (!IsUtf8(bytes)) return ValueFault::kNotUtf8;
  text = bytes;
  return ParseValueText(column, bytes, arena, value);
}

ValueFault AppendTextJson(absl::string_view text, std::string& json) {
  AppendJsonString(text, json);
  return IsUtf8(text) ? ValueFault::kNone : ValueFault::kNotUtf8;
}

}  // namespace penstock::core
