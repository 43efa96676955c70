#include "core/format/value_text/value_fault.h"

#include "core/base/check.h"
#include "core/format/bad_record.h"

#include <absl/strings/str_cat.h>

#include <string>

namespace penstock::core {
namespace {

constexpr absl::string_view kNullValue = "null_value";
constexpr absl::string_view kWrongType = "wrong_type";
constexpr absl::string_view kOutOfRange = "out_of_range";

struct FaultText {
  absl::string_view tag;
  // Goes on from the text: "'x' is no integer".
  absl::string_view what;
  absl::string_view suggestion = "";
};

FaultText TextOf(ValueFault fault) {
  switch (fault) {
    case ValueFault::kNone:
      break;
    case ValueFault::kNull:
      return {kNullValue, "is null or missing",
              "declare the column nullable if that may be"};
    case ValueFault::kNotBoolean:
      return {kWrongType, "is neither true nor false"};
    case ValueFault::kNotInteger:
      return {kWrongType, "is no integer"};
    case ValueFault::kNotNumber:
      return {kWrongType, "is no number"};
    case ValueFault::kNotBinary:
      return {kWrongType, "is neither base64 nor hexadecimal behind \\x"};
    case ValueFault::kNotDate:
      return {kWrongType, "is no date", "write it 2026-01-31"};
    case ValueFault::kNotTime:
      return {kWrongType, "is no time of day", "write it 23:59:59.5"};
    case ValueFault::kNotTimestamp:
      return {kWrongType, "is no timestamp", "write it 2026-01-31T23:59:59.5"};
    case ValueFault::kNotUuid:
      return {kWrongType, "is no UUID"};
    case ValueFault::kNotJson:
      return {kWrongType, "is no JSON"};
    case ValueFault::kNotSingle:
      return {kWrongType, "is no single value",
              "declare the column array, map, struct or variant"};
    case ValueFault::kNotArray:
      return {kWrongType, "is no array"};
    case ValueFault::kNotObject:
      return {kWrongType, "is no object"};
    case ValueFault::kNotText:
      return {kWrongType, "is no text",
              "a number does not say its unit; declare the column bigint"};
    case ValueFault::kNoSuchTime:
      return {kOutOfRange, "is nothing that calendar and clock have"};
    case ValueFault::kHasZone:
      return {kWrongType, "has a zone, which the column does not keep",
              "declare the column timestamptz"};
    case ValueFault::kNoZone:
      return {kWrongType, "has no zone",
              "add Z or an offset, or declare the column timestamp"};
    case ValueFault::kOutOfRange:
      return {kOutOfRange, "is beyond the range of the type"};
    case ValueFault::kTooManyDigits:
      return {kOutOfRange, "has more digits than declared"};
    case ValueFault::kTooManyDecimals:
      return {kOutOfRange, "has more decimals than declared",
              "declare the column with more; nothing is rounded"};
    case ValueFault::kTooLong:
      return {kOutOfRange, "is longer than declared"};
    case ValueFault::kNotUtf8:
      return {
          kWrongType, "is not UTF-8",
          "write it as UTF-8, or as bytes and declare the column varbinary"};
    case ValueFault::kIsBinary:
      return {kWrongType, "are no value of this type",
              "declare the column varbinary"};
    case ValueFault::kIsExtension:
      return {kWrongType, "is no value of this type",
              "only timestamps are known, for columns of type timestamptz"};
  }
  CHECK(false) << "no such fault: " << static_cast<int>(fault);
  return {};
}

}  // namespace

ParseError BadValue(absl::string_view path, const Column& column,
                    ValueFault fault, absl::string_view text) {
  const FaultText of = TextOf(fault);
  ParseError error;
  error.tag = std::string(of.tag);
  error.description =
      absl::StrCat("column ", path, " (", ColumnTypeText(column), "): ");
  if (fault != ValueFault::kNull) {
    absl::StrAppend(&error.description, "'", ShowText(text), "' ");
  }
  absl::StrAppend(&error.description, of.what);
  error.field = std::string(path);
  error.suggestion = std::string(of.suggestion);
  return error;
}

}  // namespace penstock::core
