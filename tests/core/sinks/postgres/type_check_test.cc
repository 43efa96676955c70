#include "core/sinks/postgres/type_check.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

using testing::AllOf;
using testing::HasSubstr;

Column Declared(SqlType type) { return {.name = "c", .type = type}; }
PgColumn Found(PgLayout layout, std::string type) {
  return {.name = "c", .type = std::move(type), .layout = layout};
}

TEST(TypeCheckTest, WidthsMayGrow) {
  EXPECT_OK(CheckType(Declared(SqlType::kSmallint),
                      Found(PgLayout::kInt8, "bigint"), "t"));
  EXPECT_OK(CheckType(Declared(SqlType::kBigintUnsigned),
                      Found(PgLayout::kNumeric, "numeric"), "t"));
}

TEST(TypeCheckTest, NarrowerTypeIsRefusedWithBothAndTheRemedy) {
  const absl::Status refused =
      CheckType(Declared(SqlType::kBigint), Found(PgLayout::kInt4, "integer"),
                "public.t");
  EXPECT_THAT(refused, HasReason(Reason::INVALID_CONFIG));
  EXPECT_THAT(std::string(refused.message()),
              AllOf(HasSubstr("\"c\" of public.t is integer"),
                    HasSubstr("declares it bigint"),
                    HasSubstr("declare it integer, or alter the table")));
}

TEST(TypeCheckTest, TextGoesIntoTextAndIntoWhatHasNoTypeOfItsOwn) {
  EXPECT_OK(CheckType(Declared(SqlType::kVarchar),
                      Found(PgLayout::kText, "citext"), "t"));
  EXPECT_OK(CheckType(Declared(SqlType::kVarchar),
                      Found(PgLayout::kOther, "inet"), "t"));
  EXPECT_THAT(CheckType(Declared(SqlType::kVarchar),
                        Found(PgLayout::kNumeric, "numeric"), "t"),
              HasReason(Reason::INVALID_CONFIG));
}

TEST(TypeCheckTest, DecimalMustFitBeforeAndBehindThePoint) {
  PgColumn found = Found(PgLayout::kNumeric, "numeric(10,2)");
  found.precision = 10;
  found.scale = 2;
  Column declared = Declared(SqlType::kDecimal);
  declared.precision = 10;
  declared.scale = 2;
  EXPECT_OK(CheckType(declared, found, "t"));
  declared.scale = 1;
  EXPECT_THAT(CheckType(declared, found, "t"),
              HasReason(Reason::INVALID_CONFIG));
  declared.precision = 5;
  declared.scale = 3;
  EXPECT_THAT(CheckType(declared, found, "t"),
              HasReason(Reason::INVALID_CONFIG));
}

// Which is what a declaration without a precision has.
TEST(TypeCheckTest, NanosecondsAreForEachRowToHave) {
  Column declared = Declared(SqlType::kTimestamp);
  declared.precision = 9;
  EXPECT_OK(CheckType(declared, Found(PgLayout::kTimestamp, "timestamp"), "t"));
}

TEST(TypeCheckTest, ArraysMatchArraysOfTheirElements) {
  Column inner = Declared(SqlType::kInteger);
  Column declared = Declared(SqlType::kArray);
  declared.children = {inner};
  PgColumn found = Found(PgLayout::kInt4, "integer[]");
  EXPECT_THAT(CheckType(declared, found, "t"),
              HasReason(Reason::INVALID_CONFIG));
  found.is_array = true;
  EXPECT_OK(CheckType(declared, found, "t"));
  EXPECT_THAT(CheckType(inner, found, "t"), HasReason(Reason::INVALID_CONFIG));
  // Of arrays, too: a box.
  Column box = Declared(SqlType::kArray);
  box.children = {declared};
  EXPECT_OK(CheckType(box, found, "t"));
}

TEST(TypeCheckTest, TypesThatAreMade) {
  Column decimal = Declared(SqlType::kDecimal);
  decimal.precision = 12;
  decimal.scale = 4;
  EXPECT_EQ(TypeFor(decimal), "numeric(12,4)");
  Column array = Declared(SqlType::kArray);
  array.children = {decimal};
  EXPECT_EQ(TypeFor(array), "numeric(12,4)[]");
  EXPECT_EQ(TypeFor(Declared(SqlType::kMap)), "jsonb");
  array.children = {Declared(SqlType::kStruct)};
  EXPECT_EQ(TypeFor(array), "jsonb");
}

}  // namespace
}  // namespace penstock::core
