// Declared columns of a connector's records.
#pragma once

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// Column types, by their SQL names. A Value holds them as the comment says.
enum class SqlType : uint8_t {
  kBoolean,           // bool
  kTinyint,           // int64, 8 bits
  kSmallint,          // int64, 16 bits
  kInteger,           // int64, 32 bits
  kBigint,            // int64
  kTinyintUnsigned,   // uint64, 8 bits
  kSmallintUnsigned,  // uint64, 16 bits
  kIntegerUnsigned,   // uint64, 32 bits
  kBigintUnsigned,    // uint64
  kReal,              // double that is exactly a float
  kDouble,            // double
  kDecimal,           // decimal
  kVarchar,           // string
  kVarbinary,         // binary
  kDate,              // date
  kTime,              // time
  kTimestamp,         // timestamp
  kTimestamptz,       // timestamptz
  kUuid,              // uuid
  kArray,             // array
  kMap,               // map
  kStruct,            // struct
  kVariant,           // variant
};

// "boolean", "tinyint" ... "bigint unsigned" ... "timestamptz" ... "variant".
absl::string_view SqlTypeName(SqlType type);
// Inverse of SqlTypeName, for lower-case text; nullopt for any other.
std::optional<SqlType> ParseSqlType(absl::string_view name);

// Seed type: a field of `Relation`. A plain value.
struct Column {
  // Unique within its parent; compared byte by byte.
  std::string name;
  SqlType type = SqlType::kVarchar;
  bool nullable = true;
  // decimal: digits in all, 0 = any. varchar, varbinary: longest length in
  // characters or bytes, 0 = any. time, timestamp, timestamptz: decimals of a
  // second, 0 to 9. Otherwise 0.
  uint32_t precision = 0;
  // decimal: digits after the point. Otherwise 0.
  int32_t scale = 0;
  // array: the element; map: key, then value; struct: the fields. Otherwise
  // empty.
  std::vector<Column> children = {};

  friend bool operator==(const Column&, const Column&) = default;
};

// The column's type as people write it: "decimal(12, 2)", "varchar(20)",
// "timestamptz(3)", "array(integer)", "map(varchar, date)", "struct(3)" with
// the number of its fields.
std::string ColumnTypeText(const Column& column);

// Seed type: `Relation`. Empty: records carry no row, bytes pass through.
struct Schema {
  std::vector<Column> columns;

  bool IsEmpty() const { return columns.empty(); }
  // Index of the column, in row order; nullopt if there is none.
  std::optional<size_t> Find(absl::string_view name) const;

  friend bool operator==(const Schema&, const Schema&) = default;
};

}  // namespace penstock::core
