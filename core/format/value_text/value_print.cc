#include "core/format/value_text/value_print.h"

#include "core/base/check.h"
#include "core/base/checksum.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/string_view.h>
#include <absl/time/civil_time.h>

#include <array>
#include <charconv>
#include <cmath>
#include <cstdint>

namespace penstock::core {
namespace {

constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr int64_t kMicrosPerDay = 86'400'000'000;

void PrintDouble(double real, std::string& to) {
  if (std::isnan(real)) {
    to += "NaN";
  } else if (std::isinf(real)) {
    to += real > 0 ? "Infinity" : "-Infinity";
  } else {
    std::array<char, 32> digits = {};
    const auto end =
        std::to_chars(digits.data(), digits.data() + digits.size(), real);
    to.append(digits.data(), end.ptr);
  }
}

// Returns the era, which comes last.
absl::string_view PrintDay(int64_t days, std::string& to) {
  const absl::CivilDay day = absl::CivilDay(1970, 1, 1) + days;
  const bool is_before = day.year() <= 0;
  absl::StrAppendFormat(&to, "%04d-%02d-%02d",
                        is_before ? 1 - day.year() : day.year(), day.month(),
                        day.day());
  return is_before ? " BC" : "";
}

void PrintTime(int64_t nanos, std::string& to) {
  const int64_t seconds = nanos / kNanosPerSecond;
  absl::StrAppendFormat(&to, "%02d:%02d:%02d", seconds / 3600,
                        seconds / 60 % 60, seconds % 60);
  const int64_t fraction = nanos % kNanosPerSecond;
  if (fraction == 0) return;
  absl::StrAppendFormat(&to, ".%09d", fraction);
  to.erase(to.find_last_not_of('0') + 1);
}

void PrintMoment(int64_t micros, uint32_t nanos, absl::string_view zone,
                 std::string& to) {
  if (micros == Value::kInfinity || micros == Value::kMinusInfinity) {
    to += micros > 0 ? "infinity" : "-infinity";
    return;
  }
  int64_t days = micros / kMicrosPerDay;
  int64_t rest = micros % kMicrosPerDay;
  if (rest < 0) {
    rest += kMicrosPerDay;
    --days;
  }
  const absl::string_view era = PrintDay(days, to);
  to += ' ';
  PrintTime(rest * 1'000 + nanos, to);
  absl::StrAppend(&to, zone, era);
}

void PrintUuid(absl::string_view bytes, std::string& to) {
  const std::string hex = HexBytes(bytes);
  absl::StrAppend(&to, hex.substr(0, 8), "-", hex.substr(8, 4), "-",
                  hex.substr(12, 4), "-", hex.substr(16, 4), "-",
                  hex.substr(20));
}

void PrintDate(int64_t days, std::string& to) {
  if (days == Value::kInfinity || days == Value::kMinusInfinity) {
    to += days > 0 ? "infinity" : "-infinity";
    return;
  }
  const absl::string_view era = PrintDay(days, to);
  absl::StrAppend(&to, era);
}

}  // namespace

void PrintValue(const Value& value, std::string& to) {
  switch (value.kind()) {
    case ValueKind::kBool:
      to += value.AsBool() ? "true" : "false";
      return;
    case ValueKind::kInt64:
      absl::StrAppend(&to, value.AsInt64());
      return;
    case ValueKind::kUint64:
      absl::StrAppend(&to, value.AsUint64());
      return;
    case ValueKind::kDouble:
      return PrintDouble(value.AsDouble(), to);
    case ValueKind::kDecimal:
      absl::StrAppend(&to, value.AsDecimal());
      return;
    case ValueKind::kString:
      absl::StrAppend(&to, value.AsString());
      return;
    case ValueKind::kVariant:
      absl::StrAppend(&to, value.AsVariant());
      return;
    case ValueKind::kBinary:
      absl::StrAppend(&to, "\\x", HexBytes(value.AsBinary()));
      return;
    case ValueKind::kDate:
      return PrintDate(value.AsDate(), to);
    case ValueKind::kTime:
      return PrintTime(value.AsTime(), to);
    case ValueKind::kTimestamp:
      return PrintMoment(value.AsTimestamp(), value.nanos(), "", to);
    case ValueKind::kTimestamptz:
      return PrintMoment(value.AsTimestamptz(), value.nanos(), "Z", to);
    case ValueKind::kUuid:
      return PrintUuid(value.AsUuid(), to);
    case ValueKind::kNull:
    case ValueKind::kArray:
    case ValueKind::kMap:
    case ValueKind::kStruct:
      break;
  }
  CHECK(false) << ValueKindName(value.kind()) << " is no single value";
}

}  // namespace penstock::core
