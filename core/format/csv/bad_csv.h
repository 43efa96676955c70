// What a bad record of CSV says of itself.
#pragma once

#include "core/contract/parse_error.h"
#include "core/format/csv/config.h"
#include "core/format/csv/scanner.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <string>

namespace penstock::core {

// Where a text stands in its input.
struct CsvPlace {
  // Of the text's first byte.
  uint64_t offset = 0;
  // Of the record's first byte; 1-based.
  uint64_t line = 0;
};

// "field 2 at line 8, byte 117": the field, counted from 0 here, that has
// text[at] in it, or begins there.
std::string ShowCsvField(absl::string_view text, const CsvRecord& record,
                         CsvPlace place, uint32_t field, uint32_t at);

// The error of a record with a fault. `is_too_large`: it is also longer than
// `record_bytes_max`. Numbers, line and offset are left for the caller.
ParseError BadCsv(absl::string_view text, const CsvRecord& record,
                  CsvPlace place, size_t record_bytes_max, bool is_too_large);

}  // namespace penstock::core
