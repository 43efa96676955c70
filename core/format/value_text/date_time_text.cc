#include "core/format/value_text/date_time_text.h"

#include "core/format/value_text/calendar.h"

#include <absl/strings/match.h>
#include <absl/strings/strip.h>

#include <optional>

namespace penstock::core {
namespace {

constexpr int64_t kSecondsPerDay = 86'400;
constexpr int64_t kMicrosPerSecond = 1'000'000;
constexpr int64_t kNanosPerSecond = 1'000'000'000;
constexpr uint32_t kDecimalsMax = 9;
constexpr size_t kYearDigitsMin = 4;
constexpr size_t kYearDigitsMax = 7;
constexpr int64_t kOffsetSecondsEnd = 16 * 3600;

struct Day {
  // Without its era.
  int64_t year = 0;
  uint32_t month = 0;
  uint32_t day = 0;
};

struct TimeOfDay {
  int64_t seconds = 0;
  uint32_t nanos = 0;
};

// Takes a text apart from its beginning. Each Take tells whether it was there
// and passes it only then.
// Lifetime: a view.
class Scanner {
 public:
  explicit Scanner(absl::string_view text)
      : at_(text.data()), end_(text.data() + text.size()) {}

  bool IsAtEnd() const { return at_ == end_; }
  char Peek(size_t ahead = 0) const {
    return ahead < static_cast<size_t>(end_ - at_) ? at_[ahead] : '\0';
  }
  absl::string_view rest() const {
    return {at_, static_cast<size_t>(end_ - at_)};
  }

  bool Take(char c) {
    if (at_ == end_ || *at_ != c) return false;
    ++at_;
    return true;
  }
  bool TakeTwoDigits(uint32_t& number) {
    const uint32_t tens = DigitAt(0);
    const uint32_t ones = DigitAt(1);
    if (tens > 9 || ones > 9) return false;
    number = tens * 10 + ones;
    at_ += 2;
    return true;
  }
  // 10 or more: no digit.
  uint32_t DigitAt(size_t ahead) const {
    return static_cast<uint32_t>(static_cast<unsigned char>(Peek(ahead))) - '0';
  }
  void Skip(size_t size) { at_ += size; }

