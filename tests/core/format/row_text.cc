#include "tests/core/format/row_text.h"

#include <absl/strings/escaping.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/str_format.h>
#include <absl/strings/str_join.h>

#include <vector>

namespace penstock::core {
namespace {

std::string Quoted(absl::string_view text) {
  return absl::StrCat("'", absl::CHexEscape(text), "'");
}

std::string Listed(std::span<const Value> values) {
  std::vector<std::string> texts;
  for (const Value& value : values) texts.push_back(ValueText(value));
  return absl::StrJoin(texts, ", ");
}

std::string Paired(std::span<const Value> values) {
  std::vector<std::string> texts;
  for (size_t i = 0; i < values.size(); i += 2) {
    texts.push_back(
        absl::StrCat(ValueText(values[i]), ": ", ValueText(values[i + 1])));
  }
  return absl::StrJoin(texts, ", ");
}

std::string Moment(int64_t micros, uint32_t nanos) {
  return nanos == 0 ? absl::StrCat(micros) : absl::StrCat(micros, " +", nanos);
}

std::string Content(const Value& value) {
  switch (value.kind()) {
    case ValueKind::kNull:
      return "";
    case ValueKind::kBool:
      return value.AsBool() ? "true" : "false";
    case ValueKind::kInt64:
      return absl::StrCat(value.AsInt64());
    case ValueKind::kUint64:
      return absl::StrCat(value.AsUint64());
    case ValueKind::kDouble:
      return absl::StrFormat("%.17g", value.AsDouble());
    case ValueKind::kDecimal:
      return std::string(value.AsDecimal());
    case ValueKind::kString:
      return Quoted(value.AsString());
    case ValueKind::kBinary:
      return Quoted(value.AsBinary());
    case ValueKind::kDate:
      return absl::StrCat(value.AsDate());
    case ValueKind::kTime:
      return absl::StrCat(value.AsTime());
    case ValueKind::kTimestamp:
      return Moment(value.AsTimestamp(), value.nanos());
    case ValueKind::kTimestamptz:
      return Moment(value.AsTimestamptz(), value.nanos());
    case ValueKind::kUuid:
      return absl::BytesToHexString(value.AsUuid());
    case ValueKind::kArray:
      return absl::StrCat("[", Listed(value.AsArray()), "]");
    case ValueKind::kMap:
      return absl::StrCat("{", Paired(value.AsMap()), "}");
    case ValueKind::kStruct:
      return absl::StrCat("(", Listed(value.AsStruct()), ")");
    case ValueKind::kVariant:
      return Quoted(value.AsVariant());
  }
  return "?";
}

}  // namespace

std::string ValueText(const Value& value) {
  std::string text(ValueKindName(value.kind()));
  if (!value.is_null()) absl::StrAppend(&text, " ", Content(value));
  return text;
}

std::string RowText(std::span<const Value> row) {
  std::vector<std::string> texts;
  for (const Value& value : row) texts.push_back(ValueText(value));
  return absl::StrJoin(texts, " | ");
}

}  // namespace penstock::core
