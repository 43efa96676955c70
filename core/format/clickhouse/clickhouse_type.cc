#include "core/format/clickhouse/clickhouse_type.h"

#include "core/base/error.h"
#include "core/base/status_macros.h"

#include <absl/strings/ascii.h>
#include <absl/strings/match.h>
#include <absl/strings/numbers.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_join.h>

#include <algorithm>
#include <array>
#include <optional>
#include <utility>

namespace penstock::core {
namespace {

using Kind = ClickHouseKind;

// Source: ClickHouse, "Data types", Decimal: 256 bits.
constexpr uint32_t kDecimalDigitsMax = 76;
constexpr uint32_t kSecondDecimalsMax = 9;
// Of types within types; a schema's are fewer.
constexpr int kDepthMax = 32;

struct SimpleType {
  absl::string_view name;
  Kind kind;
};

constexpr std::array kSimpleTypes = {SimpleType{"Int8", Kind::kInt8},
                                     SimpleType{"Int16", Kind::kInt16},
                                     SimpleType{"Int32", Kind::kInt32},
                                     SimpleType{"Int64", Kind::kInt64},
                                     SimpleType{"UInt8", Kind::kUint8},
                                     SimpleType{"UInt16", Kind::kUint16},
                                     SimpleType{"UInt32", Kind::kUint32},
                                     SimpleType{"UInt64", Kind::kUint64},
                                     SimpleType{"Float32", Kind::kFloat32},
                                     SimpleType{"Float64", Kind::kFloat64},
                                     SimpleType{"String", Kind::kString},
                                     SimpleType{"Date", Kind::kDate},
                                     SimpleType{"Date32", Kind::kDate32},
                                     SimpleType{"UUID", Kind::kUuid},
                                     SimpleType{"Bool", Kind::kUint8}};

absl::Status BadType(absl::string_view what, absl::string_view why) {
  return MakeError(Reason::INVALID_CONFIG,
                   absl::StrCat("clickhouse type ", what, ": ", why));
}

// "A, B(C, D)" at the commas outside of brackets and quotes.
std::vector<absl::string_view> SplitArguments(absl::string_view text) {
  std::vector<absl::string_view> parts;
  int depth = 0;
  bool in_quotes = false;
  size_t begin = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    const char c = i < text.size() ? text[i] : ',';
    if (c == '\'') in_quotes = !in_quotes;
    if (!in_quotes && c == '(') ++depth;
    if (!in_quotes && c == ')') --depth;
    if (i == text.size() || (c == ',' && depth == 0 && !in_quotes)) {
      parts.push_back(
          absl::StripAsciiWhitespace(text.substr(begin, i - begin)));
      begin = i + 1;
    }
  }
  return parts;
}

std::optional<uint32_t> ReadNumber(absl::string_view text, uint32_t max) {
  uint32_t number = 0;
  if (!absl::SimpleAtoi(text, &number) || number > max) return std::nullopt;
  return number;
}

absl::StatusOr<ClickHouseType> ParseType(absl::string_view text, int depth);

// A tuple's field may have a name before its type.
absl::string_view WithoutName(absl::string_view field) {
  const size_t blank = field.find(' ');
  const size_t bracket = field.find('(');
  if (blank == absl::string_view::npos || bracket < blank) return field;
  return absl::StripAsciiWhitespace(field.substr(blank));
}

absl::Status ParseNested(absl::string_view text,
                         const std::vector<absl::string_view>& arguments,
                         int depth, ClickHouseType& type) {
  const size_t wanted = type.kind == Kind::kArray ? 1 : 2;
  if (type.kind != Kind::kTuple && arguments.size() != wanted) {
    return BadType(text, absl::StrCat("it takes ", wanted, " types"));
  }
  for (const absl::string_view argument : arguments) {
    const bool is_field = type.kind == Kind::kTuple;
    ASSIGN_OR_RETURN(
        ClickHouseType child,
        ParseType(is_field ? WithoutName(argument) : argument, depth + 1));
    type.children.push_back(std::move(child));
  }
  return absl::OkStatus();
}

absl::Status ParseDecimalType(absl::string_view text,
                              const std::vector<absl::string_view>& arguments,
                              ClickHouseType& type) {
  const std::optional<uint32_t> precision =
      ReadNumber(arguments[0], kDecimalDigitsMax);
  const std::optional<uint32_t> scale =
      arguments.size() == 2 ? ReadNumber(arguments[1], kDecimalDigitsMax)
                            : std::nullopt;
  if (!precision.has_value() || *precision == 0 || !scale.has_value() ||
      *scale > *precision) {
    return BadType(text,
                   "it takes digits, 1 to 76, and those of them that "
                   "stand behind the point");
  }
  type.precision = *precision;
  type.scale = *scale;
  return absl::OkStatus();
}

// `arguments`: what stands in its brackets.
absl::Status ParseWithArguments(absl::string_view text, absl::string_view name,
                                const std::vector<absl::string_view>& arguments,
                                int depth, ClickHouseType& type) {
  if (name == "Array" || name == "Map" || name == "Tuple") {
    type.kind = name == "Array" ? Kind::kArray
                : name == "Map" ? Kind::kMap
                                : Kind::kTuple;
    return ParseNested(text, arguments, depth, type);
  }
  if (name == "Decimal") {
    type.kind = Kind::kDecimal;
    return ParseDecimalType(text, arguments, type);
  }
  if (name == "DateTime") {
    type.kind = Kind::kDateTime;
    return absl::OkStatus();
  }
  if (name == "DateTime64") {
    const std::optional<uint32_t> decimals =
        ReadNumber(arguments[0], kSecondDecimalsMax);
    if (!decimals.has_value()) return BadType(text, "it has 0 to 9 decimals");
    type.kind = Kind::kDateTime64;
    type.precision = *decimals;
    return absl::OkStatus();
  }
  return BadType(text,
                 "it is none that rows are written to; declare another "
                 "type for this column of the table");
}

absl::StatusOr<ClickHouseType> ParseType(absl::string_view text, int depth) {
  if (depth > kDepthMax) return BadType(text, "it is nested too deeply");
  ClickHouseType type{.name = std::string(text)};
  for (const SimpleType& simple : kSimpleTypes) {
    if (text != simple.name) continue;
    type.kind = simple.kind;
    return type;
  }
  if (text == "DateTime") {
    type.kind = Kind::kDateTime;
    return type;
  }
  const size_t bracket = text.find('(');
  if (bracket == absl::string_view::npos || !absl::EndsWith(text, ")")) {
    return BadType(text,
                   "it is none that rows are written to; declare another "
                   "type for this column of the table");
  }
  const absl::string_view name = text.substr(0, bracket);
  const absl::string_view inside =
      text.substr(bracket + 1, text.size() - bracket - 2);
  if (name == "Nullable") {
    ASSIGN_OR_RETURN(type, ParseType(inside, depth + 1));
    if (type.nullable || !type.children.empty()) {
      return BadType(text, "what is in it cannot be null");
    }
    type.nullable = true;
    type.name = std::string(text);
    return type;
  }
  RETURN_IF_ERROR(
      ParseWithArguments(text, name, SplitArguments(inside), depth, type));
  return type;
}

// Of a column without children, not nullable.
absl::StatusOr<std::string> SingleTypeText(const Column& column) {
  switch (column.type) {
    case SqlType::kBoolean:
      return "Bool";
    case SqlType::kTinyint:
      return "Int8";
    case SqlType::kSmallint:
      return "Int16";
    case SqlType::kInteger:
      return "Int32";
    case SqlType::kBigint:
      return "Int64";
    case SqlType::kTinyintUnsigned:
      return "UInt8";
    case SqlType::kSmallintUnsigned:
      return "UInt16";
    case SqlType::kIntegerUnsigned:
      return "UInt32";
    case SqlType::kBigintUnsigned:
      return "UInt64";
    case SqlType::kReal:
      return "Float32";
    case SqlType::kDouble:
      return "Float64";
    case SqlType::kDecimal:
      if (column.precision == 0) return "String";
      if (column.precision > kDecimalDigitsMax || column.scale < 0) {
        return BadType(ColumnTypeText(column),
                       "ClickHouse's decimals have at most 76 digits, and no "
                       "negative scale; declare it varchar");
      }
      return absl::StrCat("Decimal(", column.precision, ", ", column.scale,
                          ")");
    case SqlType::kDate:
      return "Date32";
    case SqlType::kTimestamp:
      return absl::StrCat("DateTime64(", column.precision, ")");
    case SqlType::kTimestamptz:
      return absl::StrCat("DateTime64(", column.precision, ", 'UTC')");
    case SqlType::kUuid:
      return "UUID";
    default:
      return "String";
  }
}

absl::StatusOr<std::string> TypeText(const Column& column) {
  std::vector<std::string> children;
  for (const Column& child : column.children) {
    ASSIGN_OR_RETURN(std::string text, TypeText(child));
    // A key is never null.
    constexpr absl::string_view kNullable = "Nullable(";
    if (column.type == SqlType::kMap && children.empty() &&
        absl::StartsWith(text, kNullable)) {
      text = text.substr(kNullable.size(), text.size() - kNullable.size() - 1);
    }
    children.push_back(std::move(text));
  }
  const std::string joined = absl::StrJoin(children, ", ");
  if (column.type == SqlType::kArray)
    return absl::StrCat("Array(", joined, ")");
  if (column.type == SqlType::kMap) return absl::StrCat("Map(", joined, ")");
  if (column.type == SqlType::kStruct) {
    return absl::StrCat("Tuple(", joined, ")");
  }
  ASSIGN_OR_RETURN(std::string text, SingleTypeText(column));
  return column.nullable ? absl::StrCat("Nullable(", text, ")") : text;
}

bool IsWholeNumber(Kind kind) { return kind <= Kind::kUint64; }

bool Fits(SqlType type, Kind kind) {
  switch (type) {
    case SqlType::kBoolean:
      return kind == Kind::kUint8;
    case SqlType::kReal:
    case SqlType::kDouble:
      return kind == Kind::kFloat32 || kind == Kind::kFloat64;
    case SqlType::kDecimal:
      return kind == Kind::kDecimal;
    case SqlType::kDate:
      return kind == Kind::kDate || kind == Kind::kDate32;
    case SqlType::kTimestamp:
    case SqlType::kTimestamptz:
      return kind == Kind::kDateTime || kind == Kind::kDateTime64;
    case SqlType::kUuid:
      return kind == Kind::kUuid;
    case SqlType::kArray:
      return kind == Kind::kArray;
    case SqlType::kMap:
      return kind == Kind::kMap;
    case SqlType::kStruct:
      return kind == Kind::kTuple;
    case SqlType::kVarchar:
    case SqlType::kVarbinary:
    case SqlType::kTime:
    case SqlType::kVariant:
      return false;
    default:
      return IsWholeNumber(kind) || kind == Kind::kDecimal;
  }
}

}  // namespace

