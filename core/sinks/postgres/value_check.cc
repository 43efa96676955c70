#include "core/sinks/postgres/value_check.h"

#include "core/contract/sink_error.h"

#include <absl/strings/str_cat.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>

namespace penstock::core {
namespace {

constexpr int kMicrosDigits = 6;

absl::Status Finer(const PgColumn& column, int digits) {
  return MakeRowRefused(
      absl::StrCat("column \"", column.name, "\": a time with more than ",
                   digits, " decimals of a second, which is what it keeps"));
}

absl::Status CheckFraction(int64_t micros, const PgColumn& column) {
  const int digits = column.length.value_or(kMicrosDigits);
  int64_t unit = 1;
  for (int i = digits; i < kMicrosDigits; ++i) unit *= 10;
  if (micros % unit == 0) return absl::OkStatus();
  return Finer(column, digits);
}

}  // namespace

absl::Status CheckText(absl::string_view text, const PgColumn& column) {
  if (text.find('\0') != absl::string_view::npos) {
    return MakeRowRefused(
        absl::StrCat("column \"", column.name, "\": a NUL byte at ",
                     text.find('\0'), ", which PostgreSQL's text cannot hold"));
  }
  if (!simdjson::validate_utf8(text.data(), text.size())) {
    return MakeRowRefused(
        absl::StrCat("column \"", column.name, "\": text that is not UTF-8"));
  }
  // Fewer bytes cannot be more characters.
  if (!column.length.has_value() ||
      text.size() <= static_cast<size_t>(*column.length)) {
    return absl::OkStatus();
  }
  const auto characters = std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
  });
  // The server would cut blanks at the end without a word.
  if (characters <= *column.length) return absl::OkStatus();
  return MakeRowRefused(
      absl::StrCat("column \"", column.name, "\": ", characters,
                   " characters, above its ", *column.length));
}

absl::Status ReadInteger(const Value& value, int64_t min, int64_t max,
                         int64_t& out) {
  if (value.kind() == ValueKind::kInt64) {
    out = value.AsInt64();
    if (out >= min && out <= max) return absl::OkStatus();
    return MakeRowRefused(absl::StrCat("the integer ", out, " is not within ",
                                       min, " and ", max));
  }
  const uint64_t given = value.AsUint64();
  if (given > static_cast<uint64_t>(max)) {
    return MakeRowRefused(
        absl::StrCat("the integer ", given, " is above ", max));
  }
  out = static_cast<int64_t>(given);
  return absl::OkStatus();
}

absl::Status ReadTime(const Value& value, const PgColumn& column,
                      int64_t& out) {
  const int64_t nanos = value.AsTime();
  if (nanos % 1000 != 0) return Finer(column, kMicrosDigits);
  out = nanos / 1000;
  return CheckFraction(out, column);
}

absl::Status ReadTimestamp(const Value& value, const PgColumn& column,
                           int64_t& out) {
  out = value.kind() == ValueKind::kTimestamp ? value.AsTimestamp()
                                              : value.AsTimestamptz();
  if (out == Value::kInfinity || out == Value::kMinusInfinity) {
    return absl::OkStatus();
  }
  if (value.nanos() != 0) return Finer(column, kMicrosDigits);
  return CheckFraction(out, column);
}

absl::Status WrongKind(const Value& value, const PgColumn& column) {
  return MakeRowRefused(absl::StrCat("column \"", column.name, "\" is ",
                                     column.type, ", its value is of kind ",
                                     ValueKindName(value.kind())));
}

}  // namespace penstock::core
