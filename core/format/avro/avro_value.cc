#include "core/format/avro/avro_value.h"

#include "core/format/avro/avro_tokens.h"
#include "core/format/rows/typed_value.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <vector>

namespace penstock::core {
namespace {

ValueFault FromNumber(const AvroNode& node, int64_t number,
                      const Column& column, ValueArena& arena, Value& value,
                      absl::string_view& text) {
  if (node.logical != AvroLogical::kNone && !IsIntegerType(column.type)) {
    Value time;
    if (AvroTimeValue(node.logical, number, time)) {
      return ValueOfTime(column, time, arena, value, text);
    }
    text = arena.Copy(absl::StrCat(number));
    return ValueFault::kOutOfRange;
  }
  if (column.type == SqlType::kBigint) {
    value = Value::Int64(number);
    return ValueFault::kNone;
  }
  return ValueOfToken(column, absl::StrCat(number), arena, value, text);
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
    return ValueOfToken(column, printed, arena, value, text);
  }
  return ValueOfBytes(column, bytes, arena, value, text);
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
  absl::string_view bytes;
  switch (node.type) {
    case AvroType::kBoolean: {
      bool boolean = false;
      cursor.ReadBoolean(boolean);
      return ValueOfToken(column, boolean ? "true" : "false", arena, value,
                          text);
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
      return ValueOfReal(column, real, arena, value, text);
    }
    case AvroType::kDouble: {
      double real = 0;
      cursor.ReadDouble(real);
      return ValueOfReal(column, real, arena, value, text);
    }
    case AvroType::kBytes:
      cursor.ReadBytes(bytes);
      return FromBytes(node, bytes, column, arena, value, text);
    case AvroType::kFixed:
      cursor.ReadFixed(node.size, bytes);
      return FromBytes(node, bytes, column, arena, value, text);
    case AvroType::kString:
      cursor.ReadBytes(bytes);
      text = AvroTypeName(node);
      return ValueOfString(column, bytes, arena, value, text);
    case AvroType::kEnum: {
      size_t symbol = 0;
      cursor.ReadSymbol(node, symbol);
      // The schema may be gone before the row is.
      return ValueOfText(column, node.names[symbol], arena, value, text);
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
