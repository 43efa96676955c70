#include "core/format/value_text/value_text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using testing::HasSubstr;

struct TypeCase {
  std::string name;
  Column column;
  std::string text;
  Value value;
};

class ParseValueTextTest : public testing::TestWithParam<TypeCase> {};

TEST_P(ParseValueTextTest, GoesByTheType) {
  ValueArena arena;
  Value value;
  EXPECT_EQ(ParseValueText(GetParam().column, GetParam().text, arena, value),
            ValueFault::kNone);
  EXPECT_EQ(value, GetParam().value);
}

INSTANTIATE_TEST_SUITE_P(
    All, ParseValueTextTest,
    testing::Values(
        TypeCase{
            "True", {.type = SqlType::kBoolean}, "true", Value::Bool(true)},
        TypeCase{
            "False", {.type = SqlType::kBoolean}, "False", Value::Bool(false)},
        TypeCase{
            "Tinyint", {.type = SqlType::kTinyint}, "-5", Value::Int64(-5)},
        TypeCase{"Unsigned",
                 {.type = SqlType::kSmallintUnsigned},
                 "5",
                 Value::Uint64(5)},
        TypeCase{"Real",
                 {.type = SqlType::kReal},
                 "0.1",
                 Value::Double(double{0.1f})},
        TypeCase{
            "Double", {.type = SqlType::kDouble}, "0.1", Value::Double(0.1)},
        TypeCase{"Decimal",
                 {.type = SqlType::kDecimal, .precision = 3, .scale = 2},
                 "1.50",
                 Value::Decimal("1.50")},
        TypeCase{
            "Varchar", {.type = SqlType::kVarchar}, "é", Value::String("é")},
        TypeCase{"Varbinary",
                 {.type = SqlType::kVarbinary},
                 "\\x6162",
                 Value::Binary("ab")},
        TypeCase{
            "Date", {.type = SqlType::kDate}, "1970-01-02", Value::Date(1)},
        TypeCase{"Time",
                 {.type = SqlType::kTime, .precision = 9},
                 "00:00:00.000000001",
                 Value::Time(1)},
        TypeCase{"Timestamp",
                 {.type = SqlType::kTimestamp, .precision = 9},
                 "1970-01-01 00:00:00.000001002",
                 Value::Timestamp(1, 2)},
        TypeCase{"Timestamptz",
                 {.type = SqlType::kTimestamptz, .precision = 0},
                 "1970-01-01T00:00:01Z",
                 Value::Timestamptz(1'000'000)},
        TypeCase{"Uuid",
                 {.type = SqlType::kUuid},
                 "30313233343536373839616263646566",
                 Value::Uuid("0123456789abcdef")}),
    [](const auto& test) { return test.param.name; });

TEST(ParseValueTextTest, LengthIsInCharacters) {
  ValueArena arena;
  const Column column{.type = SqlType::kVarchar, .precision = 3};
  Value value;
  EXPECT_EQ(ParseValueText(column, "a\xf0\x9f\x9a\x80\xc3\xa9", arena, value),
            ValueFault::kNone);
  EXPECT_EQ(
      ParseValueText(column, "\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", arena, value),
      ValueFault::kTooLong);
}

TEST(ParseValueTextTest, OneIsNotTrue) {
  ValueArena arena;
  Value value;
  EXPECT_EQ(ParseValueText({.type = SqlType::kBoolean}, "1", arena, value),
            ValueFault::kNotBoolean);
}

TEST(BadValueTest, NamesColumnTypeAndText) {
  const Column column{
      .name = "price", .type = SqlType::kDecimal, .precision = 5, .scale = 2};
  const ParseError error =
      BadValue("item.price", column, ValueFault::kTooManyDecimals, "1.005");
  EXPECT_EQ(error.tag, "out_of_range");
  EXPECT_EQ(error.field, "item.price");
  EXPECT_EQ(error.description,
            "column item.price (decimal(5, 2)): '1.005' has more decimals "
            "than declared");
  EXPECT_THAT(error.suggestion, HasSubstr("nothing is rounded"));
}

TEST(BadValueTest, ALongTextIsCut) {
  const ParseError error =
      BadValue("a", {.type = SqlType::kDate}, ValueFault::kNotDate,
               std::string(5'000, 'x'));
  EXPECT_LT(error.description.size(), 150u);
  EXPECT_THAT(error.description, HasSubstr("x…' is no date"));
}

TEST(BadValueTest, NullHasNoText) {
  EXPECT_EQ(BadValue("a", {.type = SqlType::kUuid}, ValueFault::kNull, "")
                .description,
            "column a (uuid): is null or missing");
}

// Each has its words.
TEST(BadValueTest, EveryFaultIsDescribed) {
  for (int i = 1; i <= static_cast<int>(ValueFault::kTooLong); ++i) {
    const ParseError error = BadValue("a", {}, static_cast<ValueFault>(i), "x");
    EXPECT_FALSE(error.tag.empty()) << i;
    EXPECT_GT(error.description.size(), 25u) << error.description;
  }
}

}  // namespace
}  // namespace penstock::core
