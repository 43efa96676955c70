// Feeds a text to a parser in pieces, as a source does.
#pragma once

#include "core/contract/parse_error.h"
#include "core/contract/parser.h"
#include "core/record/step_hash.h"
#include "tests/support/recording_consumer.h"

#include <absl/strings/string_view.h>

#include <cstddef>
#include <cstdint>
#include <ostream>
#include <string>
#include <vector>

namespace penstock::core {

bool operator==(const ParseError& a, const ParseError& b);
void PrintTo(const ParseError& error, std::ostream* out);

// All that came of a text.
struct ParsedText {
  std::vector<OwnedRecord> records;
  std::vector<uint64_t> key_hashes;
  // As RowText has them.
  std::vector<std::string> rows;
  std::vector<ParseError> errors;
  // Over the records.
  StepHash hash;
  uint64_t record_count = 0;
  uint64_t line_count = 0;
  // Documents that say no change.
  uint64_t passed_count = 0;

  std::vector<std::string> values() const;
  // "(none)" for a record without key.
  std::vector<std::string> keys() const;
  std::vector<std::string> tags() const;

  friend bool operator==(const ParsedText&, const ParsedText&) = default;
};
void PrintTo(const ParsedText& parsed, std::ostream* out);

// Tells the parser what a source begins with; its answer is passed over.
void LearnBeginning(Parser& parser, absl::string_view text);

// Reads `text` in pieces of `read_bytes`: what lies behind the last boundary is
// read again, more of it where there is none. Starts at source offset `offset`;
// above 0 the parser has been told what comes before.
ParsedText ParseInReads(Parser& parser, absl::string_view text,
                        size_t read_bytes, int64_t offset = 0);
// In one piece.
ParsedText ParseWhole(Parser& parser, absl::string_view text);
// The same, but the second is given to a fork of `parser`.
ParsedText ParseResumed(Parser& parser, absl::string_view text, size_t split);
// What each result of it holds besides the block, in bytes.
std::vector<uint64_t> ResultBytes(Parser& parser, absl::string_view text);
// In pieces that end at the last boundaries before each of `splits`, which
// rise, and at the end.
ParsedText ParseSplit(Parser& parser, absl::string_view text,
                      const std::vector<size_t>& splits);

}  // namespace penstock::core
