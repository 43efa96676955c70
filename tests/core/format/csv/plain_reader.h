// A second reader of CSV to hold the first one against: byte by byte, over the
// whole text, as simple as it can be.
#pragma once

#include "core/format/csv/config.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace penstock::core {

struct PlainCell {
  std::string text;
  bool is_quoted = false;

  friend bool operator==(const PlainCell&, const PlainCell&) = default;
};

struct PlainRecord {
  size_t begin = 0;
  // Without its line end.
  std::string value;
  // 1-based, of its first byte.
  uint64_t line = 0;
  std::vector<PlainCell> cells;
  bool is_good = true;
};

// Every record but comments and blank lines.
std::vector<PlainRecord> ReadPlainCsv(absl::string_view text,
                                      const CsvDialect& dialect,
                                      size_t record_bytes_max);

}  // namespace penstock::core