 private:
  const char* at_;
  const char* end_;
};

bool TakeDay(Scanner& scanner, Day& day) {
  size_t digits = 0;
  while (digits <= kYearDigitsMax && scanner.DigitAt(digits) <= 9) {
    day.year = day.year * 10 + scanner.DigitAt(digits);
    ++digits;
  }
  if (digits < kYearDigitsMin || digits > kYearDigitsMax) return false;
  scanner.Skip(digits);
  return scanner.Take('-') && scanner.TakeTwoDigits(day.month) &&
         scanner.Take('-') && scanner.TakeTwoDigits(day.day);
}

// Errors: kTooManyDecimals. Requires: a digit is next.
ValueFault TakeFraction(Scanner& scanner, uint32_t decimals, uint32_t& nanos) {
  uint32_t place = 0;
  uint32_t digit = 0;
  for (; (digit = scanner.DigitAt(0)) <= 9; ++place) {
    if (place >= decimals && digit != 0) return ValueFault::kTooManyDecimals;
    if (place < kDecimalsMax) nanos = nanos * 10 + digit;
    scanner.Skip(1);
  }
  for (; place < kDecimalsMax; ++place) nanos *= 10;
  return ValueFault::kNone;
}

// `otherwise`: the fault where there is no time.
ValueFault TakeTime(Scanner& scanner, uint32_t decimals, ValueFault otherwise,
                    TimeOfDay& time) {
  uint32_t hour = 0;
  uint32_t minute = 0;
  uint32_t second = 0;
  if (!scanner.TakeTwoDigits(hour) || !scanner.Take(':') ||
      !scanner.TakeTwoDigits(minute)) {
    return otherwise;
  }
  if (scanner.Take(':')) {
    if (!scanner.TakeTwoDigits(second)) return otherwise;
    if (scanner.Take('.')) {
      if (scanner.DigitAt(0) > 9) return otherwise;
      const ValueFault fault = TakeFraction(scanner, decimals, time.nanos);
      if (fault != ValueFault::kNone) return fault;
    }
  }
  if (minute > 59 || second > 59) return ValueFault::kNoSuchTime;
  time.seconds = int64_t{hour} * 3600 + minute * 60 + second;
  const bool is_in_day = time.seconds < kSecondsPerDay ||
                         (time.seconds == kSecondsPerDay && time.nanos == 0);
  return is_in_day ? ValueFault::kNone : ValueFault::kNoSuchTime;
}

bool LooksLikeZone(const Scanner& scanner) {
  const char c = scanner.Peek(scanner.Peek() == ' ' ? 1 : 0);
  return c == '+' || c == '-' || (c == 'Z' || c == 'z');
}

// Requires: LooksLikeZone. False: it is none.
bool TakeZone(Scanner& scanner, int64_t& offset_seconds) {
  scanner.Take(' ');
  if (scanner.Take('Z') || scanner.Take('z')) return true;
  const bool is_west = scanner.Take('-');
  if (!is_west) scanner.Take('+');
  uint32_t hours = 0;
  uint32_t minutes = 0;
  uint32_t seconds = 0;
  if (!scanner.TakeTwoDigits(hours)) return false;
  const bool has_colon = scanner.Take(':');
  if (has_colon || scanner.DigitAt(0) <= 9) {
    if (!scanner.TakeTwoDigits(minutes)) return false;
    // Either all parts are divided by colons, or none.
    const bool has_seconds =
        has_colon ? scanner.Take(':') : scanner.DigitAt(0) <= 9;
    if (has_seconds && !scanner.TakeTwoDigits(seconds)) return false;
  }
  if (minutes > 59 || seconds > 59) return false;
  offset_seconds = int64_t{hours} * 3600 + minutes * 60 + seconds;
  if (offset_seconds >= kOffsetSecondsEnd) return false;
  if (is_west) offset_seconds = -offset_seconds;
  return true;
}

// The era, or nothing, must be all that is left. Gives the day's number.
// Errors: `otherwise`, kNoSuchTime.
ValueFault TakeEra(const Scanner& scanner, ValueFault otherwise, Day day,
                   int64_t& days) {
  if (!scanner.IsAtEnd()) {
    if (scanner.rest() != " BC") return otherwise;
  }
  if (day.year == 0 || day.month < 1 || day.month > 12) {
    return ValueFault::kNoSuchTime;
  }
  const int64_t year = scanner.IsAtEnd() ? day.year : 1 - day.year;
  if (day.day < 1 || day.day > DaysInMonth(year, day.month)) {
    return ValueFault::kNoSuchTime;
  }
  days = DaysSinceEpoch(year, day.month, day.day);
  return ValueFault::kNone;
}

// Value::kInfinity or its opposite.
std::optional<int64_t> ReadInfinity(absl::string_view text) {
  if (text.empty() ||
      (text.front() != 'i' && text.front() != 'I' && text.front() != '-')) {
    return std::nullopt;
  }
  const bool negative = absl::ConsumePrefix(&text, "-");
  if (!absl::EqualsIgnoreCase(text, "infinity")) return std::nullopt;
  return negative ? Value::kMinusInfinity : Value::kInfinity;
}

// A moment, counted as if its zone were UTC.
struct Moment {
  int64_t micros = 0;
  uint32_t nanos = 0;
};

enum class Zone { kNone, kNeeded };

ValueFault ReadMoment(absl::string_view text, uint32_t decimals, Zone zone,
                      Moment& moment) {
  if (const std::optional<int64_t> infinity = ReadInfinity(text)) {
    moment.micros = *infinity;
    return ValueFault::kNone;
  }
  constexpr ValueFault kOtherwise = ValueFault::kNotTimestamp;
  Scanner scanner(text);
  Day day;
  TimeOfDay time;
  if (!TakeDay(scanner, day)) return kOtherwise;
  if (!scanner.Take('T') && !scanner.Take(' ') && !scanner.Take('t')) {
    return kOtherwise;
  }
  ValueFault fault = TakeTime(scanner, decimals, kOtherwise, time);
  if (fault != ValueFault::kNone) return fault;
  int64_t offset_seconds = 0;
  const bool has_zone = LooksLikeZone(scanner);
  if (has_zone && !TakeZone(scanner, offset_seconds)) return kOtherwise;
  int64_t days = 0;
  fault = TakeEra(scanner, kOtherwise, day, days);
  if (fault != ValueFault::kNone) return fault;
  if (has_zone && zone == Zone::kNone) return ValueFault::kHasZone;
  if (!has_zone && zone == Zone::kNeeded) return ValueFault::kNoZone;
  // No seconds of seven-digit years overflow.
  const int64_t seconds = days * kSecondsPerDay + time.seconds - offset_seconds;
  if (__builtin_mul_overflow(seconds, kMicrosPerSecond, &moment.micros) ||
      __builtin_add_overflow(moment.micros, int64_t{time.nanos / 1000},
                             &moment.micros) ||
      moment.micros == Value::kInfinity ||
      moment.micros == Value::kMinusInfinity) {
    return ValueFault::kOutOfRange;
  }
  moment.nanos = time.nanos % 1000;
  return ValueFault::kNone;
}

}  // namespace

ValueFault ParseDate(absl::string_view text, Value& value) {
  if (const std::optional<int64_t> infinity = ReadInfinity(text)) {
    value = Value::Date(*infinity);
    return ValueFault::kNone;
  }
  Scanner scanner(text);
  Day day;
  if (!TakeDay(scanner, day)) return ValueFault::kNotDate;
  int64_t days = 0;
  const ValueFault fault = TakeEra(scanner, ValueFault::kNotDate, day, days);
  if (fault == ValueFault::kNone) value = Value::Date(days);
  return fault;
}

ValueFault ParseTime(absl::string_view text, uint32_t decimals, Value& value) {
  Scanner scanner(text);
  TimeOfDay time;
  const ValueFault fault =
      TakeTime(scanner, decimals, ValueFault::kNotTime, time);
  if (fault != ValueFault::kNone) return fault;
  if (!scanner.IsAtEnd()) {
    int64_t offset_seconds = 0;
    const bool has_zone = LooksLikeZone(scanner) &&
                          TakeZone(scanner, offset_seconds) &&
                          scanner.IsAtEnd();
    return has_zone ? ValueFault::kHasZone : ValueFault::kNotTime;
  }
  value = Value::Time(time.seconds * kNanosPerSecond + time.nanos);
  return ValueFault::kNone;
}

ValueFault ParseTimestamp(absl::string_view text, uint32_t decimals,
                          Value& value) {
  Moment moment;
  const ValueFault fault = ReadMoment(text, decimals, Zone::kNone, moment);
  if (fault == ValueFault::kNone) {
    value = Value::Timestamp(moment.micros, moment.nanos);
  }
  return fault;
}

ValueFault ParseTimestamptz(absl::string_view text, uint32_t decimals,
                            Value& value) {
  Moment moment;
  const ValueFault fault = ReadMoment(text, decimals, Zone::kNeeded, moment);
  if (fault == ValueFault::kNone) {
    value = Value::Timestamptz(moment.micros, moment.nanos);
  }
  return fault;
}

}  // namespace penstock::core
