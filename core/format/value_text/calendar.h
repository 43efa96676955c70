// The proleptic Gregorian calendar: days as numbers.
#pragma once

#include <array>
#include <cstdint>

namespace penstock::core {

// Years are counted as astronomers do: 0 is 1 BC, -1 is 2 BC.
constexpr bool IsLeapYear(int64_t year) {
  return year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
}

// Requires: 1 <= month <= 12.
constexpr uint32_t DaysInMonth(int64_t year, uint32_t month) {
  constexpr std::array<uint8_t, 12> kDays = {31, 28, 31, 30, 31, 30,
                                             31, 31, 30, 31, 30, 31};
  return kDays[month - 1] + (month == 2 && IsLeapYear(year) ? 1u : 0u);
}

// Days since 1970-01-01.
// Requires: there is such a day, and |year| <= 10^12.
constexpr int64_t DaysSinceEpoch(int64_t year, uint32_t month, uint32_t day) {
  constexpr std::array<uint16_t, 12> kDaysBefore = {
      0, 31, 59, 90, 120, 151, 181, 212, 243, 273, 304, 334};
  // Every 400 years have as many days: move to years from 0 to 399.
  constexpr int64_t kCycleYears = 400;
  constexpr int64_t kCycleDays = 146'097;
  constexpr int64_t kEpoch = 719'528;  // Days from 0000-01-01 to the epoch.
  int64_t cycle = year / kCycleYears;
  int64_t in_cycle = year % kCycleYears;
  if (in_cycle < 0) {
    in_cycle += kCycleYears;
    --cycle;
  }
  // Leap days of the years before this one; year 0 of a cycle has one.
  const int64_t leap_days =
      in_cycle == 0 ? 0 : (in_cycle - 1) / 4 - (in_cycle - 1) / 100 + 1;
  const int64_t leap_day_now = month > 2 && IsLeapYear(in_cycle) ? 1 : 0;
  return cycle * kCycleDays + in_cycle * 365 + leap_days +
         kDaysBefore[month - 1] + leap_day_now + day - 1 - kEpoch;
}
static_assert(DaysSinceEpoch(1970, 1, 1) == 0);
static_assert(DaysSinceEpoch(2000, 3, 1) == 11'017);

}  // namespace penstock::core
