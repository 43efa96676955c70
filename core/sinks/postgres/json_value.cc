#include "core/sinks/postgres/json_value.h"

#include "core/base/json_text.h"
#include "core/base/status_macros.h"
#include "core/contract/sink_error.h"
#include "core/sinks/postgres/text_value.h"
#include "core/sinks/postgres/value_check.h"

#include <absl/container/flat_hash_set.h>
#include <absl/strings/match.h>
#include <absl/strings/str_cat.h>
#include <absl/strings/string_view.h>
#include <absl/strings/strip.h>

#include <cmath>
#include <span>

namespace penstock::core {
namespace {

absl::Status NoNumber(const PgColumn& column, absl::string_view text) {
  return MakeRowRefused(absl::StrCat("column \"", column.name, "\": ", text,
                                     " is no number in JSON"));
}

// A decimal's literal is JSON but for a plus and zeros in front.
std::string JsonNumber(absl::string_view literal) {
  const bool negative = absl::ConsumePrefix(&literal, "-");
  if (!negative) absl::ConsumePrefix(&literal, "+");
  while (literal.size() > 1 && literal[0] == '0' && literal[1] >= '0' &&
         literal[1] <= '9') {
    literal.remove_prefix(1);
  }
  return absl::StrCat(negative ? "-" : "", literal);
}

struct Scalar {
  std::string text;
  bool is_quoted = false;
};

absl::Status ReadScalar(const PgColumn& column, const Value& value,
                        Scalar& scalar) {
  switch (value.kind()) {
    case ValueKind::kBool:
      scalar.text = value.AsBool() ? "true" : "false";
      return absl::OkStatus();
    case ValueKind::kDouble:
      if (!std::isfinite(value.AsDouble())) {
        return NoNumber(column, absl::StrCat(value.AsDouble()));
      }
      break;
    case ValueKind::kDecimal:
      if (absl::EndsWith(value.AsDecimal(), "y") ||
          value.AsDecimal() == "NaN") {
        return NoNumber(column, value.AsDecimal());
      }
      scalar.text = JsonNumber(value.AsDecimal());
      return absl::OkStatus();
    case ValueKind::kInt64:
    case ValueKind::kUint64:
    case ValueKind::kVariant:
      break;
    default:
      scalar.is_quoted = true;
  }
  return ReadText(column, value, scalar.text);
}

absl::Status AppendMap(const Column& declared, const PgColumn& column,
                       std::span<const Value> pairs, std::string& json) {
  absl::flat_hash_set<std::string> keys;
  json.push_back('{');
  for (size_t i = 0; i < pairs.size(); i += 2) {
    Scalar key;
    RETURN_IF_ERROR(ReadScalar(column, pairs[i], key));
    if (!keys.insert(key.text).second) {
      return MakeRowRefused(absl::StrCat("column \"", column.name,
                                         "\": a map with a key that is twice "
                                         "there"));
    }
    if (i > 0) json.push_back(',');
    AppendJsonString(key.text, json);
    json.push_back(':');
    RETURN_IF_ERROR(
        AppendJsonValue(declared.children[1], column, pairs[i + 1], json));
  }
  json.push_back('}');
  return absl::OkStatus();
}

absl::Status AppendStruct(const Column& declared, const PgColumn& column,
                          std::span<const Value> fields, std::string& json) {
  json.push_back('{');
  for (size_t i = 0; i < fields.size(); ++i) {
    if (i > 0) json.push_back(',');
    AppendJsonString(declared.children[i].name, json);
    json.push_back(':');
    RETURN_IF_ERROR(
        AppendJsonValue(declared.children[i], column, fields[i], json));
  }
  json.push_back('}');
  return absl::OkStatus();
}

absl::Status AppendArray(const Column& declared, const PgColumn& column,
                         std::span<const Value> elements, std::string& json) {
  json.push_back('[');
  for (size_t i = 0; i < elements.size(); ++i) {
    if (i > 0) json.push_back(',');
    RETURN_IF_ERROR(
        AppendJsonValue(declared.children[0], column, elements[i], json));
  }
  json.push_back(']');
  return absl::OkStatus();
}

}  // namespace

absl::Status AppendJsonValue(const Column& declared, const PgColumn& column,
                             const Value& value, std::string& json) {
  switch (value.kind()) {
    case ValueKind::kNull:
      json.append("null");
      return absl::OkStatus();
    case ValueKind::kMap:
      return AppendMap(declared, column, value.AsMap(), json);
    case ValueKind::kStruct:
      return AppendStruct(declared, column, value.AsStruct(), json);
    case ValueKind::kArray:
      return AppendArray(declared, column, value.AsArray(), json);
    default:
      break;
  }
  Scalar scalar;
  RETURN_IF_ERROR(ReadScalar(column, value, scalar));
  if (scalar.is_quoted) {
    AppendJsonString(scalar.text, json);
  } else {
    json.append(scalar.text);
  }
  return absl::OkStatus();
}

}  // namespace penstock::core
