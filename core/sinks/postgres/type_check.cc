#include "core/sinks/postgres/type_check.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/str_cat.h>

#include <algorithm>
#include <initializer_list>

namespace penstock::core {
namespace {

template <typename T>
bool IsOneOf(T value, std::initializer_list<T> values) {
  return std::find(values.begin(), values.end(), value) != values.end();
}

// `type` is no array, nor is what has the layout.
bool Fits(SqlType type, PgLayout layout) {
  switch (type) {
    case SqlType::kBoolean:
      return layout == PgLayout::kBool;
    case SqlType::kTinyint:
    case SqlType::kSmallint:
    case SqlType::kTinyintUnsigned:
      return IsOneOf(layout, {PgLayout::kInt2, PgLayout::kInt4, PgLayout::kInt8,
                              PgLayout::kNumeric});
    case SqlType::kInteger:
    case SqlType::kSmallintUnsigned:
      return IsOneOf(layout,
                     {PgLayout::kInt4, PgLayout::kInt8, PgLayout::kNumeric});
    case SqlType::kBigint:
    case SqlType::kIntegerUnsigned:
      return IsOneOf(layout, {PgLayout::kInt8, PgLayout::kNumeric});
    case SqlType::kBigintUnsigned:
    case SqlType::kDecimal:
      return layout == PgLayout::kNumeric;
    case SqlType::kReal:
      return IsOneOf(layout, {PgLayout::kFloat4, PgLayout::kFloat8});
    case SqlType::kDouble:
      return layout == PgLayout::kFloat8;
    case SqlType::kVarchar:
      // What has a declared type of its own is declared so.
      return IsOneOf(layout, {PgLayout::kText, PgLayout::kOther});
    case SqlType::kVarbinary:
      return layout == PgLayout::kBytea;
    case SqlType::kDate:
      return layout == PgLayout::kDate;
    case SqlType::kTime:
      return layout == PgLayout::kTime;
    case SqlType::kTimestamp:
      return layout == PgLayout::kTimestamp;
    case SqlType::kTimestamptz:
      return layout == PgLayout::kTimestamptz;
    case SqlType::kUuid:
      return layout == PgLayout::kUuid;
    case SqlType::kVariant:
      return IsOneOf(layout, {PgLayout::kJson, PgLayout::kJsonb});
    case SqlType::kArray:
    case SqlType::kMap:
    case SqlType::kStruct:
      return false;
  }
  return false;
}

absl::string_view TypeToDeclare(PgLayout layout) {
  switch (layout) {
    case PgLayout::kBool:
      return "boolean";
    case PgLayout::kInt2:
      return "smallint";
    case PgLayout::kInt4:
      return "integer";
    case PgLayout::kInt8:
      return "bigint";
    case PgLayout::kFloat4:
      return "real";
    case PgLayout::kFloat8:
      return "double";
    case PgLayout::kNumeric:
      return "decimal";
    case PgLayout::kText:
    case PgLayout::kOther:
      return "varchar";
    case PgLayout::kJson:
    case PgLayout::kJsonb:
      return "variant";
    case PgLayout::kBytea:
      return "varbinary";
    case PgLayout::kUuid:
      return "uuid";
    case PgLayout::kDate:
      return "date";
    case PgLayout::kTime:
      return "time";
    case PgLayout::kTimestamp:
      return "timestamp";
    case PgLayout::kTimestamptz:
      return "timestamptz";
  }
  return "varchar";
}

// "array of integer"
std::string Describe(const Column& column) {
  if (column.type == SqlType::kArray && column.children.size() == 1) {
    return absl::StrCat("array of ", Describe(column.children[0]));
  }
  return std::string(SqlTypeName(column.type));
}

// Beneath arrays of arrays, which are one array of more dimensions here.
const Column& Innermost(const Column& column) {
  const Column* inner = &column;
  while (inner->type == SqlType::kArray && inner->children.size() == 1) {
    inner = &inner->children[0];
  }
  return *inner;
}

// What a type modifier of the column cannot hold of the declared type.
std::string Narrower(const Column& declared, const PgColumn& found) {
  if (declared.type == SqlType::kDecimal && declared.precision > 0 &&
      found.scale.has_value()) {
    const int before = static_cast<int>(declared.precision) - declared.scale;
    if (declared.scale > *found.scale ||
        before > *found.precision - *found.scale) {
      return absl::StrCat("has ", declared.precision, " digits, ",
                          declared.scale, " of them after the point");
    }
  }
  return "";
}

absl::Status Mismatch(const Column& declared, const PgColumn& found,
                      absl::string_view table, absl::string_view why) {
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("postgres sink: column \"", declared.name, "\" of ", table,
                   " is ", found.type, ", but the schema declares it ",
                   Describe(declared), why, "; declare it ",
                   found.is_array ? "array of " : "",
                   TypeToDeclare(found.layout), ", or alter the table"),
      {{"field", "schema"},
       {"column", declared.name},
       {"declared", Describe(declared)},
       {"found", found.type}});
}

}  // namespace

