#include "core/sinks/postgres/text_value.h"

#include "core/base/checksum.h"
#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/sinks/postgres/array_shape.h"
#include "core/sinks/postgres/numeric.h"
#include "core/sinks/postgres/value_check.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/time/civil_time.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <span>

namespace penstock::core {
namespace {

constexpr int64_t kMicrosPerDay = 86'400'000'000;

// Shortest digits that read back as the same number.
std::string RealText(double real) {
  if (std::isnan(real)) return "NaN";
  if (std::isinf(real)) return real > 0 ? "Infinity" : "-Infinity";
  std::array<char, 32> digits = {};
  const auto end =
      std::to_chars(digits.data(), digits.data() + digits.size(), real);
  return {digits.data(), end.ptr};
}

// With the era, which years before the first one need.
std::string DayText(const absl::CivilDay& day, std::string* era) {
  const bool before = day.year() <= 0;
  *era = before ? " BC" : "";
  return absl::StrFormat("%04d-%02d-%02d", before ? 1 - day.year() : day.year(),
                         day.month(), day.day());
}

std::string UuidText(absl::string_view bytes) {
  const std::string hex = HexBytes(bytes);
  return absl::StrCat(hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                      hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                      hex.substr(20));
}

absl::Status CheckedText(absl::string_view text, const PgColumn& column,
                         std::string& out) {
  RETURN_IF_ERROR(CheckText(text, column));
  out = std::string(text);
  return absl::OkStatus();
}

absl::Status DecimalText(const PgColumn& column, absl::string_view literal,
                         std::string& out) {
  FrameBuffer checked;
  RETURN_IF_ERROR(AppendNumeric(literal, column.scale, checked));
  out = std::string(literal);
  return absl::OkStatus();
}

absl::Status AppendElements(const PgColumn& column,
                            std::span<const Value> values, std::string& out) {
  out.push_back('{');
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out.push_back(',');
    if (values[i].is_null()) {
      out.append("NULL");
    } else if (values[i].kind() == ValueKind::kArray) {
      RETURN_IF_ERROR(AppendElements(column, values[i].AsArray(), out));
    } else {
      std::string element;
      RETURN_IF_ERROR(ReadText(column, values[i], element));
      out.push_back('"');
      for (const char c : element) {
        if (c == '"' || c == '\\') out.push_back('\\');
        out.push_back(c);
      }
      out.push_back('"');
    }
  }
  out.push_back('}');
  return absl::OkStatus();
}

void AppendEscaped(absl::string_view text, FrameBuffer& out) {
  for (const char c : text) {
    switch (c) {
      case '\\':
        out.Append("\\\\");
        break;
      case '\t':
        out.Append("\\t");
        break;
      case '\n':
        out.Append("\\n");
        break;
      case '\r':
        out.Append("\\r");
        break;
      default:
        out.PushBack(c);
    }
  }
}

}  // namespace

// Of a value as its kind, which CheckType has matched with the column, says.
absl::Status ReadText(const PgColumn& column, const Value& value,
                      std::string& out) {
  int64_t micros = 0;
  switch (value.kind()) {
    case ValueKind::kBool:
      out = value.AsBool() ? "t" : "f";
      return absl::OkStatus();
    case ValueKind::kInt64:
      out = absl::StrCat(value.AsInt64());
      return absl::OkStatus();
    case ValueKind::kUint64:
      out = absl::StrCat(value.AsUint64());
      return absl::OkStatus();
    case ValueKind::kDouble:
      out = RealText(value.AsDouble());
      return absl::OkStatus();
    case ValueKind::kDecimal:
      return DecimalText(column, value.AsDecimal(), out);
    case ValueKind::kString:
      return CheckedText(value.AsString(), column, out);
    case ValueKind::kVariant:
      return CheckedText(value.AsVariant(), column, out);
    case ValueKind::kBinary:
      out = absl::StrCat("\\x", HexBytes(value.AsBinary()));
      return absl::OkStatus();
    case ValueKind::kUuid:
      out = UuidText(value.AsUuid());
      return absl::OkStatus();
    case ValueKind::kDate:
      out = DateText(value.AsDate());
      return absl::OkStatus();
    case ValueKind::kTime:
      RETURN_IF_ERROR(ReadTime(value, column, micros));
      out = TimeText(micros);
      return absl::OkStatus();
    case ValueKind::kTimestamp:
    case ValueKind::kTimestamptz:
      RETURN_IF_ERROR(ReadTimestamp(value, column, micros));
      out = TimestampText(micros,
                          value.kind() == ValueKind::kTimestamptz ? "+00" : "");
      return absl::OkStatus();
    case ValueKind::kNull:
    case ValueKind::kArray:
    case ValueKind::kMap:
    case ValueKind::kStruct:
      break;
  }
  return WrongKind(value, column);
}

std::string DateText(int64_t days) {
  if (days == Value::kInfinity) return "infinity";
  if (days == Value::kMinusInfinity) return "-infinity";
  std::string era;
  std::string text = DayText(absl::CivilDay(1970, 1, 1) + days, &era);
  return absl::StrCat(text, era);
}

std::string TimeText(int64_t micros) {
  const int64_t seconds = micros / 1'000'000;
  return absl::StrFormat("%02d:%02d:%02d.%06d", seconds / 3600,
                         seconds / 60 % 60, seconds % 60, micros % 1'000'000);
}

std::string TimestampText(int64_t micros, absl::string_view zone) {
  if (micros == Value::kInfinity) return "infinity";
  if (micros == Value::kMinusInfinity) return "-infinity";
  int64_t days = micros / kMicrosPerDay;
  int64_t rest = micros % kMicrosPerDay;
  if (rest < 0) {
    rest += kMicrosPerDay;
    --days;
  }
  std::string era;
  const std::string day = DayText(absl::CivilDay(1970, 1, 1) + days, &era);
  return absl::StrCat(day, " ", TimeText(rest), zone, era);
}

absl::Status AppendTextValue(const PgColumn& column, const Value& value,
                             FrameBuffer& out) {
  if (value.is_null()) {
    out.Append("\\N");
    return absl::OkStatus();
  }
  std::string text;
  if (column.is_array) {
    ArrayShape shape;
    RETURN_IF_ERROR(MeasureArray(value, column, shape));
    RETURN_IF_ERROR(AppendElements(column, value.AsArray(), text));
  } else {
    RETURN_IF_ERROR(ReadText(column, value, text));
  }
  AppendEscaped(text, out);
  return absl::OkStatus();
}

}  // namespace penstock::core
