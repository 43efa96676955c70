#include "core/sinks/postgres/table_name.h"

#include "core/base/error.h"
#include "core/pg/pg_connection.h"

#include <absl/strings/str_cat.h>

#include <cstddef>
#include <utility>
#include <vector>

namespace penstock::core {
namespace {

// NAMEDATALEN - 1: a longer name would be cut, and name another table.
constexpr size_t kNameBytesMax = 63;

absl::Status Malformed(absl::string_view text, absl::string_view field) {
  return MakeError(
      Reason::INVALID_CONFIG,
      absl::StrCat("postgres sink: ", field, " \"", text,
                   "\" is not schema.table; each part has 1 to 63 bytes, and "
                   "stands in double quotes if it has a dot in it"),
      {{"field", std::string(field)}});
}

}  // namespace

absl::StatusOr<TableName> TableName::Parse(absl::string_view text,
                                           absl::string_view field) {
  std::vector<std::string> parts(1);
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '\0') return Malformed(text.substr(0, i), field);
    if (c == '"') {
      const bool doubled = quoted && i + 1 < text.size() && text[i + 1] == '"';
      if (doubled) {
        parts.back().push_back('"');
        ++i;
      } else {
        quoted = !quoted;
      }
    } else if (c == '.' && !quoted) {
      parts.emplace_back();
    } else {
      parts.back().push_back(c);
    }
  }
  if (quoted || parts.size() > 2) return Malformed(text, field);
  for (const std::string& part : parts) {
    if (part.empty() || part.size() > kNameBytesMax) {
      return Malformed(text, field);
    }
  }
  if (parts.size() == 1) {
    return TableName{.schema = "public", .table = std::move(parts[0])};
  }
  return TableName{.schema = std::move(parts[0]), .table = std::move(parts[1])};
}

std::string TableName::Quoted() const {
  return absl::StrCat(PgConnection::QuoteIdentifier(schema), ".",
                      PgConnection::QuoteIdentifier(table));
}

std::string TableName::ToString() const {
  return absl::StrCat(schema, ".", table);
}

}  // namespace penstock::core