bool GoesIntoJson(const Column& declared, const PgColumn& found) {
  return IsOneOf(declared.type,
                 {SqlType::kArray, SqlType::kMap, SqlType::kStruct}) &&
         !found.is_array &&
         IsOneOf(found.layout, {PgLayout::kJson, PgLayout::kJsonb});
}

absl::Status CheckType(const Column& declared, const PgColumn& found,
                       absl::string_view table) {
  if (GoesIntoJson(declared, found)) return absl::OkStatus();
  const Column& inner = Innermost(declared);
  if ((declared.type == SqlType::kArray) != found.is_array ||
      !Fits(inner.type, found.layout)) {
    return Mismatch(declared, found, table, "");
  }
  if (!found.lossy.empty()) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("postgres sink: column \"", declared.name, "\" of ", table,
                     " is ", found.type,
                     ", which keeps not every value as it "
                     "is: ",
                     found.lossy, "; leave it out, or alter the table"),
        {{"field", "schema"},
         {"column", declared.name},
         {"found", found.type}});
  }
  const std::string narrower = Narrower(inner, found);
  if (narrower.empty()) return absl::OkStatus();
  return Mismatch(declared, found, table, absl::StrCat(", which ", narrower));
}

std::string TypeFor(const Column& declared) {
  const auto with_length = [&declared](absl::string_view name) {
    return declared.precision == 0
               ? std::string(name)
               : absl::StrCat(name, "(", declared.precision, ")");
  };
  switch (declared.type) {
    case SqlType::kBoolean:
      return "boolean";
    case SqlType::kTinyint:
    case SqlType::kSmallint:
    case SqlType::kTinyintUnsigned:
      return "smallint";
    case SqlType::kInteger:
    case SqlType::kSmallintUnsigned:
      return "integer";
    case SqlType::kBigint:
    case SqlType::kIntegerUnsigned:
      return "bigint";
    case SqlType::kBigintUnsigned:
      return "numeric(20,0)";
    case SqlType::kReal:
      return "real";
    case SqlType::kDouble:
      return "double precision";
    case SqlType::kDecimal:
      if (declared.precision == 0) return "numeric";
      return absl::StrCat("numeric(", declared.precision, ",", declared.scale,
                          ")");
    case SqlType::kVarchar:
      return declared.precision == 0 ? "text" : with_length("varchar");
    case SqlType::kVarbinary:
      return "bytea";
    case SqlType::kDate:
      return "date";
    // All that they can hold: a value finer than declared is still exact.
    case SqlType::kTime:
      return "time";
    case SqlType::kTimestamp:
      return "timestamp";
    case SqlType::kTimestamptz:
      return "timestamptz";
    case SqlType::kUuid:
      return "uuid";
    case SqlType::kVariant:
      return "jsonb";
    case SqlType::kArray: {
      const Column& inner = Innermost(declared);
      const bool is_box =
          !IsOneOf(inner.type, {SqlType::kMap, SqlType::kStruct});
      return is_box ? absl::StrCat(TypeFor(inner), "[]") : "jsonb";
    }
    case SqlType::kMap:
    case SqlType::kStruct:
      return "jsonb";
  }
  return "text";
}

}  // namespace penstock::core
