#include "core/sinks/postgres/table_name.h"

#include "core/base/error.h"
#include "tests/support/status_matchers.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

namespace penstock::core {
namespace {

TEST(TableNameTest, PartsAreTakenAsTheyAreSpelled) {
  ASSERT_OK_AND_ASSIGN(const TableName name,
                       TableName::Parse("Sales.orders 2", "table"));
  EXPECT_EQ(name.Quoted(), "\"Sales\".\"orders 2\"");
  EXPECT_EQ(name.ToString(), "Sales.orders 2");
}

TEST(TableNameTest, WithoutSchemaItIsPublic) {
  ASSERT_OK_AND_ASSIGN(const TableName name,
                       TableName::Parse("orders", "table"));
  EXPECT_EQ(name.Quoted(), "\"public\".\"orders\"");
}

TEST(TableNameTest, QuotesTakeDotsAndQuotes) {
  ASSERT_OK_AND_ASSIGN(const TableName name,
                       TableName::Parse(R"("a.b"."say ""hi""")", "table"));
  EXPECT_EQ(name.schema, "a.b");
  EXPECT_EQ(name.table, "say \"hi\"");
  EXPECT_EQ(name.Quoted(), R"("a.b"."say ""hi""")");
}

class BadTableNameTest : public testing::TestWithParam<std::string> {};

TEST_P(BadTableNameTest, IsRefused) {
  EXPECT_THAT(TableName::Parse(GetParam(), "table"),
              HasReason(Reason::INVALID_CONFIG));
}

INSTANTIATE_TEST_SUITE_P(All, BadTableNameTest,
                         testing::Values("", ".", "a.", ".b", "a.b.c", "\"open",
                                         std::string(64, 'x'),
                                         std::string("a\0b", 3)));

}  // namespace
}  // namespace penstock::core
