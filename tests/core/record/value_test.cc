#include "core/record/value.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <set>
#include <string>
#include <vector>

namespace penstock::core {
namespace {

TEST(ValueTest, IsNullAtFirst) {
  EXPECT_TRUE(Value().is_null());
  EXPECT_EQ(Value(), Value::Null());
}

TEST(ValueTest, HoldsBool) {
  EXPECT_TRUE(Value::Bool(true).AsBool());
  EXPECT_NE(Value::Bool(true), Value::Bool(false));
}

TEST(ValueTest, HoldsEveryInt64) {
  EXPECT_EQ(Value::Int64(INT64_MIN).AsInt64(), INT64_MIN);
  EXPECT_EQ(Value::Int64(INT64_MAX).AsInt64(), INT64_MAX);
}

TEST(ValueTest, HoldsEveryUint64) {
  EXPECT_EQ(Value::Uint64(UINT64_MAX).AsUint64(), UINT64_MAX);
}

TEST(ValueTest, HoldsDoublesToTheLastBit) {
  EXPECT_EQ(Value::Double(0.1).AsDouble(), 0.1);
  EXPECT_TRUE(std::signbit(Value::Double(-0.0).AsDouble()));
}

TEST(ValueTest, HoldsDecimalsDigitForDigit) {
  EXPECT_EQ(Value::Decimal("-123456789012345678901234567890.50").AsDecimal(),
            "-123456789012345678901234567890.50");
}

TEST(ValueTest, HoldsStringsAndBinaryAsViews) {
  const std::string text("a\0b", 3);
  EXPECT_EQ(Value::String(text).AsString().data(), text.data());
  EXPECT_EQ(Value::Binary(text).AsBinary(), text);
}

TEST(ValueTest, HoldsDatesBeforeChristAndInfinity) {
  EXPECT_EQ(Value::Date(-1'000'000).AsDate(), -1'000'000);
  EXPECT_EQ(Value::Date(Value::kInfinity).AsDate(), INT64_MAX);
}

TEST(ValueTest, HoldsTimesUpToTwentyFourHours) {
  EXPECT_EQ(Value::Time(86'400'000'000'000).AsTime(), 86'400'000'000'000);
}

TEST(ValueTest, HoldsTimestampsToTheNanosecond) {
  const Value value = Value::Timestamp(-62'135'596'800'000'000, 999);
  EXPECT_EQ(value.AsTimestamp(), -62'135'596'800'000'000);
  EXPECT_EQ(value.nanos(), 999u);
  EXPECT_NE(value, Value::Timestamp(-62'135'596'800'000'000, 998));
}

TEST(ValueTest, TimestampsWithAndWithoutZoneDiffer) {
  EXPECT_EQ(Value::Timestamptz(7, 1).AsTimestamptz(), 7);
  EXPECT_NE(Value::Timestamptz(7), Value::Timestamp(7));
}

TEST(ValueTest, HoldsUuids) {
  const std::string bytes = "0123456789abcdef";
  EXPECT_EQ(Value::Uuid(bytes).AsUuid(), bytes);
}

TEST(ValueTest, HoldsArrays) {
  const Value elements[] = {Value::Int64(1), Value::Null()};
  const Value array = Value::Array(elements);
  ASSERT_EQ(array.AsArray().size(), 2u);
  EXPECT_EQ(array.AsArray()[0], Value::Int64(1));
  EXPECT_TRUE(array.AsArray()[1].is_null());
}

TEST(ValueTest, HoldsMapsAsKeysAndValues) {
  const Value entries[] = {Value::String("k"), Value::Int64(1)};
  EXPECT_EQ(Value::Map(entries).AsMap()[1].AsInt64(), 1);
}

TEST(ValueTest, HoldsStructs) {
  const Value fields[] = {Value::Bool(true)};
  EXPECT_TRUE(Value::Struct(fields).AsStruct()[0].AsBool());
}

TEST(ValueTest, HoldsVariantsByteForByte) {
  EXPECT_EQ(Value::Variant("{ \"b\":1, \"a\":1.0 }").AsVariant(),
            "{ \"b\":1, \"a\":1.0 }");
}

TEST(ValueTest, EmptyViewsAreNotNull) {
  EXPECT_FALSE(Value::String("").is_null());
  EXPECT_EQ(Value::String("").AsString(), "");
  EXPECT_TRUE(Value::Array({}).AsArray().empty());
}

TEST(ValueTest, EqualityIsThatOfTheRepresentation) {
  const double nan = std::numeric_limits<double>::quiet_NaN();
  EXPECT_EQ(Value::Double(nan), Value::Double(nan));
  EXPECT_NE(Value::Double(0.0), Value::Double(-0.0));
  EXPECT_NE(Value::Decimal("1.0"), Value::Decimal("1.00"));
  EXPECT_NE(Value::Int64(1), Value::Uint64(1));
  EXPECT_NE(Value::String("1"), Value::Binary("1"));
  EXPECT_NE(Value::Null(), Value::Bool(false));
}

TEST(ValueTest, EqualityGoesAllTheWayDown) {
  const std::string one = "text";
  const std::string other = "text";
  const Value inner_one[] = {Value::String(one)};
  const Value inner_other[] = {Value::String(other)};
  const Value outer_one[] = {Value::Array(inner_one)};
  const Value outer_other[] = {Value::Array(inner_other)};
  EXPECT_EQ(Value::Struct(outer_one), Value::Struct(outer_other));
  EXPECT_NE(Value::Struct(outer_one), Value::Array(outer_one));
  EXPECT_NE(Value::Array(outer_one), Value::Array({}));
}

TEST(ValueTest, KindsHaveNamesOfTheirOwn) {
  std::set<absl::string_view> names;
  for (int kind = 0; kind <= static_cast<int>(ValueKind::kVariant); ++kind) {
    names.insert(ValueKindName(static_cast<ValueKind>(kind)));
  }
  EXPECT_EQ(names.size(), 17u);
  EXPECT_EQ(names.count("unknown"), 0u);
}

using ValueDeathTest = testing::Test;

TEST(ValueDeathTest, ReadingAnotherKindAborts) {
  EXPECT_DEATH(Value::Int64(1).AsString(), "read as string, is int64");
}

TEST(ValueDeathTest, NullIsReadAsNothing) {
  EXPECT_DEATH(Value::Null().AsInt64(), "read as int64, is null");
}

TEST(ValueDeathTest, UuidsHaveSixteenBytes) {
  EXPECT_DEATH(Value::Uuid("short"), "check failed");
}

TEST(ValueDeathTest, MapsHaveAValueForEachKey) {
  const Value odd[] = {Value::Int64(1)};
  EXPECT_DEATH(Value::Map(odd), "check failed");
}

TEST(ValueDeathTest, NanosecondsAreBelowAThousand) {
  EXPECT_DEATH(Value::Timestamp(0, 1000), "check failed");
}

TEST(ValueDeathTest, TimesAreWithinADay) {
  EXPECT_DEATH(Value::Time(-1), "check failed");
}

}  // namespace
}  // namespace penstock::core
