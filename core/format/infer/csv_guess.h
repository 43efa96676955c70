// How a text of CSV is written, and what its columns are.
// See core/format/README.md, "A guess".
#pragma once

#include "core/format/csv/config.h"
#include "core/format/infer/value_guess.h"
#include "core/record/schema.h"

#include <absl/strings/string_view.h>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace penstock::core {

struct CsvDialectGuess {
  CsvDialect dialect;
  // How many fields most records have.
  uint32_t fields = 1;
  // Whether that is more than one, and at least nine records in ten are so.
  bool is_clear = false;
  // Delimiters by which all records would be good, too.
  std::string rivals;
};

// `text` ends behind a record. `delimiter`: the only one that is tried.
CsvDialectGuess GuessCsvDialect(absl::string_view text,
                                std::optional<char> delimiter);

struct CsvGuess {
  CsvConfig config;
  Schema schema;
  uint64_t records = 0;
  uint64_t bad = 0;
};

// `header`: whether there is one, if somebody knows. `records_max`: how many
// are looked at; if there are more, `rules` is told that they are not all.
CsvGuess GuessCsv(absl::string_view text, const CsvDialectGuess& dialect,
                  std::optional<bool> header, uint64_t records_max,
                  GuessRules& rules);

}  // namespace penstock::core
