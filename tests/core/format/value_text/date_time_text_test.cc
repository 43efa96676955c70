#include "core/format/value_text/date_time_text.h"

#include "core/base/random.h"
#include "core/format/value_text/calendar.h"
#include "tests/support/test_rng.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <string>

namespace penstock::core {
namespace {

constexpr int64_t kMicros = 1'000'000;
constexpr int64_t kDayMicros = 86'400 * kMicros;

// "2026-01-31", "0044-03-15 BC".
std::string DayText(int64_t year, uint32_t month, uint32_t day,
                    absl::string_view between = "") {
  const int64_t shown = year > 0 ? year : 1 - year;
  return absl::StrFormat("%04d-%02d-%02d%s%s", shown, month, day, between,
                         year > 0 ? "" : " BC");
}

// From one day to the next, as on a wall.
TEST(CalendarTest, DaysFollowEachOther) {
  for (const auto& [first, last] :
       {std::pair<int64_t, int64_t>{-410, 410}, {1590, 2410}}) {
    int64_t number = DaysSinceEpoch(first, 1, 1);
    for (int64_t year = first; year <= last; ++year) {
      for (uint32_t month = 1; month <= 12; ++month) {
        for (uint32_t day = 1; day <= DaysInMonth(year, month); ++day) {
          ASSERT_EQ(DaysSinceEpoch(year, month, day), number)
              << DayText(year, month, day);
          Value value;
          ASSERT_EQ(ParseDate(DayText(year, month, day), value),
                    ValueFault::kNone);
          ASSERT_EQ(value, Value::Date(number));
          ++number;
        }
      }
    }
  }
}

// Known from elsewhere: PostgreSQL says so of `date 'x' - date '1970-01-01'`.
struct KnownDay {
  std::string name;
  std::string text;
  int64_t days;
};

class KnownDayTest : public testing::TestWithParam<KnownDay> {};

TEST_P(KnownDayTest, HasItsNumber) {
  Value value;
  EXPECT_EQ(ParseDate(GetParam().text, value), ValueFault::kNone);
  EXPECT_EQ(value, Value::Date(GetParam().days));
}

INSTANTIATE_TEST_SUITE_P(
    All, KnownDayTest,
    testing::Values(KnownDay{"Epoch", "1970-01-01", 0},
                    KnownDay{"DayBefore", "1969-12-31", -1},
                    KnownDay{"LeapDay", "2000-02-29", 11'016},
                    KnownDay{"FirstDay", "0001-01-01", -719'162},
                    KnownDay{"DayBeforeIt", "0001-12-31 BC", -719'163},
                    KnownDay{"LeapDayBc", "0001-02-29 BC", -719'469},
                    KnownDay{"PostgresqlsFirst", "4714-11-24 BC", -2'440'588},
                    KnownDay{"FiveDigits", "10000-01-01", 2'932'897},
                    KnownDay{"PostgresqlsLast", "5874897-12-31", 2'145'042'905},
                    KnownDay{"Infinity", "infinity", Value::kInfinity},
                    KnownDay{"MinusInfinity", "-Infinity",
                             Value::kMinusInfinity}),
    [](const auto& test) { return test.param.name; });

struct WrongText {
  std::string name;
  std::string text;
  ValueFault fault;
};

class WrongDateTest : public testing::TestWithParam<WrongText> {};

TEST_P(WrongDateTest, IsRefused) {
  Value value;
  EXPECT_EQ(ParseDate(GetParam().text, value), GetParam().fault);
  EXPECT_TRUE(value.is_null());
}

constexpr ValueFault kNotDate = ValueFault::kNotDate;
constexpr ValueFault kNoSuchTime = ValueFault::kNoSuchTime;

INSTANTIATE_TEST_SUITE_P(
    All, WrongDateTest,
    testing::Values(WrongText{"Nothing", "", kNotDate},
                    WrongText{"ShortYear", "999-01-01", kNotDate},
                    WrongText{"LongYear", "12345678-01-01", kNotDate},
                    WrongText{"Signed", "-0044-03-15", kNotDate},
                    WrongText{"Basic", "20260131", kNotDate},
                    WrongText{"OneDigit", "2026-1-31", kNotDate},
                    WrongText{"Slashes", "2026/01/31", kNotDate},
                    WrongText{"WithTime", "2026-01-31T00:00", kNotDate},
                    WrongText{"BlankBehind", "2026-01-31 ", kNotDate},
                    WrongText{"Ad", "2026-01-31 AD", kNotDate},
                    WrongText{"BcAlone", " BC", kNotDate},
                    WrongText{"Month13", "2026-13-01", kNoSuchTime},
                    WrongText{"Month0", "2026-00-01", kNoSuchTime},
                    WrongText{"Day0", "2026-01-00", kNoSuchTime},
                    WrongText{"Day32", "2026-01-32", kNoSuchTime},
                    WrongText{"NoLeapYear", "2026-02-29", kNoSuchTime},
                    WrongText{"NoLeapCentury", "1900-02-29", kNoSuchTime},
                    WrongText{"NoLeapYearBc", "0002-02-29 BC", kNoSuchTime},
                    WrongText{"Year0", "0000-01-01", kNoSuchTime},
                    WrongText{"Year0Bc", "0000-01-01 BC", kNoSuchTime},
                    WrongText{"Inf", "inf", kNotDate},
                    WrongText{"PlusInfinity", "+infinity", kNotDate}),
    [](const auto& test) { return test.param.name; });

struct TimeCase {
  std::string name;
  std::string text;
  uint32_t decimals;
  ValueFault fault;
  int64_t nanos;
};

class TimeTest : public testing::TestWithParam<TimeCase> {};

TEST_P(TimeTest, IsReadOrRefused) {
  const TimeCase& c = GetParam();
  Value value;
  EXPECT_EQ(ParseTime(c.text, c.decimals, value), c.fault);
  if (c.fault == ValueFault::kNone) {
    EXPECT_EQ(value, Value::Time(c.nanos));
  } else {
    EXPECT_TRUE(value.is_null());
  }
}

constexpr ValueFault kNone = ValueFault::kNone;
constexpr ValueFault kNotTime = ValueFault::kNotTime;
constexpr int64_t kHour = 3'600'000'000'000;

INSTANTIATE_TEST_SUITE_P(
    All, TimeTest,
    testing::Values(
        TimeCase{"Midnight", "00:00:00", 0, kNone, 0},
        TimeCase{"WithoutSeconds", "01:00", 0, kNone, kHour},
        TimeCase{"EndOfDay", "24:00:00", 9, kNone, 24 * kHour},
        TimeCase{"Last", "23:59:59.999999999", 9, kNone, 24 * kHour - 1},
        TimeCase{"ShortFraction", "00:00:00.5", 9, kNone, 500'000'000},
        TimeCase{"AsManyAsDeclared", "00:00:00.123", 3, kNone, 123'000'000},
        TimeCase{"MoreThanDeclared", "00:00:00.1234", 3,
                 ValueFault::kTooManyDecimals, 0},
        TimeCase{"ZerosAreFree", "00:00:00.123000000000000", 3, kNone,
                 123'000'000},
        TimeCase{"TenDecimals", "00:00:00.1234567891", 9,
                 ValueFault::kTooManyDecimals, 0},
        TimeCase{"NoneDeclared", "00:00:00.0", 0, kNone, 0},
        TimeCase{"AfterTheEnd", "24:00:01", 9, kNoSuchTime, 0},
        TimeCase{"ANanosecondAfterTheEnd", "24:00:00.000000001", 9, kNoSuchTime,
                 0},
        TimeCase{"Hour25", "25:00:00", 9, kNoSuchTime, 0},
        TimeCase{"Minute60", "00:60:00", 9, kNoSuchTime, 0},
        TimeCase{"LeapSecond", "23:59:60", 9, kNoSuchTime, 0},
        TimeCase{"Utc", "00:00:00Z", 9, ValueFault::kHasZone, 0},
        TimeCase{"Offset", "00:00:00+01:00", 9, ValueFault::kHasZone, 0},
        TimeCase{"PointAlone", "00:00:00.", 9, kNotTime, 0},
        TimeCase{"Comma", "00:00:00,5", 9, kNotTime, 0},
        TimeCase{"OneDigit", "1:00:00", 9, kNotTime, 0},
        TimeCase{"NoColons", "010000", 9, kNotTime, 0},
        TimeCase{"Nothing", "", 9, kNotTime, 0},
        TimeCase{"Pm", "01:00:00 PM", 9, kNotTime, 0}),
    [](const auto& test) { return test.param.name; });

// What the parts come to, reckoned without a calendar's help but for the day.
TEST(TimestampTest, EveryTimestampIsItsParts) {
  Random random = TestRandom();
  for (int i = 0; i < 100'000; ++i) {
    const int64_t year = random.UniformIn(-290'000, 290'000);
    const auto month = static_cast<uint32_t>(random.UniformIn(1, 12));
    const auto day =
        static_cast<uint32_t>(random.UniformIn(1, DaysInMonth(year, month)));
    const int64_t seconds = random.UniformIn(0, 86'399);
    const int64_t nanos = random.UniformIn(0, 999'999'999);
    const char separator = "T t"[random.Uniform(3)];
    const std::string time =
        absl::StrFormat("%c%02d:%02d:%02d.%09d", separator, seconds / 3600,
                        seconds / 60 % 60, seconds % 60, nanos);
    const int64_t micros = DaysSinceEpoch(year, month, day) * kDayMicros +
                           seconds * kMicros + nanos / 1000;
    const auto rest = static_cast<uint32_t>(nanos % 1000);
    Value value;
    const std::string plain = DayText(year, month, day, time);
    ASSERT_EQ(ParseTimestamp(plain, 9, value), kNone) << plain;
    ASSERT_EQ(value, Value::Timestamp(micros, rest)) << plain;
    ASSERT_EQ(ParseTimestamptz(plain, 9, value), ValueFault::kNoZone) << plain;

    const int64_t offset = random.UniformIn(-57'599, 57'599);
    const int64_t size = std::abs(offset);
    const std::string zoned = DayText(
        year, month, day,
        absl::StrFormat("%s%c%02d:%02d:%02d", time, offset < 0 ? '-' : '+',
                        size / 3600, size / 60 % 60, size % 60));
    ASSERT_EQ(ParseTimestamptz(zoned, 9, value), kNone) << zoned;
    ASSERT_EQ(value, Value::Timestamptz(micros - offset * kMicros, rest))
        << zoned;
    ASSERT_EQ(ParseTimestamp(zoned, 9, value), ValueFault::kHasZone) << zoned;
  }
}

struct ZoneCase {
  std::string name;
  std::string text;
  int64_t micros;
};

class ZoneTest : public testing::TestWithParam<ZoneCase> {};

TEST_P(ZoneTest, IsTakenOff) {
  Value value;
  EXPECT_EQ(ParseTimestamptz(GetParam().text, 9, value), kNone);
  EXPECT_EQ(value, Value::Timestamptz(GetParam().micros));
}

constexpr int64_t kHourMicros = 3600 * kMicros;

INSTANTIATE_TEST_SUITE_P(
    All, ZoneTest,
    testing::Values(
        ZoneCase{"Z", "1970-01-01T00:00:00Z", 0},
        ZoneCase{"SmallZ", "1970-01-01t00:00z", 0},
        ZoneCase{"Hours", "1970-01-01 00:00:00+02", -2 * kHourMicros},
        ZoneCase{"West", "1970-01-01T00:00:00-08:00", 8 * kHourMicros},
        ZoneCase{"HoursMinutes", "1970-01-01T00:00:00+0530",
                 -5 * kHourMicros - kHourMicros / 2},
        ZoneCase{"Seconds", "1970-01-01T00:00:00-00:01:15", 75 * kMicros},
        ZoneCase{"SecondsWithoutColons", "1970-01-01T00:00:00-000115",
                 75 * kMicros},
        ZoneCase{"BlankBefore", "1970-01-01 00:00:00 +0100", -kHourMicros},
        ZoneCase{"Fraction", "1970-01-01T00:00:00.25+00:00", kMicros / 4},
        ZoneCase{"EndOfDay", "1969-12-31T24:00:00Z", 0},
        ZoneCase{"Bc", "0001-12-31 24:00:00+00 BC", -719'162 * kDayMicros},
        ZoneCase{"Infinity", "infinity", Value::kInfinity},
        ZoneCase{"MinusInfinity", "-infinity", Value::kMinusInfinity}),
    [](const auto& test) { return test.param.name; });

class WrongTimestampTest : public testing::TestWithParam<WrongText> {};

TEST_P(WrongTimestampTest, IsRefusedWithZone) {
  Value value;
  EXPECT_EQ(ParseTimestamptz(GetParam().text, 6, value), GetParam().fault);
  EXPECT_TRUE(value.is_null());
}

constexpr ValueFault kNotTimestamp = ValueFault::kNotTimestamp;

INSTANTIATE_TEST_SUITE_P(
    All, WrongTimestampTest,
    testing::Values(
        WrongText{"Nothing", "", kNotTimestamp},
        WrongText{"DayOnly", "2026-01-31", kNotTimestamp},
        WrongText{"NoTime", "2026-01-31T", kNotTimestamp},
        WrongText{"Seconds", "1769817600", kNotTimestamp},
        WrongText{"TwoBlanks", "2026-01-31  00:00:00Z", kNotTimestamp},
        WrongText{"NameOfAZone", "2026-01-31 00:00:00 UTC", kNotTimestamp},
        WrongText{"SignAlone", "2026-01-31 00:00:00+", kNotTimestamp},
        WrongText{"OneDigitOfOffset", "2026-01-31 00:00:00+1", kNotTimestamp},
        WrongText{"ThreeDigitsOfOffset", "2026-01-31 00:00:00+010",
                  kNotTimestamp},
        WrongText{"MixedColons", "2026-01-31 00:00:00+01:0000", kNotTimestamp},
        WrongText{"FarOffset", "2026-01-31 00:00:00+16", kNotTimestamp},
        WrongText{"MinutesOfOffset", "2026-01-31 00:00:00+01:60",
                  kNotTimestamp},
        WrongText{"TwoZones", "2026-01-31 00:00:00ZZ", kNotTimestamp},
        WrongText{"EraBeforeZone", "0044-03-15 00:00:00 BC+00", kNotTimestamp},
        WrongText{"NoSuchDay", "2026-02-30T00:00:00Z", kNoSuchTime},
        WrongText{"NoSuchHour", "2026-02-28T25:00:00Z", kNoSuchTime},
        WrongText{"LeapSecond", "2016-12-31T23:59:60Z", kNoSuchTime},
        WrongText{"Decimals", "2026-01-31T00:00:00.1234567Z",
                  ValueFault::kTooManyDecimals},
        WrongText{"NoZone", "2026-01-31T00:00:00", ValueFault::kNoZone},
        WrongText{"FarFuture", "294248-01-01T00:00:00Z",
                  ValueFault::kOutOfRange},
        WrongText{"FarPast", "290310-01-01T00:00:00Z BC",
                  ValueFault::kOutOfRange}),
    [](const auto& test) { return test.param.name; });

// The ends of what 64 bits hold, which mean the infinities.
TEST(TimestampTest, NoMomentIsMistakenForAnInfinity) {
  Value value;
  EXPECT_EQ(ParseTimestamp("294247-01-10 04:00:54.775806", 9, value), kNone);
  EXPECT_EQ(value, Value::Timestamp(INT64_MAX - 1));
  EXPECT_EQ(ParseTimestamp("294247-01-10 04:00:54.775807", 9, value),
            ValueFault::kOutOfRange);
  EXPECT_EQ(ParseTimestamp("294247-01-10 04:00:54.775808", 9, value),
            ValueFault::kOutOfRange);
}

}  // namespace
}  // namespace penstock::core
