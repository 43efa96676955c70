#include "core/format/clickhouse/clickhouse_value.h"

#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/format/bad_record.h"
#include "core/format/value_text/decimal_text.h"
#include "core/format/value_text/value_print.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>

#include <array>
#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <utility>

namespace penstock::core {
namespace {

using Kind = ClickHouseKind;

// Date32 and DateTime64: 1900-01-01 to 2299-12-31.
constexpr int64_t kDate32Min = -25'567;
constexpr int64_t kDate32Max = 120'529;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kMicrosPerDay = 86'400 * kMicrosPerSecond;

absl::Status Refused(const ClickHouseType& type, const Value& value) {
  std::string text;
  PrintValue(value, text);
  return MakeRowRefused(
      absl::StrCat(ShowText(text), " does not fit into ", type.name));
}

template <typename T>
absl::Status AppendInteger(const ClickHouseType& type, const Value& value,
                           FrameBuffer& out) {
  using Limits = std::numeric_limits<T>;
  if (value.kind() == ValueKind::kInt64) {
    const int64_t number = value.AsInt64();
    if (!std::in_range<T>(number)) return Refused(type, value);
    AppendLittle(static_cast<T>(number), out);
    return absl::OkStatus();
  }
  if (value.kind() != ValueKind::kUint64) return KindRefused(type, value);
  if (value.AsUint64() > static_cast<uint64_t>(Limits::max())) {
    return Refused(type, value);
  }
  AppendLittle(static_cast<T>(value.AsUint64()), out);
  return absl::OkStatus();
}

absl::Status AppendFloat(const ClickHouseType& type, const Value& value,
                         FrameBuffer& out) {
  if (value.kind() != ValueKind::kDouble) return KindRefused(type, value);
  const double number = value.AsDouble();
  if (type.kind == Kind::kFloat64) {
    AppendLittle(number, out);
    return absl::OkStatus();
  }
  const auto narrow = static_cast<float>(number);
  if (static_cast<double>(narrow) != number && !std::isnan(number)) {
    return Refused(type, value);
  }
  AppendLittle(narrow, out);
  return absl::OkStatus();
}

size_t DecimalBytes(uint32_t precision) {
  if (precision <= 9) return 4;
  if (precision <= 18) return 8;
  return precision <= 38 ? 16 : 32;
}

// 256 bits, the least significant first.
using Wide = std::array<uint32_t, 8>;

void TimesTenPlus(uint32_t digit, Wide& wide) {
  uint64_t carry = digit;
  for (uint32_t& part : wide) {
    carry += uint64_t{part} * 10;
    part = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
}

void Negate(Wide& wide) {
  uint64_t carry = 1;
  for (uint32_t& part : wide) {
    carry += static_cast<uint32_t>(~part);
    part = static_cast<uint32_t>(carry);
    carry >>= 32;
  }
}

// The digits of a literal, from the first one that counts on, as an integer of
// 10^-scale. Requires: it fits, so that none is lost.
Wide ScaledDigits(absl::string_view literal, const DecimalText& number,
                  uint32_t scale) {
  Wide wide{};
  if (number.IsZero()) return wide;
  // Below 0 the magnitude counts the zeros between the point and that digit.
  int64_t left = number.Magnitude() + scale;
  bool counts = false;
  for (const char c : literal) {
    if (left == 0 || c == 'e' || c == 'E') break;
    if (c < '0' || c > '9') continue;
    counts = counts || c != '0';
    if (!counts) continue;
    TimesTenPlus(static_cast<uint32_t>(c - '0'), wide);
    --left;
  }
  for (; left > 0; --left) TimesTenPlus(0, wide);
  return wide;
}

absl::Status AppendDecimal(const ClickHouseType& type, const Value& value,
                           FrameBuffer& out) {
  std::string printed;
  absl::string_view literal;
  if (value.kind() == ValueKind::kDecimal) {
    literal = value.AsDecimal();
  } else if (value.kind() == ValueKind::kInt64 ||
             value.kind() == ValueKind::kUint64) {
    PrintValue(value, printed);
    literal = printed;
  } else {
    return KindRefused(type, value);
  }
  const std::optional<DecimalText> number = DecimalText::Read(literal);
  if (!number.has_value() || number->Decimals() > type.scale ||
      number->WholeDigits() > int64_t{type.precision} - type.scale) {
    return Refused(type, value);
  }
  Wide wide = ScaledDigits(literal, *number, type.scale);
  if (number->negative()) Negate(wide);
  const size_t bytes = DecimalBytes(type.precision);
  for (size_t i = 0; i < bytes / sizeof(uint32_t); ++i) {
    AppendLittle(wide[i], out);
  }
  return absl::OkStatus();
}

absl::Status AppendDate(const ClickHouseType& type, const Value& value,
                        FrameBuffer& out) {
  if (value.kind() != ValueKind::kDate) return KindRefused(type, value);
  const int64_t days = value.AsDate();
  if (type.kind == Kind::kDate) {
    if (!std::in_range<uint16_t>(days)) return Refused(type, value);
    AppendLittle(static_cast<uint16_t>(days), out);
    return absl::OkStatus();
  }
  if (days < kDate32Min || days > kDate32Max) return Refused(type, value);
  AppendLittle(static_cast<int32_t>(days), out);
  return absl::OkStatus();
}

absl::Status AppendMoment(const ClickHouseType& type, const Value& value,
                          FrameBuffer& out) {
  const bool has_zone = value.kind() == ValueKind::kTimestamptz;
  if (!has_zone && value.kind() != ValueKind::kTimestamp) {
    return KindRefused(type, value);
  }
  const int64_t micros = has_zone ? value.AsTimestamptz() : value.AsTimestamp();
  int64_t seconds = micros / kMicrosPerSecond;
  int64_t nanos = micros % kMicrosPerSecond * 1'000 + value.nanos();
  if (nanos < 0) {
    nanos += 1'000'000'000;
    --seconds;
  }
  if (type.kind == Kind::kDateTime) {
    if (nanos != 0 || !std::in_range<uint32_t>(seconds)) {
      return Refused(type, value);
    }
    AppendLittle(static_cast<uint32_t>(seconds), out);
    return absl::OkStatus();
  }
  if (micros < kDate32Min * kMicrosPerDay ||
      micros >= (kDate32Max + 1) * kMicrosPerDay) {
    return Refused(type, value);
  }
  int64_t ticks_per_second = 1;
  int64_t nanos_per_tick = 1'000'000'000;
  for (uint32_t i = 0; i < type.precision; ++i) {
    ticks_per_second *= 10;
    nanos_per_tick /= 10;
  }
  int64_t ticks = 0;
  if (nanos % nanos_per_tick != 0 ||
      __builtin_mul_overflow(seconds, ticks_per_second, &ticks) ||
      __builtin_add_overflow(ticks, nanos / nanos_per_tick, &ticks)) {
    return Refused(type, value);
  }
  AppendLittle(ticks, out);
  return absl::OkStatus();
}

void AppendText(absl::string_view text, FrameBuffer& out) {
  AppendLength(text.size(), out);
  out.Append(text);
}

absl::Status AppendString(const ClickHouseType& type, const Value& value,
                          FrameBuffer& out) {
  switch (value.kind()) {
    case ValueKind::kString:
      AppendText(value.AsString(), out);
      return absl::OkStatus();
    case ValueKind::kBinary:
      AppendText(value.AsBinary(), out);
      return absl::OkStatus();
    case ValueKind::kVariant:
      AppendText(value.AsVariant(), out);
      return absl::OkStatus();
    case ValueKind::kArray:
    case ValueKind::kMap:
    case ValueKind::kStruct:
    case ValueKind::kNull:
      return KindRefused(type, value);
    default: {
      std::string text;
      PrintValue(value, text);
      AppendText(text, out);
      return absl::OkStatus();
    }
  }
}

// Two halves of eight bytes, each the least significant first.
absl::Status AppendUuid(const ClickHouseType& type, const Value& value,
                        FrameBuffer& out) {
  if (value.kind() != ValueKind::kUuid) return KindRefused(type, value);
  const absl::string_view bytes = value.AsUuid();
  for (const size_t half : {size_t{8}, size_t{16}}) {
    for (size_t i = 1; i <= 8; ++i) out.PushBack(bytes[half - i]);
  }
  return absl::OkStatus();
}

}  // namespace

void AppendLength(uint64_t length, FrameBuffer& out) {
  while (length >= 0x80) {
    out.PushBack(static_cast<char>(length | 0x80));
    length >>= 7;
  }
  out.PushBack(static_cast<char>(length));
}

absl::Status AppendClickHouseSingle(const ClickHouseType& type,
                                    const Value& value, FrameBuffer& out) {
  switch (type.kind) {
    case Kind::kInt8:
      return AppendInteger<int8_t>(type, value, out);
    case Kind::kInt16:
      return AppendInteger<int16_t>(type, value, out);
    case Kind::kInt32:
      return AppendInteger<int32_t>(type, value, out);
    case Kind::kInt64:
      return AppendInteger<int64_t>(type, value, out);
    case Kind::kUint8:
      if (value.kind() == ValueKind::kBool) {
        out.PushBack(value.AsBool() ? 1 : 0);
        return absl::OkStatus();
      }
      return AppendInteger<uint8_t>(type, value, out);
    case Kind::kUint16:
      return AppendInteger<uint16_t>(type, value, out);
    case Kind::kUint32:
      return AppendInteger<uint32_t>(type, value, out);
    case Kind::kUint64:
      return AppendInteger<uint64_t>(type, value, out);
    case Kind::kFloat32:
    case Kind::kFloat64:
      return AppendFloat(type, value, out);
    case Kind::kDecimal:
      return AppendDecimal(type, value, out);
    case Kind::kString:
      return AppendString(type, value, out);
    case Kind::kDate:
    case Kind::kDate32:
      return AppendDate(type, value, out);
    case Kind::kDateTime:
    case Kind::kDateTime64:
      return AppendMoment(type, value, out);
    case Kind::kUuid:
      return AppendUuid(type, value, out);
    case Kind::kArray:
    case Kind::kMap:
    case Kind::kTuple:
      break;
  }
  return KindRefused(type, value);
}

void AppendClickHouseDefault(const ClickHouseType& type, FrameBuffer& out) {
  size_t bytes = 8;
  switch (type.kind) {
    case Kind::kInt8:
    case Kind::kUint8:
    case Kind::kString:
      bytes = 1;
      break;
    case Kind::kInt16:
    case Kind::kUint16:
    case Kind::kDate:
      bytes = 2;
      break;
    case Kind::kInt32:
    case Kind::kUint32:
    case Kind::kFloat32:
    case Kind::kDate32:
    case Kind::kDateTime:
      bytes = 4;
      break;
    case Kind::kDecimal:
      bytes = DecimalBytes(type.precision);
      break;
    case Kind::kUuid:
      bytes = 16;
      break;
    default:
      break;
  }
  for (size_t i = 0; i < bytes; ++i) out.PushBack(0);
}

absl::Status NullRefused(const ClickHouseType& type) {
  return MakeRowRefused(absl::StrCat("null does not fit into ", type.name,
                                     type.children.empty()
                                         ? "; make the column Nullable"
                                         : ", which cannot be null"));
}

absl::Status KindRefused(const ClickHouseType& type, const Value& value) {
  return MakeRowRefused(absl::StrCat("a value of kind ",
                                     ValueKindName(value.kind()),
                                     " does not fit into ", type.name));
}

}  // namespace penstock::core
