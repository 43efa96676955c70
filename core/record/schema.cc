#include "core/record/schema.h"

#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <array>

namespace penstock::core {
namespace {

struct NamedType {
  SqlType type;
  absl::string_view name;
};

// In the order of the enum, which the tests hold it to.
constexpr std::array<NamedType, 23> kTypes = {{
    {SqlType::kBoolean, "boolean"},
    {SqlType::kTinyint, "tinyint"},
    {SqlType::kSmallint, "smallint"},
    {SqlType::kInteger, "integer"},
    {SqlType::kBigint, "bigint"},
    {SqlType::kTinyintUnsigned, "tinyint unsigned"},
    {SqlType::kSmallintUnsigned, "smallint unsigned"},
    {SqlType::kIntegerUnsigned, "integer unsigned"},
    {SqlType::kBigintUnsigned, "bigint unsigned"},
    {SqlType::kReal, "real"},
    {SqlType::kDouble, "double"},
    {SqlType::kDecimal, "decimal"},
    {SqlType::kVarchar, "varchar"},
    {SqlType::kVarbinary, "varbinary"},
    {SqlType::kDate, "date"},
    {SqlType::kTime, "time"},
    {SqlType::kTimestamp, "timestamp"},
    {SqlType::kTimestamptz, "timestamptz"},
    {SqlType::kUuid, "uuid"},
    {SqlType::kArray, "array"},
    {SqlType::kMap, "map"},
    {SqlType::kStruct, "struct"},
    {SqlType::kVariant, "variant"},
}};

}  // namespace

absl::string_view SqlTypeName(SqlType type) {
  for (const NamedType& named : kTypes) {
    if (named.type == type) return named.name;
  }
  return "unknown";
}

std::optional<SqlType> ParseSqlType(absl::string_view name) {
  for (const NamedType& named : kTypes) {
    if (named.name == name) return named.type;
  }
  return std::nullopt;
}

std::string ColumnTypeText(const Column& column) {
  const absl::string_view name = SqlTypeName(column.type);
  switch (column.type) {
    case SqlType::kDecimal:
      if (column.precision == 0) break;
      return absl::StrCat(name, "(", column.precision, ", ", column.scale, ")");
    case SqlType::kVarchar:
    case SqlType::kVarbinary:
      if (column.precision == 0) break;
      return absl::StrCat(name, "(", column.precision, ")");
    case SqlType::kTime:
    case SqlType::kTimestamp:
    case SqlType::kTimestamptz:
      return absl::StrCat(name, "(", column.precision, ")");
    case SqlType::kArray:
    case SqlType::kMap: {
      std::vector<std::string> children;
      for (const Column& child : column.children) {
        children.push_back(ColumnTypeText(child));
      }
      return absl::StrCat(name, "(", absl::StrJoin(children, ", "), ")");
    }
    case SqlType::kStruct:
      return absl::StrCat(name, "(", column.children.size(), ")");
    default:
      break;
  }
  return std::string(name);
}

std::optional<size_t> Schema::Find(absl::string_view name) const {
  for (size_t i = 0; i < columns.size(); ++i) {
    if (columns[i].name == name) return i;
  }
  return std::nullopt;
}

}  // namespace penstock::core
