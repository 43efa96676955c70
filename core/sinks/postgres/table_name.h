// Names of tables, as the configuration spells them.
#pragma once

#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>

#include <string>

namespace penstock::core {

// A plain value.
struct TableName {
  std::string schema;
  std::string table;

  // "schema.table" or "table" (in "public"); case counts; a part may stand in
  // double quotes, where "" is one quote.
  // Errors: INVALID_CONFIG naming `field`.
  static absl::StatusOr<TableName> Parse(absl::string_view text,
                                         absl::string_view field);
  // As SQL reads it.
  std::string Quoted() const;
  // For people.
  std::string ToString() const;
};

}  // namespace penstock::core