absl::StatusOr<ClickHouseType> ClickHouseTypeOf(const Column& column) {
  ASSIGN_OR_RETURN(const std::string text, TypeText(column));
  return ParseType(text, 0);
}

absl::StatusOr<ClickHouseType> ParseClickHouseType(absl::string_view text) {
  return ParseType(absl::StripAsciiWhitespace(text), 0);
}

absl::Status CheckClickHouseColumn(const Column& column,
                                   const ClickHouseType& type) {
  // Every single value has a text.
  const bool is_text = type.kind == Kind::kString && column.children.empty();
  if ((!is_text && !Fits(column.type, type.kind)) ||
      column.children.size() != type.children.size()) {
    return MakeError(
        Reason::INVALID_CONFIG,
        absl::StrCat("column ", column.name, " is ", ColumnTypeText(column),
                     ", which is not written to ClickHouse's ", type.name),
        {{"field", "schema"}});
  }
  for (size_t i = 0; i < type.children.size(); ++i) {
    RETURN_IF_ERROR(
        CheckClickHouseColumn(column.children[i], type.children[i]));
  }
  return absl::OkStatus();
}

size_t ClickHouseFixedBytes(const Column& column, const ClickHouseType& type) {
  // Of text shorter than 4 GiB, and of a number that is text now; of what is
  // printed, a moment at most.
  constexpr size_t kText = 5 + 16;
  constexpr size_t kPrinted = 40;
  size_t bytes = type.nullable ? 1 : 0;
  switch (type.kind) {
    case Kind::kDecimal:
      return bytes + 32;
    case Kind::kUuid:
      return bytes + 16;
    case Kind::kString: {
      const bool is_text = column.type == SqlType::kVarchar ||
                           column.type == SqlType::kVarbinary ||
                           column.type == SqlType::kVariant ||
                           column.type == SqlType::kDecimal;
      return bytes + (is_text ? kText : kPrinted);
    }
    case Kind::kTuple:
      for (size_t i = 0; i < type.children.size(); ++i) {
        bytes += ClickHouseFixedBytes(column.children[i], type.children[i]);
      }
      return bytes;
    default:
      return bytes + 8;
  }
}

}  // namespace penstock::core
