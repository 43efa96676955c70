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

TEST(ColumnTypeTextTest, ShowsWhatIsDeclared) {
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kBigintUnsigned}),
            "bigint unsigned");
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kDecimal}), "decimal");
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kDecimal, .precision = 5}),
            "decimal(5, 0)");
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kVarchar}), "varchar");
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kVarchar, .precision = 20}),
            "varchar(20)");
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kTime}), "time(0)");
}

TEST(ColumnTypeTextTest, ShowsWhatIsInside) {
  const Column map{
      .type = SqlType::kMap,
      .children = {{.name = "key"}, {.name = "value", .type = SqlType::kDate}}};
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kArray, .children = {map}}),
            "array(map(varchar, date))");
  EXPECT_EQ(ColumnTypeText({.type = SqlType::kStruct, .children = {map}}),
            "struct(1)");
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
