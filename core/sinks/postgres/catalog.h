// What a server's catalog says of a table.
#pragma once

#include "core/pg/pg_connection.h"
#include "core/sinks/postgres/table_name.h"

#include <absl/status/status.h>
#include <absl/status/statusor.h>
#include <absl/strings/string_view.h>
#include <absl/time/time.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

// How a value of a type travels, beneath domains and arrays. Types are told by
// the function that receives them in binary, which fixes the layout; so those
// of extensions that are text underneath (citext) are text here, too.
enum class PgLayout {
  kBool,
  kInt2,
  kInt4,
  kInt8,
  kFloat4,
  kFloat8,
  kNumeric,
  // text, varchar, char, name, enumerations: the text itself.
  kText,
  kJson,
  kJsonb,
  kBytea,
  kUuid,
  kDate,
  kTime,
  kTimestamp,
  kTimestamptz,
  // Any other, of which only the text form is used: it is not known here, or it
  // is more than the text (xml: its declaration would say how to read it).
  kOther,
};

// A plain value.
struct PgColumn {
  std::string name;
  // For people: "numeric(10,2)[]", or a domain's name.
  std::string type;
  PgLayout layout = PgLayout::kOther;
  bool is_array = false;
  // Of an array: the type of its elements. More than one array around each
  // other, by domains: kOther.
  uint32_t element_oid = 0;
  // numeric: most digits, and digits after the point.
  std::optional<int> precision;
  std::optional<int> scale;
  // varchar(n), char(n): most characters. name, "char": most bytes.
  std::optional<int> length;
  std::optional<int> bytes;
  // time, timestamp, timetz, interval: decimals of a second.
  std::optional<int> decimals;
  // char: blanks at the end are no part of a value.
  bool is_padded = false;
  // interval: seconds alone have decimals that are kept as they are.
  bool is_interval = false;
  // Why no value is sure to be kept as it is; empty: it is.
  std::string lossy;
  // Of a domain: the type beneath, which has none of its constraints. Otherwise
  // empty.
  std::string domain_base;
  bool not_null = false;
  // Has a default, or makes its values itself.
  bool has_default = false;
  // GENERATED ALWAYS: takes no value.
  bool is_generated = false;
};

// A usable unique index. A plain value.
struct PgKey {
  // Sorted.
  std::vector<std::string> columns;
  // By which it tells values of each column apart, whatever the search path
  // is: "OPERATOR(pg_catalog.=)".
  std::vector<std::string> equals;
};

struct PgTable {
  std::vector<PgColumn> columns;
  std::vector<PgKey> keys;
};

// nullopt: there is no such table, as far as this role can see.
absl::StatusOr<std::optional<PgTable>> ReadTable(PgConnection& connection,
                                                 const TableName& name,
                                                 absl::Time deadline);

// Runs `create_sql`, a CREATE TABLE IF NOT EXISTS for `name`, after making its
// schema where that is missing. Makers of tables run one at a time: the words
// IF NOT EXISTS alone fail when two of them meet. One that is stopped, whenever
// that is, holds up no other.
absl::Status MakeTable(PgConnection& connection, const TableName& name,
                       absl::string_view create_sql, absl::Time deadline);

}  // namespace penstock::core
