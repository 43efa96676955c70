#include "core/sinks/postgres/value_check.h"

#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <simdjson.h>

#include <algorithm>
#include <cstring>
#include <string>

namespace penstock::core {
namespace {

constexpr int kMicrosDigits = 6;

absl::Status Finer(const PgColumn& column, int digits) {
  return MakeRowRefused(
      absl::StrCat("column \"", column.name, "\": a time with more than ",
                   digits, " decimals of a second, which is what it keeps"));
}

absl::Status CheckFraction(int64_t micros, const PgColumn& column) {
  const int digits = column.decimals.value_or(kMicrosDigits);
  int64_t unit = 1;
  for (int i = digits; i < kMicrosDigits; ++i) unit *= 10;
  if (micros % unit == 0) return absl::OkStatus();
  return Finer(column, digits);
}

bool IsDigit(char c) {
  return absl::ascii_isdigit(static_cast<unsigned char>(c));
}

bool IsLetter(char c) {
  return absl::ascii_isalpha(static_cast<unsigned char>(c));
}

// Of an interval's part: "s", "sec", "secs", "second", "seconds", or no unit,
// which is seconds.
bool IsSeconds(absl::string_view unit) {
  const std::string lower = absl::AsciiStrToLower(unit);
  return lower.empty() || lower == "s" ||
         (absl::StartsWith(lower, "sec") &&
          (absl::StartsWith("seconds", lower) || lower == "secs"));
}

// Times that the server reads from text, which it would round.
absl::Status CheckDecimals(absl::string_view text, const PgColumn& column) {
  for (size_t at = text.find('.'); at != absl::string_view::npos;
       at = text.find('.', at)) {
    const char* const begin = text.data() + ++at;
    const char* const end = text.data() + text.size();
    const char* const after = std::find_if_not(begin, end, IsDigit);
    size_t digits = static_cast<size_t>(after - begin);
    while (digits > 0 && begin[digits - 1] == '0') --digits;
    if (digits > static_cast<size_t>(*column.decimals)) {
      return Finer(column, *column.decimals);
    }
    if (!column.is_interval || digits == 0) continue;
    const char* const unit =
        std::find_if(after, end, [](char c) { return c != ' '; });
    const char* const unit_end = std::find_if_not(unit, end, IsLetter);
    if (IsSeconds({unit, static_cast<size_t>(unit_end - unit)})) continue;
    return MakeRowRefused(
        absl::StrCat("column \"", column.name, "\": an interval with decimals ",
                     "of another unit than seconds, which may be rounded"));
  }
  return absl::OkStatus();
}

// What the server would cut, pad or round without a word.
absl::Status CheckHabits(absl::string_view text, const PgColumn& column) {
  if (column.bytes.has_value() &&
      text.size() > static_cast<size_t>(*column.bytes)) {
    return MakeRowRefused(absl::StrCat("column \"", column.name,
                                       "\": ", text.size(),
                                       " bytes, above its ", *column.bytes));
  }
  if (column.is_padded && absl::EndsWith(text, " ")) {
    return MakeRowRefused(
        absl::StrCat("column \"", column.name,
                     "\": a blank at the end, which is no part "
                     "of a value of type ",
                     column.type));
  }
  if (column.decimals.has_value()) return CheckDecimals(text, column);
  return absl::OkStatus();
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
  RETURN_IF_ERROR(CheckHabits(text, column));
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
