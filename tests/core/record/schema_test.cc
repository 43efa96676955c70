#include "core/record/schema.h"

#include <gtest/gtest.h>

#include <set>

namespace penstock::core {
namespace {

TEST(SqlTypeTest, EveryTypeHasANameThatParses) {
  std::set<absl::string_view> names;
  for (int i = 0; i <= static_cast<int>(SqlType::kVariant); ++i) {
    const SqlType type = static_cast<SqlType>(i);
    EXPECT_EQ(ParseSqlType(SqlTypeName(type)), type) << i;
    names.insert(SqlTypeName(type));
  }
  EXPECT_EQ(names.size(), 23u);
}

TEST(SqlTypeTest, OtherTextIsNoType) {
  EXPECT_EQ(ParseSqlType(""), std::nullopt);
  EXPECT_EQ(ParseSqlType("BIGINT"), std::nullopt);
  EXPECT_EQ(ParseSqlType("text"), std::nullopt);
}

TEST(SchemaTest, IsEmptyWithoutColumns) { EXPECT_TRUE(Schema{}.IsEmpty()); }

TEST(SchemaTest, FindsColumnsByExactName) {
  Schema schema;
  schema.columns.push_back({.name = "id", .type = SqlType::kBigint});
  schema.columns.push_back({.name = "Name"});
  EXPECT_EQ(schema.Find("id"), 0u);
  EXPECT_EQ(schema.Find("Name"), 1u);
  EXPECT_EQ(schema.Find("name"), std::nullopt);
}

TEST(SchemaTest, NestedColumnsCountForEquality) {
  Column list{.name = "tags", .type = SqlType::kArray};
  list.children.push_back({.name = "element", .type = SqlType::kVarchar});
  Column other = list;
  EXPECT_EQ(list, other);
  other.children[0].type = SqlType::kUuid;
  EXPECT_NE(list, other);
}

}  // namespace
}  // namespace penstock::core
