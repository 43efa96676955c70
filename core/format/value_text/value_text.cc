#include "core/format/value_text/value_text.h"

#include "core/base/check.h"
#include "core/format/value_text/binary_text.h"
#include "core/format/value_text/date_time_text.h"
#include "core/format/value_text/decimal_text.h"
#include "core/format/value_text/number_text.h"
#include "core/format/value_text/uuid_text.h"

#include <absl/strings/match.h>

#include <algorithm>
#include <cstdint>

namespace penstock::core {
namespace {

ValueFault ParseBoolean(absl::string_view text, Value& value) {
  const bool is_true = absl::EqualsIgnoreCase(text, "true");
  if (!is_true && !absl::EqualsIgnoreCase(text, "false")) {
    return ValueFault::kNotBoolean;
  }
  value = Value::Bool(is_true);
  return ValueFault::kNone;
}

// Whether `text` has more than `characters_max` code points.
bool IsLonger(absl::string_view text, uint32_t characters_max) {
  if (text.size() <= characters_max) return false;
  const auto characters =
      std::count_if(text.begin(), text.end(), [](char byte) {
        // All bytes but those that go on with a character.
        return (static_cast<unsigned char>(byte) & 0xc0) != 0x80;
      });
  return characters > int64_t{characters_max};
}

}  // namespace

ValueFault ParseValueText(const Column& column, absl::string_view text,
                          ValueArena& arena, Value& value) {
  switch (column.type) {
    case SqlType::kBoolean:
      return ParseBoolean(text, value);
    case SqlType::kTinyint:
    case SqlType::kSmallint:
    case SqlType::kInteger:
    case SqlType::kBigint:
    case SqlType::kTinyintUnsigned:
    case SqlType::kSmallintUnsigned:
    case SqlType::kIntegerUnsigned:
    case SqlType::kBigintUnsigned:
      return ParseInteger(text, column.type, value);
    case SqlType::kReal:
      return ParseReal(text, value);
    case SqlType::kDouble:
      return ParseDouble(text, value);
    case SqlType::kDecimal:
      return ParseDecimal(text, column.precision, column.scale, value);
    case SqlType::kVarchar:
      if (column.precision > 0 && IsLonger(text, column.precision)) {
        return ValueFault::kTooLong;
      }
      value = Value::String(text);
      return ValueFault::kNone;
    case SqlType::kVarbinary:
      return ParseBinary(text, column.precision, arena, value);
    case SqlType::kDate:
      return ParseDate(text, value);
    case SqlType::kTime:
      return ParseTime(text, column.precision, value);
    case SqlType::kTimestamp:
      return ParseTimestamp(text, column.precision, value);
    case SqlType::kTimestamptz:
      return ParseTimestamptz(text, column.precision, value);
    case SqlType::kUuid:
      return ParseUuid(text, arena, value);
    case SqlType::kArray:
    case SqlType::kMap:
    case SqlType::kStruct:
    case SqlType::kVariant:
      break;
  }
  CHECK(false) << SqlTypeName(column.type) << " is no single value";
  return ValueFault::kNotSingle;
}

}  // namespace penstock::core
